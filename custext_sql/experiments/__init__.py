"""Attacks, baselines, evaluations, and the report on what they found."""
