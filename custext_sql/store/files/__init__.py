"""Files on disk: DuckDB files and their locks, atomic outputs, private folders, SQL quoting."""
