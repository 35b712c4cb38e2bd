"""The formats of data files, by the endings of their names."""

from pathlib import Path

DATA_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".txt": "text",
}
FORMAT_NAMES = tuple(dict.fromkeys(DATA_FORMATS.values()))
EXPECTED_NAMES = "a name in .csv, .tsv, .json, .jsonl, .parquet or .txt, the first four and .txt also with .gz"


def tell_format(path: str | Path) -> str | None:
    """Return the format that a name's ending stands for, None if it stands for none."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        found = DATA_FORMATS.get(suffixes[-2]) if len(suffixes) > 1 else None
        return None if found == "parquet" else found
    return DATA_FORMATS.get(suffixes[-1]) if suffixes else None


def is_zipped(path: Path) -> bool:
    """Return whether a file is gzipped, by its name."""
    return path.suffix.lower() == ".gz"
