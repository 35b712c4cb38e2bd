"""Differentially private text sanitization in DuckDB, spaCy and files.

These are the public names, each loaded when it is first used; deeper paths are private. `__version__` is the version of
the installed package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from custext_sql.errors import (
        BudgetError,
        CertificateError,
        CusTextError,
        DatabaseError,
        KeyFileError,
        MappingError,
        OutputError,
        PrivacyWarning,
        QueryError,
        ReleaseWarning,
        SettingError,
        SourceError,
    )
    from custext_sql.experiments.attacks.bayes_attack import BayesAttack, BayesResult, Prior, attack_bayes
    from custext_sql.experiments.attacks.context_attack import ContextAttack, ContextResult, attack_context
    from custext_sql.experiments.attacks.mask_attack import MaskAttack, MaskResult, attack_mask
    from custext_sql.experiments.attacks.query_attack import QueryAttack, QueryResult, attack_query
    from custext_sql.experiments.choosing import Candidate, Choice, Growth, choose
    from custext_sql.experiments.evaluation.datasets import LabeledTexts
    from custext_sql.experiments.evaluation.evaluations import (
        Figure,
        TradeOff,
        TradeOffEvaluation,
        UtilityEvaluation,
        UtilityResult,
        evaluate_tradeoff,
        evaluate_utility,
    )
    from custext_sql.experiments.evaluation.experiment import EvaluationSetup
    from custext_sql.experiments.one_text import ContextChances, TextAttacker, TextGuesses, WordChances, judge_text
    from custext_sql.experiments.report import Report, write_report
    from custext_sql.experiments.tradeoff_page import write_tradeoff
    from custext_sql.experiments.verdict import Sentence, Verdict
    from custext_sql.html.comparison import write_comparison
    from custext_sql.kinds import Kind
    from custext_sql.ledger.corrections import settle_release, strike_release, unstrike_release
    from custext_sql.ledger.dataset import Dataset
    from custext_sql.ledger.entries import Entry
    from custext_sql.ledger.overview import Ledger, find_releases, read_ledger
    from custext_sql.ledger.release import Release
    from custext_sql.ledger.spending import Total
    from custext_sql.mapping.mapping import Mapping, MappingInfo
    from custext_sql.mechanism.sampler import Distribution, Replacement, inspect_word
    from custext_sql.parameters import suggest
    from custext_sql.release.file_releases import sanitize_file
    from custext_sql.release.inputs.texts import DataFiles, DataTable, list_columns
    from custext_sql.release.opening import ReleaseOptions, open_release
    from custext_sql.release.parts import add_part, sanitize_part
    from custext_sql.release.preview.comparison import ComparedRow, Comparison, compare_texts
    from custext_sql.release.preview.leaks import LeakedKind, LeakedWord, Leaks, find_leaks
    from custext_sql.release.release_report import ReleaseReport
    from custext_sql.release.table_releases import sanitize_table
    from custext_sql.sanitizer.policy import Policy
    from custext_sql.sanitizer.receipt import Receipt
    from custext_sql.sanitizer.sanitizer import Sanitizer
    from custext_sql.sanitizer.settings import Settings, make_key
    from custext_sql.sanitizer.token_batch import SanitizedTokens, TokenBatch
    from custext_sql.sanitizer.traced_text import Piece, TracedText
    from custext_sql.sql.functions import connect, register
    from custext_sql.sql.query_errors import safe_errors
    from custext_sql.store.auditing import Certificate, audit
    from custext_sql.store.building import MappingReport
    from custext_sql.store.contents import (
        add_stopwords,
        build_mapping,
        drop_embedding,
        drop_mapping,
        list_embeddings,
        list_mappings,
        load_embeddings,
        load_mapping,
        use_mapping,
    )
    from custext_sql.store.embeddings import Embedding, LoadReport
    from custext_sql.store.key_files import KeyFile, read_key_file
    from custext_sql.store.outputs import scratch_folder
    from custext_sql.store.rewriting import Compaction, compact_database
    from custext_sql.text.word_boundaries import WordList
    from custext_sql.vectors.array_files import open_word_vectors
    from custext_sql.vectors.source import VectorSource

__all__ = [
    "BayesAttack",
    "BayesResult",
    "BudgetError",
    "Candidate",
    "Certificate",
    "CertificateError",
    "Choice",
    "Compaction",
    "ComparedRow",
    "Comparison",
    "ContextAttack",
    "ContextChances",
    "ContextResult",
    "CusTextError",
    "DataFiles",
    "DataTable",
    "DatabaseError",
    "Dataset",
    "Distribution",
    "Embedding",
    "Entry",
    "EvaluationSetup",
    "Figure",
    "Growth",
    "KeyFile",
    "KeyFileError",
    "Kind",
    "LabeledTexts",
    "LeakedKind",
    "LeakedWord",
    "Leaks",
    "Ledger",
    "LoadReport",
    "Mapping",
    "MappingError",
    "MappingInfo",
    "MappingReport",
    "MaskAttack",
    "MaskResult",
    "OutputError",
    "Piece",
    "Policy",
    "Prior",
    "PrivacyWarning",
    "QueryAttack",
    "QueryError",
    "QueryResult",
    "Receipt",
    "Release",
    "ReleaseOptions",
    "ReleaseReport",
    "ReleaseWarning",
    "Replacement",
    "Report",
    "SanitizedTokens",
    "Sanitizer",
    "Sentence",
    "SettingError",
    "Settings",
    "SourceError",
    "TextAttacker",
    "TextGuesses",
    "TokenBatch",
    "Total",
    "TracedText",
    "TradeOff",
    "TradeOffEvaluation",
    "UtilityEvaluation",
    "UtilityResult",
    "VectorSource",
    "Verdict",
    "WordChances",
    "WordList",
    "add_part",
    "add_stopwords",
    "attack_bayes",
    "attack_context",
    "attack_mask",
    "attack_query",
    "audit",
    "build_mapping",
    "choose",
    "compact_database",
    "compare_texts",
    "connect",
    "drop_embedding",
    "drop_mapping",
    "evaluate_tradeoff",
    "evaluate_utility",
    "find_leaks",
    "find_releases",
    "inspect_word",
    "judge_text",
    "list_columns",
    "list_embeddings",
    "list_mappings",
    "load_embeddings",
    "load_mapping",
    "make_key",
    "open_release",
    "open_word_vectors",
    "read_key_file",
    "read_ledger",
    "register",
    "safe_errors",
    "sanitize_file",
    "sanitize_part",
    "sanitize_table",
    "scratch_folder",
    "settle_release",
    "strike_release",
    "suggest",
    "unstrike_release",
    "use_mapping",
    "write_comparison",
    "write_report",
    "write_tradeoff",
]

_HOMES = {
    "errors": (
        "BudgetError",
        "CertificateError",
        "CusTextError",
        "DatabaseError",
        "KeyFileError",
        "MappingError",
        "OutputError",
        "PrivacyWarning",
        "QueryError",
        "ReleaseWarning",
        "SettingError",
        "SourceError",
    ),
    "experiments.attacks.bayes_attack": ("BayesAttack", "BayesResult", "Prior", "attack_bayes"),
    "experiments.attacks.context_attack": ("ContextAttack", "ContextResult", "attack_context"),
    "experiments.attacks.mask_attack": ("MaskAttack", "MaskResult", "attack_mask"),
    "experiments.attacks.query_attack": ("QueryAttack", "QueryResult", "attack_query"),
    "experiments.choosing": ("Candidate", "Choice", "Growth", "choose"),
    "experiments.evaluation.datasets": ("LabeledTexts",),
    "experiments.evaluation.evaluations": (
        "Figure",
        "TradeOff",
        "TradeOffEvaluation",
        "UtilityEvaluation",
        "UtilityResult",
        "evaluate_tradeoff",
        "evaluate_utility",
    ),
    "experiments.evaluation.experiment": ("EvaluationSetup",),
    "experiments.one_text": ("ContextChances", "TextAttacker", "TextGuesses", "WordChances", "judge_text"),
    "experiments.report": ("Report", "write_report"),
    "experiments.tradeoff_page": ("write_tradeoff",),
    "experiments.verdict": ("Sentence", "Verdict"),
    "html.comparison": ("write_comparison",),
    "mapping.mapping": ("Mapping", "MappingInfo"),
    "mechanism.sampler": ("Distribution", "Replacement", "inspect_word"),
    "parameters": ("suggest",),
    "release.file_releases": ("sanitize_file",),
    "release.inputs.texts": ("DataFiles", "DataTable", "list_columns"),
    "release.opening": ("ReleaseOptions", "open_release"),
    "release.parts": ("add_part", "sanitize_part"),
    "release.preview.comparison": ("ComparedRow", "Comparison", "compare_texts"),
    "release.preview.leaks": ("LeakedKind", "LeakedWord", "Leaks", "find_leaks"),
    "release.release_report": ("ReleaseReport",),
    "release.table_releases": ("sanitize_table",),
    "kinds": ("Kind",),
    "sanitizer.policy": ("Policy",),
    "sanitizer.receipt": ("Receipt",),
    "sanitizer.token_batch": ("SanitizedTokens", "TokenBatch"),
    "sanitizer.traced_text": ("Piece", "TracedText"),
    "sanitizer.sanitizer": ("Sanitizer",),
    "sanitizer.settings": ("Settings", "make_key"),
    "sql.functions": ("connect", "register"),
    "sql.query_errors": ("safe_errors",),
    "store.auditing": ("Certificate", "audit"),
    "store.building": ("MappingReport",),
    "store.contents": (
        "add_stopwords",
        "build_mapping",
        "drop_embedding",
        "drop_mapping",
        "list_embeddings",
        "list_mappings",
        "load_embeddings",
        "load_mapping",
        "use_mapping",
    ),
    "store.embeddings": ("Embedding", "LoadReport"),
    "store.key_files": ("KeyFile", "read_key_file"),
    "ledger.corrections": ("settle_release", "strike_release", "unstrike_release"),
    "ledger.dataset": ("Dataset",),
    "ledger.entries": ("Entry",),
    "ledger.overview": ("Ledger", "find_releases", "read_ledger"),
    "ledger.release": ("Release",),
    "ledger.spending": ("Total",),
    "store.outputs": ("scratch_folder",),
    "store.rewriting": ("Compaction", "compact_database"),
    "text.word_boundaries": ("WordList",),
    "vectors.array_files": ("open_word_vectors",),
    "vectors.source": ("VectorSource",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version  # slow to import

        try:
            return version("custext-sql")
        except PackageNotFoundError:
            raise AttributeError("custext-sql is not installed, so its version is unknown") from None
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
