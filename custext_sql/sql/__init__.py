"""The functions inside DuckDB, queries that use them, and errors that quote no data."""
