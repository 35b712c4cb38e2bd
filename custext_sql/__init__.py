"""Differentially private text sanitization where the text already is. The public names, loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from custext_sql.auditing import Certificate, audit
    from custext_sql.dataset import Dataset
    from custext_sql.embeddings import LoadReport, drop_embedding, list_embeddings, load_embeddings
    from custext_sql.errors import CusTextError
    from custext_sql.inspection import inspect_word
    from custext_sql.key_file import make_key
    from custext_sql.mapping import Mapping
    from custext_sql.mapping_builder import MappingReport, build_mapping
    from custext_sql.mapping_store import drop_mapping, list_mappings, load_mapping, use_mapping
    from custext_sql.policy import Policy
    from custext_sql.query_errors import safe_errors
    from custext_sql.receipt import Receipt
    from custext_sql.sanitizer import Sanitizer
    from custext_sql.sql_functions import connect, register
    from custext_sql.stopwords import add_stopwords

__all__ = [
    "Certificate",
    "CusTextError",
    "Dataset",
    "LoadReport",
    "Mapping",
    "MappingReport",
    "Policy",
    "Receipt",
    "Sanitizer",
    "add_stopwords",
    "audit",
    "build_mapping",
    "connect",
    "drop_embedding",
    "drop_mapping",
    "inspect_word",
    "list_embeddings",
    "list_mappings",
    "load_embeddings",
    "load_mapping",
    "make_key",
    "register",
    "safe_errors",
    "use_mapping",
]

_HOMES = {
    "auditing": ("Certificate", "audit"),
    "dataset": ("Dataset",),
    "embeddings": ("LoadReport", "drop_embedding", "list_embeddings", "load_embeddings"),
    "errors": ("CusTextError",),
    "inspection": ("inspect_word",),
    "key_file": ("make_key",),
    "mapping": ("Mapping",),
    "mapping_builder": ("MappingReport", "build_mapping"),
    "mapping_store": ("drop_mapping", "list_mappings", "load_mapping", "use_mapping"),
    "policy": ("Policy",),
    "query_errors": ("safe_errors",),
    "receipt": ("Receipt",),
    "sanitizer": ("Sanitizer",),
    "sql_functions": ("connect", "register"),
    "stopwords": ("add_stopwords",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
