"""Similarity, grouping, scoring: a mapping and its fingerprint."""
