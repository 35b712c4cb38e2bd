"""Differentially private text sanitization where the text already is. The public names, loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from custext_sql.errors import CusTextError
    from custext_sql.mapping.mapping import Mapping
    from custext_sql.mechanism.distribution import Distribution, inspect_word
    from custext_sql.replacing.policy import Policy
    from custext_sql.replacing.receipt import Receipt
    from custext_sql.sanitizer import Sanitizer
    from custext_sql.sql.functions import connect, register
    from custext_sql.sql.query_errors import safe_errors
    from custext_sql.store.auditing import Certificate, audit
    from custext_sql.store.embeddings import LoadReport, drop_embedding, list_embeddings, load_embeddings
    from custext_sql.store.key_files import make_key
    from custext_sql.store.ledger.dataset import Dataset
    from custext_sql.store.mapping_builder import MappingReport, build_mapping
    from custext_sql.store.mappings import drop_mapping, list_mappings, load_mapping, use_mapping
    from custext_sql.store.stopwords import add_stopwords

__all__ = [
    "Certificate",
    "CusTextError",
    "Dataset",
    "Distribution",
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
    "errors": ("CusTextError",),
    "mapping.mapping": ("Mapping",),
    "mechanism.distribution": ("Distribution", "inspect_word"),
    "replacing.policy": ("Policy",),
    "replacing.receipt": ("Receipt",),
    "sanitizer": ("Sanitizer",),
    "sql.functions": ("connect", "register"),
    "sql.query_errors": ("safe_errors",),
    "store.auditing": ("Certificate", "audit"),
    "store.embeddings": ("LoadReport", "drop_embedding", "list_embeddings", "load_embeddings"),
    "store.key_files": ("make_key",),
    "store.ledger.dataset": ("Dataset",),
    "store.mapping_builder": ("MappingReport", "build_mapping"),
    "store.mappings": ("drop_mapping", "list_mappings", "load_mapping", "use_mapping"),
    "store.stopwords": ("add_stopwords",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
