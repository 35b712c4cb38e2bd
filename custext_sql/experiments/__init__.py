"""Attacks, baselines, evaluations, and the report on what they found: nothing here releases anything.

- attack: `attack_query`, `attack_mask`, `attack_context`, `attack_bayes`, `TextAttacker`, `judge_text`
- evaluate: `LabeledTexts`, `EvaluationSetup`, `evaluate_utility`, `evaluate_tradeoff`, `write_tradeoff`
- decide: `choose`, `write_report`
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from custext_sql.experiments.attacks.bayes_attack import attack_bayes as attack_bayes
    from custext_sql.experiments.attacks.context_attack import attack_context as attack_context
    from custext_sql.experiments.attacks.mask_attack import attack_mask as attack_mask
    from custext_sql.experiments.attacks.query_attack import attack_query as attack_query
    from custext_sql.experiments.choosing import choose as choose
    from custext_sql.experiments.evaluation.datasets import LabeledTexts as LabeledTexts
    from custext_sql.experiments.evaluation.evaluations import evaluate_tradeoff as evaluate_tradeoff
    from custext_sql.experiments.evaluation.evaluations import evaluate_utility as evaluate_utility
    from custext_sql.experiments.evaluation.experiment import EvaluationSetup as EvaluationSetup
    from custext_sql.experiments.one_text import TextAttacker as TextAttacker
    from custext_sql.experiments.one_text import judge_text as judge_text
    from custext_sql.experiments.report import write_report as write_report
    from custext_sql.experiments.tradeoff_page import write_tradeoff as write_tradeoff

_HOME = {
    "attack_query": "attacks.query_attack",
    "attack_mask": "attacks.mask_attack",
    "attack_context": "attacks.context_attack",
    "attack_bayes": "attacks.bayes_attack",
    "TextAttacker": "one_text",
    "judge_text": "one_text",
    "LabeledTexts": "evaluation.datasets",
    "EvaluationSetup": "evaluation.experiment",
    "evaluate_utility": "evaluation.evaluations",
    "evaluate_tradeoff": "evaluation.evaluations",
    "write_tradeoff": "tradeoff_page",
    "choose": "choosing",
    "write_report": "report",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
