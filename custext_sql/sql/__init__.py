"""The functions inside DuckDB, queries, and errors that quote no data."""
