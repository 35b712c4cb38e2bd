"""The attacker of the context attack on some of many texts, so that several mappings can be compared in time."""

from collections.abc import Sequence
from dataclasses import dataclass

from custext_sql.experiments.attacks.context_attacker import ContextAttacker, read_public
from custext_sql.release.inputs.texts import Texts, list_texts, name_texts

_WORDS = 20_000  # that are attacked: enough for a standard error of less than 0.004
_FEWEST = 50  # texts, however long they are


@dataclass(frozen=True)
class SampledAttacker:
    """An attacker of some texts. texts: how many there are. attacked: how many of them are attacked."""

    attacker: ContextAttacker
    texts: int
    attacked: int


def sample_attacker(data: Texts, column: str | None, public: Texts, public_column: str | None) -> SampledAttacker:
    """Return an attacker of some of the user's texts who learned from public texts, without any that the user has."""
    texts = [text or "" for text in list_texts(data, column)]
    sample = sample_texts(texts)
    attacker = ContextAttacker(sample, read_public(public, public_column, texts), name_texts(data))
    return SampledAttacker(attacker, len(texts), len(sample))


def sample_texts(texts: Sequence[str], words: int = _WORDS, fewest: int = _FEWEST) -> Sequence[str]:
    """Return texts at equal distances over all of them, with about so many words; all texts if they have fewer."""
    count = max(fewest, round(len(texts) * words / max(1, sum(len(text.split()) for text in texts))))
    if count >= len(texts):
        return texts
    return [texts[place * len(texts) // count] for place in range(count)]
