"""Identifies the data of a release, however it is named, and what the ledger checks before the release."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from custext_sql.errors import SettingError
from custext_sql.parameters import check_limit, check_type

STREAM, ARGUMENT, QUERY = "<stdin>", "<argument>", "<query>"  # data without a name
_NAMELESS = frozenset({STREAM, ARGUMENT, QUERY})
_SUFFIXES = frozenset({".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".txt", ".gz", ".duckdb"})


@dataclass(frozen=True)
class Dataset:
    """The data of a release, and what the ledger allows for it. SettingError if a field is invalid.

    name: the name of the data. Releases of data with the same name add up; upper and lower case count as equal. Without
        a name, the files or the table identify the data.
    budget_total: the largest total eps that all releases of the data together may spend on one row, at least 0;
        None for no limit.
    second_mapping: allow another mapping than that of earlier releases of the data, although every mapping reveals one
        more group of each word.
    reuse_key: allow a key that was used for other data, although equal records then get the same draws.
    parts: the files or the table of data without a given name; releases that share one add up. Set internally.
    """

    name: str | None = None
    budget_total: float | None = None
    second_mapping: bool = False
    reuse_key: bool = False
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.name is not None:
            check_type(self.name, str, "the name of the dataset must be a string")
            if not self.name.strip():
                raise SettingError("the dataset name must not be empty")
        check_limit(self.budget_total, "--budget-total", "budget_total", or_zero=True)

    def or_called(self, name: str, parts: Iterable[str] = ()) -> "Dataset":
        """Return this dataset; if it has no name, with this name and these parts."""
        if self.name is not None:
            found = resolve_name(self.name)
            if Path(found).is_absolute() and Path(found).is_dir():
                raise SettingError(
                    f"the dataset {found} is a folder, whose files identify the data: leave out --dataset, or give the "
                    "data another name (in Python: dataset=...)"
                )
            return replace(self, name=found)
        return replace(self, name=name, parts=tuple(parts))

    def or_files(self, given: str, files: Iterable[Path]) -> "Dataset":
        """Return this dataset; if it has no name, as one of these files. given: how the user named them."""
        found = sorted({str(file.resolve()) for file in files})
        return self.or_called(found[0] if len(found) == 1 else str(Path(given).resolve()), found)

    def or_table(self, data: Path, schema: str, table: str) -> "Dataset":
        """Return this dataset, named after a table of a DuckDB file if it has no name."""
        return self.or_called(f"{data.resolve()}:{table if schema == 'main' else f'{schema}.{table}'}")


def choose_dataset(dataset: "str | Dataset") -> Dataset:
    """Return a dataset of that name, or the given one; SettingError if it has no name."""
    found = Dataset(dataset) if isinstance(dataset, str) else dataset
    if not isinstance(found, Dataset) or found.name is None:
        raise SettingError(
            'dataset must be a name or a Dataset with a name, such as Dataset("reviews", budget_total=100)'
        )
    return found.or_called("")


def resolve_name(name: str) -> str:
    """Return the name of a dataset as the ledger stores it: the absolute path of a file that exists, else the name."""
    stripped = name.strip()
    is_path = os.sep in stripped or Path(stripped).suffix.lower() in _SUFFIXES
    return str(Path(stripped).resolve()) if is_path and Path(stripped).exists() else stripped


def is_nameless(name: str) -> bool:
    """Return whether data has no name, such as standard input, so that it cannot be distinguished from other data."""
    return name in _NAMELESS
