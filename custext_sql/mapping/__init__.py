"""Makes mappings: similarity, grouping, scores and the fingerprint."""
