"""The revisions of the schema, oldest first. This version reads and writes the last one."""

REVISIONS = ("0001",)
