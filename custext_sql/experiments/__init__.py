"""Baselines, attacks, evaluation, and the report on them."""
