"""The revisions of the schema, oldest first. This version reads and writes the last one."""

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008")
