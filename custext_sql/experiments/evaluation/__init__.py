"""Evaluations: how useful sanitized text remains."""
