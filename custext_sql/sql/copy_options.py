"""How DuckDB's COPY writes each format."""

from custext_sql.store.files.quoting import quote_text


def choose_copy_options(format: str, *, delimiter: str = ",", zipped: bool = False) -> str:
    """Return the options of COPY for csv, tsv, json or parquet. delimiter: for CSV; TSV always has tabs."""
    options = {
        "csv": f"FORMAT csv, HEADER, DELIMITER {quote_text(delimiter)}",
        "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
        "json": "FORMAT json",
        "parquet": "FORMAT parquet",
    }[format]
    return f"{options}, COMPRESSION gzip" if zipped else options
