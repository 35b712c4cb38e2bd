"""Vector files of every known format, and other sources of vectors, read in batches of words and float32 rows."""
