"""Replaces the words of a block of texts, and counts what was done."""
