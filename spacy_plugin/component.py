"""The pipeline component `custext`: replaces the tokens of Docs by the custext tables, a batch at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from spacy.tokens import Doc
from spacy.util import minibatch, raise_error

from custext_sql import Policy, Sanitizer
from custext_sql.errors import CusTextError, DatabaseError, KeyFileError, MappingError, SettingError
from custext_sql.mechanism import check_epsilon
from custext_sql.receipt import Guarantee, Tally
from spacy_plugin.attributes import Sanitized, check_attributes, is_sanitized
from spacy_plugin.choices import KEPT, AllTokens, ByFunction, Choice
from spacy_plugin.documents import CARRIED, DocBatch, write_doc

Floats = npt.NDArray[np.float64]
ErrorHandler = Callable[[str, "CusText", list[Doc], Exception], Any]

OUTPUTS = ("annotate", "replace")
_KEYS = {KeyFileError: "key_file", DatabaseError: "database", MappingError: "mapping"}  # of the config, at fault


class CusText:
    """Replaces tokens. Draws are made when a Doc passes, once; the results are `doc._.custext` and its kin.

    database, mapping, policy, calibration, key_file: as for `custext_sql.Sanitizer.load`; a policy may be given by its
    parts. epsilon: the privacy budget of a word, 0.001 to 100; plus keeps stopwords. What is not given comes from the
    key file, if there is one, and else is 1.0, False and "paper". sensitive: a choice, see `spacy_plugin.choices`.
    output: "annotate" leaves the Doc as it is; "replace" hands on a new one without any of the original words, with
    sentence starts and entity labels. carry: what else a new Doc takes over, see `spacy_plugin.documents.CARRIED`; each
    entry leaks what is said there.
    """

    def __init__(
        self,
        name: str = "custext",
        *,
        database: str | None = None,
        mapping: str | None = None,
        epsilon: float | None = None,
        plus: bool | None = None,
        policy: str | dict[str, str] | None = None,
        calibration: str | None = None,
        key_file: str | None = None,
        output: str = "annotate",
        sensitive: Any = None,
        carry: Sequence[str] = (),
    ) -> None:
        check_attributes()
        self.name = name
        self.output = _check_one_of("output", output, OUTPUTS)
        self.carry = tuple(_check_one_of("carry", item, tuple(CARRIED)) for item in carry)
        if self.carry and output != "replace":
            raise SettingError('carry: what a new Doc takes over; there is one only with output = "replace"')
        self.sensitive = _check_choice(sensitive)
        if self.sensitive.keeps_stopwords:
            if plus is False:
                raise SettingError("plus is false, but the choice `sensitive` keeps stopwords; leave one of them out")
            plus = True
        if epsilon is not None:
            try:
                epsilon = check_epsilon(epsilon)
            except SettingError as error:
                raise SettingError(f"epsilon: {error}") from None
        self._source = {
            "database": database,
            "mapping": mapping,
            "policy": _make_policy(policy) if isinstance(policy, dict) else policy,
            "calibration": calibration,
            "key_file": key_file,
        }
        self._epsilon, self._plus = epsilon, plus
        self._error_handler: ErrorHandler = raise_error
        self._loaded: Sanitizer | None = None
        self._guarantees: dict[frozenset[float], Guarantee] = {}
        self._check_settings()

    @property
    def sanitizer(self) -> Sanitizer:
        """Loaded once a process; the database is closed again at once."""
        if self._loaded is None:
            try:
                self._loaded = Sanitizer.load(**self._source)  # type: ignore[arg-type]
            except (KeyFileError, DatabaseError, MappingError) as error:
                raise type(error)(f"{_KEYS[type(error)]}: {error}") from None
        return self._loaded

    @property
    def epsilon(self) -> float:
        """The budget of a word, where the choice of what is sensitive names no other."""
        key = self.sanitizer.key
        return self._epsilon or (1.0 if key is None else key.settings.eps)

    def __call__(self, doc: Doc) -> Doc:
        [result] = self._sanitize([doc])
        return result

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Docs, sanitized a batch at a time."""
        for docs in minibatch(stream, batch_size):  # type: ignore[no-untyped-call]
            for _, alike in groupby(docs, _vocab_of):
                part = list(alike)
                try:
                    results = self._sanitize(part)
                except Exception:
                    results = list(self._sanitize_one_by_one(part))
                yield from results

    def set_error_handler(self, error_handler: ErrorHandler) -> None:
        self._error_handler = error_handler

    def get_error_handler(self) -> ErrorHandler:
        return self._error_handler

    def __getstate__(self) -> dict[str, Any]:
        """Without the tables: another process reads and verifies them itself."""
        return {**self.__dict__, "_loaded": None, "_guarantees": {}}

    def _check_settings(self) -> None:
        """Find out now what would be wrong later."""
        key = self.sanitizer.key
        if self._epsilon is not None and self._epsilon not in self.sensitive.list_budgets(self.epsilon):
            raise SettingError(
                f"epsilon: no token would be drawn at {self._epsilon:g}, since `sensitive` has an epsilon for each "
                "name; leave it out, or give it as `others` of the choice"
            )
        if key is not None:
            for epsilon in self.sensitive.list_budgets(self.epsilon):
                key.check_setting("eps", epsilon)
            if self._plus is not None:
                key.check_setting("plus", self._plus)

    def _sanitize(self, docs: Sequence[Doc]) -> list[Doc]:
        if any(is_sanitized(doc) for doc in docs):
            raise CusTextError(
                "this Doc was sanitized already; once more would be another release, of which its receipt would not "
                "tell: use one custext component, with a budget for each label"
            )
        tokens = DocBatch(docs)
        budgets = self._find_budgets(docs)
        punctuation = tokens.find_punctuation()
        sensitive = None
        if budgets.min(initial=np.inf) == KEPT or punctuation.any():
            sensitive = (budgets != KEPT) & ~punctuation
        in_use = self.sensitive.list_budgets(self.epsilon)
        budgets[budgets == KEPT] = max(in_use)  # drawn, and not used
        result = self.sanitizer.sanitize_tokens(
            tokens.batch, budgets, self._plus, sensitive=sensitive, records=self._find_records(docs)
        )
        guarantee = self._guarantee(frozenset(in_use))
        starts, ends = result.offsets[:-1], result.offsets[1:] - tokens.spaces
        finished = []
        bounds = tokens.batch.documents.tolist()
        for number, doc in enumerate(docs):
            within = slice(bounds[number], bounds[number + 1])
            first, last = result.offsets[bounds[number]], result.offsets[bounds[number + 1]]
            tally = Tally()
            tally.add(result.counts[number : number + 1])
            sanitized = Sanitized(
                result.text[first:last].tobytes(),
                starts[within] - first,
                ends[within] - first,
                result.kinds[within],
                tally.receipt(self.sanitizer.policy, guarantee),
            )
            if self.output == "replace":
                doc = write_doc(doc, sanitized.words(), tokens.spaces[within], self.carry)
            sanitized.store(doc)
            finished.append(doc)
        return finished

    def _sanitize_one_by_one(self, docs: Sequence[Doc]) -> Iterator[Doc]:
        """So that only those that cannot be sanitized are lost to the rest of the pipeline."""
        for doc in docs:
            try:
                yield self(doc)
            except Exception as error:
                self._error_handler(self.name, self, [doc], error)

    def _find_budgets(self, docs: Sequence[Doc]) -> Floats:
        """The epsilon of each token, 0 for those that stay."""
        return np.concatenate([self.sensitive.find_budgets(doc, self.epsilon) for doc in docs])

    def _find_records(self, docs: Sequence[Doc]) -> list[str] | None:
        key = self.sanitizer.key
        if key is None:
            return None
        records = [doc._.custext_record for doc in docs]
        for record in records:
            if not isinstance(record, str):
                found = "none" if record is None else type(record).__name__
                raise KeyFileError(
                    f"{key.path}: draws from a key need a record for each Doc: set doc._.custext_record to a string "
                    f"before the component sees it; found {found}"
                )
        return records

    def _guarantee(self, budgets: frozenset[float]) -> Guarantee:
        if budgets not in self._guarantees:
            if len(self._guarantees) > 100:
                self._guarantees.clear()
            self._guarantees[budgets] = self.sanitizer.guarantee(budgets)
        return self._guarantees[budgets]


def _vocab_of(doc: Doc) -> int:
    return id(doc.vocab)


def _check_one_of(key: str, value: object, choices: Sequence[str]) -> str:
    if value not in choices:
        raise SettingError(f"{key} must be one of {', '.join(choices)}; found {value!r}")
    return str(value)


def _check_choice(sensitive: Any) -> Choice:
    if sensitive is None:
        return AllTokens()
    if hasattr(sensitive, "find_budgets"):
        return cast(Choice, sensitive)
    if callable(sensitive):
        return ByFunction.of(sensitive)
    raise SettingError(
        'sensitive must be a registered choice, as in {"@misc": "custext.entities.v1", "labels": ["PERSON"]}; '
        f"found {type(sensitive).__name__}"
    )


def _make_policy(parts: dict[str, str]) -> Policy:
    try:
        return Policy(**parts)
    except TypeError:
        raise SettingError(f"policy has the parts unknown, numbers and case; found {', '.join(parts)}") from None
