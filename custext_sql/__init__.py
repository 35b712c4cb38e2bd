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
    from custext_sql.errors import CusTextError
    from custext_sql.files.inputs.texts import DataFiles, DataTable
    from custext_sql.files.preview.comparison import compare_texts
    from custext_sql.files.preview.leaks import find_leaks
    from custext_sql.files.releases import sanitize_file, sanitize_table
    from custext_sql.kinds import Kind
    from custext_sql.ledger.dataset import Dataset
    from custext_sql.ledger.ledger import read_ledger, settle_release, strike_release
    from custext_sql.mapping.mapping import Mapping
    from custext_sql.sanitizer.policy import Policy
    from custext_sql.sanitizer.receipt import Receipt
    from custext_sql.sanitizer.sanitizer import Sanitizer
    from custext_sql.sanitizer.settings import make_key
    from custext_sql.sql.functions import connect, register
    from custext_sql.store.auditing import audit
    from custext_sql.store.contents import (
        add_stopwords,
        build_mapping,
        drop_embedding,
        drop_mapping,
        list_mappings,
        load_embeddings,
        load_mapping,
        use_mapping,
    )

__all__ = ["CusTextError", "DataFiles", "DataTable", "Dataset", "Kind", "Mapping", "Policy", "Receipt", "Sanitizer"]
__all__ += ["add_stopwords", "audit", "build_mapping", "compare_texts", "connect", "drop_embedding", "drop_mapping"]
__all__ += ["find_leaks", "list_mappings", "load_embeddings", "load_mapping", "make_key", "read_ledger", "register"]
__all__ += ["sanitize_file", "sanitize_table", "settle_release", "strike_release", "use_mapping"]
_NAMES = {
    "errors": "CusTextError",
    "files.inputs.texts": "DataFiles DataTable",
    "files.preview.comparison": "compare_texts",
    "files.preview.leaks": "find_leaks",
    "files.releases": "sanitize_file sanitize_table",
    "kinds": "Kind",
    "ledger.dataset": "Dataset",
    "ledger.ledger": "read_ledger settle_release strike_release",
    "mapping.mapping": "Mapping",
    "sanitizer.policy": "Policy",
    "sanitizer.receipt": "Receipt",
    "sanitizer.sanitizer": "Sanitizer",
    "sanitizer.settings": "make_key",
    "sql.functions": "connect register",
    "store.auditing": "audit",
    "store.contents": "add_stopwords build_mapping drop_embedding drop_mapping list_mappings load_embeddings "
    "load_mapping use_mapping",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


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
