"""Attacks: what an attacker learns from sanitized text."""
