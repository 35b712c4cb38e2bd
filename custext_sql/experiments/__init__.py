"""Attacks, baselines, evaluations, and the report on what they found: nothing here releases anything.

- attack: `attack_query`, `attack_mask`, `attack_context`, `attack_bayes`, `TextAttacker`, `judge_text`
- evaluate: `LabeledTexts`, `EvaluationSetup`, `evaluate_utility`, `evaluate_tradeoff`, `write_tradeoff`
- decide: `choose`, `write_report`
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from custext_sql.experiments.bayes_attack import attack_bayes as attack_bayes
    from custext_sql.experiments.choosing import choose as choose
    from custext_sql.experiments.context_attack import attack_context as attack_context
    from custext_sql.experiments.evaluations import EvaluationSetup as EvaluationSetup
    from custext_sql.experiments.evaluations import evaluate_tradeoff as evaluate_tradeoff
    from custext_sql.experiments.evaluations import evaluate_utility as evaluate_utility
    from custext_sql.experiments.evaluations import write_tradeoff as write_tradeoff
    from custext_sql.experiments.mask_attack import attack_mask as attack_mask
    from custext_sql.experiments.one_text import TextAttacker as TextAttacker
    from custext_sql.experiments.one_text import judge_text as judge_text
    from custext_sql.experiments.query_attack import attack_query as attack_query
    from custext_sql.experiments.report import write_report as write_report
    from custext_sql.experiments.texts import LabeledTexts as LabeledTexts

_HOME = {
    **{f"attack_{name}": f"{name}_attack" for name in ("query", "mask", "context", "bayes")},
    **dict.fromkeys(("TextAttacker", "judge_text"), "one_text"),
    **dict.fromkeys(("EvaluationSetup", "evaluate_utility", "evaluate_tradeoff", "write_tradeoff"), "evaluations"),
    "LabeledTexts": "texts",
    "choose": "choosing",
    "write_report": "report",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
