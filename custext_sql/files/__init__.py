"""Releases of files, tables, lines and queries, end to end: read, checked, counted, written completely."""
