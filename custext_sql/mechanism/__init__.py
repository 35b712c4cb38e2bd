"""Scores and eps -> integer weights, verified -> draws."""
