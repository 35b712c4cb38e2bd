"""Rows of the tables in and out, on an open connection."""
