"""Kinds of words, policy, one block of texts -> another, receipt."""
