"""Where spaCy and custext-sql meet."""
