"""Differentially private text sanitization in DuckDB, spaCy and files.

- open: `connect`, `register`, `Sanitizer`
- build: `load_embeddings`, `build_mapping`, `load_mapping`, `list_mappings`, `use_mapping`, `drop_mapping`,
  `drop_embedding`, `add_stopwords`, `audit`
- release: `sanitize_file`, `sanitize_table`, `DataFiles`, `DataTable`, `find_leaks`, `compare_texts`
- account: `Dataset`, `make_key`, `read_ledger`, `settle_release`, `strike_release`
- values: `Policy`, `Receipt`, `Kind`, `Mapping`
- errors: `CusTextError`, of which all errors in `custext_sql.errors` are kinds

`custext_sql.experiments` has the attacks, evaluations and reports. Other modules are private. Each name is loaded when
it is first used; `__version__` is the version of the installed package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from custext_sql.errors import CusTextError as CusTextError
    from custext_sql.files.file_releases import sanitize_file as sanitize_file
    from custext_sql.files.inputs.texts import DataFiles as DataFiles
    from custext_sql.files.inputs.texts import DataTable as DataTable
    from custext_sql.files.preview.comparison import compare_texts as compare_texts
    from custext_sql.files.preview.leaks import find_leaks as find_leaks
    from custext_sql.files.table_releases import sanitize_table as sanitize_table
    from custext_sql.kinds import Kind as Kind
    from custext_sql.ledger.dataset import Dataset as Dataset
    from custext_sql.ledger.ledger import read_ledger as read_ledger
    from custext_sql.ledger.ledger import settle_release as settle_release
    from custext_sql.ledger.ledger import strike_release as strike_release
    from custext_sql.mapping.mapping import Mapping as Mapping
    from custext_sql.sanitizer.policy import Policy as Policy
    from custext_sql.sanitizer.receipt import Receipt as Receipt
    from custext_sql.sanitizer.sanitizer import Sanitizer as Sanitizer
    from custext_sql.sanitizer.settings import make_key as make_key
    from custext_sql.sql.functions import connect as connect
    from custext_sql.sql.functions import register as register
    from custext_sql.store.auditing import audit as audit
    from custext_sql.store.contents import add_stopwords as add_stopwords
    from custext_sql.store.contents import build_mapping as build_mapping
    from custext_sql.store.contents import drop_embedding as drop_embedding
    from custext_sql.store.contents import drop_mapping as drop_mapping
    from custext_sql.store.contents import list_mappings as list_mappings
    from custext_sql.store.contents import load_embeddings as load_embeddings
    from custext_sql.store.contents import load_mapping as load_mapping
    from custext_sql.store.contents import use_mapping as use_mapping

_HOME = {
    "connect": "sql.functions",
    "register": "sql.functions",
    "Sanitizer": "sanitizer.sanitizer",
    "load_embeddings": "store.contents",
    "build_mapping": "store.contents",
    "load_mapping": "store.contents",
    "list_mappings": "store.contents",
    "use_mapping": "store.contents",
    "drop_mapping": "store.contents",
    "drop_embedding": "store.contents",
    "add_stopwords": "store.contents",
    "audit": "store.auditing",
    "sanitize_file": "files.file_releases",
    "sanitize_table": "files.table_releases",
    "DataFiles": "files.inputs.texts",
    "DataTable": "files.inputs.texts",
    "find_leaks": "files.preview.leaks",
    "compare_texts": "files.preview.comparison",
    "Dataset": "ledger.dataset",
    "make_key": "sanitizer.settings",
    "read_ledger": "ledger.ledger",
    "settle_release": "ledger.ledger",
    "strike_release": "ledger.ledger",
    "Policy": "sanitizer.policy",
    "Receipt": "sanitizer.receipt",
    "Kind": "kinds",
    "Mapping": "mapping.mapping",
    "CusTextError": "errors",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version  # slow to import

        try:
            return version("custext-sql")
        except PackageNotFoundError:
            raise AttributeError("custext-sql is not installed, so its version is unknown") from None
    if name == "experiments":
        return import_module("custext_sql.experiments")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__", "experiments"]
