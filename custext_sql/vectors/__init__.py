"""Reads vector files of all supported formats, and other vector sources, in batches of words and float32 rows."""
