"""Which data a release is of, whatever its spelling, and what the ledger checks before it is made."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from custext_sql.errors import SettingError
from custext_sql.parameters import check_positive

STREAM, ARGUMENT, QUERY = "<stdin>", "<argument>", "<query>"  # data that has no name of its own
_NAMELESS = frozenset({STREAM, ARGUMENT, QUERY})
_SUFFIXES = frozenset({".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".txt", ".gz", ".duckdb"})


@dataclass(frozen=True)
class Dataset:
    """What the ledger knows a release's data by.

    name: what the data is called; a release whose dataset has none is known by its files or its table. Releases of the
    same name add up, in whatever case it is written. budget_total: what all releases of the data may spend on a row
    together. second_mapping: allow a mapping other than that of earlier releases. reuse_key: allow a key that the
    ledger knows from other data. parts: the files or the table, where these and not the name decide what adds up.
    """

    name: str | None = None
    budget_total: float | None = None
    second_mapping: bool = False
    reuse_key: bool = False
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.name is not None and not isinstance(self.name, str):
            raise SettingError(f"the name of the dataset must be a string; found {type(self.name).__name__}")
        if self.name is not None and not self.name.strip():
            raise SettingError("the name of the dataset is empty")
        check_positive(self.budget_total, "--budget-total", "budget_total")

    def or_called(self, name: str, parts: Iterable[str] = ()) -> "Dataset":
        """Return this dataset, which if it has no name is called so and consists of these parts."""
        if self.name is not None:
            return replace(self, name=resolve_name(self.name))
        return replace(self, name=name, parts=tuple(parts))

    def or_files(self, given: str, files: Iterable[Path]) -> "Dataset":
        """Return this dataset, which if it has no name consists of files. given: how the user named them."""
        found = sorted({str(file.resolve()) for file in files})
        return self.or_called(found[0] if len(found) == 1 else str(Path(given).resolve()), found)

    def or_table(self, data: Path, schema: str, table: str) -> "Dataset":
        """Return this dataset, which if it has no name is a table of a DuckDB file."""
        return self.or_called(f"{data.resolve()}:{table if schema == 'main' else f'{schema}.{table}'}")


def choose_dataset(dataset: "str | Dataset") -> Dataset:
    """Return the dataset of that name, or the one given, which must have one."""
    found = Dataset(dataset) if isinstance(dataset, str) else dataset
    if not isinstance(found, Dataset) or found.name is None:
        raise SettingError('dataset must be a name, or a Dataset with one: Dataset("reviews", budget_total=100)')
    return found.or_called("")


def resolve_name(name: str) -> str:
    """Return the name of a dataset as the ledger has it: a file that is there is called by its whole path."""
    stripped = name.strip()
    is_path = os.sep in stripped or Path(stripped).suffix.lower() in _SUFFIXES
    return str(Path(stripped).resolve()) if is_path and Path(stripped).exists() else stripped


def is_nameless(name: str) -> bool:
    """Return whether data is known only by how it came, so that nothing tells it from other data."""
    return name in _NAMELESS
