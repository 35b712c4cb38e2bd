"""What the page shows for a text: the mechanism, its tables and its attackers, as plain values for JSON."""

import math
import threading
from collections.abc import Callable, Hashable
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from custext_sql import DataFiles, DataTable, Kind, Receipt, Sanitizer, list_mappings
from custext_sql.errors import SettingError
from custext_sql.experiments import TextAttacker, judge_text
from custext_sql.kinds import KINDS, spread_counts
from custext_sql.playground.requests import AttackRequest, Choice, DrawnRequest, TextRequest, WordRequest
from custext_sql.sanitizer.traced_text import TracedText

_SANITIZERS, _ATTACKERS = 4, 4  # kept ready
_Made = TypeVar("_Made")


class Recent:
    """The most recently used of some things that take long to make. Each is made once, even if several threads ask."""

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        # a lock to hold while the thing is made, and a list that contains it afterwards
        self._find_place = lru_cache(size)(lambda _: (threading.Lock(), list[Any]()))

    def find(self, name: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return the thing of that name. Meanwhile, other threads find others."""
        with self._lock:
            lock, made = self._find_place(name)
        with lock:
            if not made:
                made.append(make())
        found: _Made = made[0]
        return found


class Workbench:
    """A database, and the texts from which an attacker may learn. Threads may share it.

    public: a file or table of public texts, if any. public_column: its column.
    """

    def __init__(
        self,
        database: Path | None = None,
        public: DataFiles | DataTable | None = None,
        public_column: str | None = None,
    ) -> None:
        self.database, self._public, self._public_column = database, public, public_column
        self._sanitizers, self._attackers = Recent(_SANITIZERS), Recent(_ATTACKERS)

    def prepare(self) -> None:
        """Load the default mapping and learn from the public texts, so that errors come now, and answers quickly."""
        self._open_attacker(Choice())

    def open(self, choice: Choice) -> Sanitizer:
        """Return the sanitizer for some settings."""

        named: dict[str, Any] = {"mapping": choice.mapping, "calibration": choice.calibration}
        found = self._sanitizers.find(tuple(named.values()), lambda: Sanitizer.load(self.database, **named))
        return found.with_policy(choice.policy.settle())

    def describe(self) -> dict[str, Any]:
        """Return the stored mappings, the default one first, the kinds of words, and the name of the public texts."""
        found, default = list_mappings(self.database)
        ordered = sorted(found, key=lambda info: info.name != default)
        mappings = [{"name": info.name, "k": info.k, "words": info.words} for info in ordered]
        return {"mappings": mappings, "kinds": list_kinds(), "public": self.public}

    @property
    def public(self) -> str | None:
        """The name of the public texts."""
        return None if self._public is None else Path(self._public.path).name

    def sanitize(self, request: TextRequest) -> dict[str, Any]:
        """Return a text before and after, and its words."""
        choice = request.settings
        return show_traced(self.open(choice).trace(request.text, choice.eps, choice.plus))

    def inspect(self, request: WordRequest) -> dict[str, Any]:
        """Return what a word can become, and what an attacker learns from it."""
        word, choice = request.word, request.settings
        sanitizer, attacker = self.open(choice), self._open_attacker(choice)
        found = sanitizer.inspect(word, choice.eps, choice.plus)
        became = sanitizer.inspect(request.output, choice.eps, choice.plus).word
        if not any(one.output == became and one.probability for one in found.group):
            raise SettingError("output must be what became of the word, at the same settings")
        replaced = sanitizer.compare([one.output for one in found.group], choice.eps, choice.plus)
        mode, likeliest = attacker.count_draws(word, choice.eps)
        guess, certainty = attacker.guess_word(request.output, choice.eps)
        return {
            "word": found.word,
            "replaced": sum(any(piece.kind == Kind.REPLACED for piece in pieces) for pieces in replaced),
            "group": [asdict(replacement) for replacement in found.group],
            "chances": asdict(attacker.find_chances(word, choice.eps)),
            "draws": {"mode": mode, "likeliest": likeliest},
            "guess": {"word": guess, "certainty": certainty},
        }

    def attack(self, request: AttackRequest) -> dict[str, Any]:
        """Return what an attacker guesses from a sanitized text."""
        attacker = self._open_attacker(request.settings)
        guesses = attacker.guess(request.text, request.outputs, request.settings.eps)
        return asdict(guesses) | {"share": guesses.share, "public": self.public}

    def judge(self, request: DrawnRequest) -> dict[str, Any]:
        """Return the verdict on a text that was sanitized, and its receipt.

        They are apart from `sanitize`, because all groups are verified for them.
        """
        sanitizer, choice = self.open(request.settings), request.settings
        traced = sanitizer.trace(request.text, choice.eps, choice.plus)  # counts the same, except words that stay
        receipt = replace(
            sanitizer.receipt(traced.tally, choice.eps, choice.plus),
            replaced_unchanged=request.unchanged,
            texts_unchanged=int(request.is_unchanged),
        )
        if request.unchanged > receipt.replaced:
            raise SettingError("unchanged must be at most the number of replaced words")
        verdict = judge_text(self._open_attacker(choice), request.text, receipt)
        return {"verdict": asdict(verdict), "receipt": show_receipt(receipt)}

    def _open_attacker(self, choice: Choice) -> TextAttacker:
        public: dict[str, Any] = {"public": self._public, "public_column": self._public_column}
        name = choice.mapping, choice.calibration, choice.policy.model_dump_json(), choice.plus
        return self._attackers.find(name, lambda: TextAttacker(self.open(choice), plus=choice.plus, **public))


def show_traced(traced: TracedText) -> dict[str, Any]:
    """Return a text before and after, with the places of words in UTF-16, as JavaScript counts them."""
    return {
        "before": traced.before,
        "after": traced.after,
        "starts": _count_units(traced.before, traced.starts),
        "ends": _count_units(traced.before, traced.ends),
        "new_starts": _count_units(traced.after, traced.new_starts),
        "new_ends": _count_units(traced.after, traced.new_ends),
        "kinds": traced.kinds.tolist(),
        "unchanged": traced.unchanged.nonzero()[0].tolist(),
        "is_unchanged": traced.is_unchanged,
    }


def show_receipt(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt for the owner of the texts, with its sentences."""
    spread = spread_counts(asdict(receipt))
    counts = {name: value for name, value in spread.items() if not isinstance(value, float) or math.isfinite(value)}
    return {"lines": receipt.describe().split("\n"), "warnings": list(receipt.warnings), "counts": counts}


def list_kinds() -> list[dict[str, Any]]:
    """Return the kinds of words in the order in which the page lists them."""
    return [
        {"number": int(kind), "name": kind.name.lower(), "label": entry.label, "about": entry.about, "mark": entry.mark}
        for kind, entry in KINDS.items()
    ]


def _count_units(text: str, places: Any) -> list[int]:
    """Return places in a text, given in characters, in units of UTF-16."""
    if text.isascii() or max(text) <= "\uffff":
        return places.tolist()  # type: ignore[no-any-return]
    wide = np.frombuffer(text.encode("utf-32-le"), dtype="<u4") > 0xFFFF
    return (places + np.append(0, np.cumsum(wide))[places]).tolist()  # type: ignore[no-any-return]
