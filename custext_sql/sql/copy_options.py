"""How DuckDB's COPY writes each format."""

from custext_sql.store.quoting import quote_text


def choose_copy_options(
    format: str, *, delimiter: str = ",", quotes: bool = True, as_array: bool = False, zipped: bool = False
) -> str:
    """Return the options of COPY for csv, tsv, json or parquet.

    delimiter: for CSV; TSV always has tabs. quotes: for CSV and TSV; False to write fields as they are.
    as_array: write JSON as one array, not as one object per line.
    """
    unquoted = "" if quotes else ", QUOTE '', ESCAPE ''"
    options = {
        "csv": f"FORMAT csv, HEADER, DELIMITER {quote_text(delimiter)}{unquoted}",
        "tsv": f"FORMAT csv, HEADER, DELIMITER '\t'{unquoted}",
        "json": "FORMAT json, ARRAY true" if as_array else "FORMAT json",
        "parquet": "FORMAT parquet",
    }[format]
    return f"{options}, COMPRESSION gzip" if zipped else options
