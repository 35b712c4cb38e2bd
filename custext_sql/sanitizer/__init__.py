"""Sanitizes columns and texts: what every interface calls."""
