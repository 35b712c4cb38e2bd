"""Revisions of the schema, oldest first; the last is the one this version reads and writes."""

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
