"""The pipeline component `custext`: replaces the tokens of Docs by the custext tables, a batch at a time."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch, raise_error

from custext_sql import Dataset, Receipt, Sanitizer
from custext_sql.errors import CusTextError, DatabaseError, KeyFileError, MappingError, SettingError
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.replacing.guarantee import Guarantee
from custext_sql.replacing.tally import Tally
from custext_sql.replacing.token_batch import SanitizedTokens
from custext_sql.store.ledger.entry import Entry
from spacy_plugin.attributes import Sanitized, check_attributes, is_sanitized
from spacy_plugin.choices import KEPT, AllTokens
from spacy_plugin.documents import DocBatch, find_records, sum_docs
from spacy_plugin.labels import LabelCheck
from spacy_plugin.new_docs import check_carry, write_doc
from spacy_plugin.releasing import Counting, read_dataset
from spacy_plugin.settings import check_choice, check_key_masks, check_one_of, mask_unknown_words, read_policy
from spacy_plugin.surroundings import Surroundings

Floats = npt.NDArray[np.float64]
ErrorHandler = Callable[[str, "CusText", list[Doc], Exception], Any]

OUTPUTS = ("annotate", "replace")
_KEYS = {KeyFileError: "key_file", DatabaseError: "database", MappingError: "mapping"}  # of the config, at fault


class CusText:
    """Replaces tokens. Draws are made when a Doc passes, once; the results are `doc._.custext` and its kin.

    database, mapping, policy, calibration, key_file: as for `custext_sql.Sanitizer.load`; a policy may be given by its
    parts. epsilon: the privacy budget of a word, 0.001 to 100; plus keeps stopwords. What is not given comes from the
    key file, if there is one, and else is 1.0, False, "strict" and "paper". sensitive: a choice, see
    `spacy_plugin.choices`.

    mask_unknown: whether unknown words become <unk>, and numbers <num>, where the policy would keep them; if not given,
    they do where `sensitive` selects some tokens and not all: what is sensitive would pass in clear because no vector
    is known for it. This goes for all tokens that the component replaces, also those that `others` has an epsilon for.
    With false the policy decides.

    output: "annotate" leaves the Doc as it is and adds the results; "replace" hands on a new Doc with the new text, and
    of the original what `carry` names and nothing else.

    carry: entries of `spacy_plugin.new_docs.CARRIED`, where it says what each of them tells; if not given, "sentences"
    and "entities". Entries that belong to tokens (pos, tag, morph, dep, lemma, ent_id, ent_kb_id, tensor, user_data)
    imply "tokens": the boundaries of the original's tokens. Without it, tokens are what the tokenizer of the pipeline
    makes of the new text. nlp: that pipeline, held weakly; `nlp.add_pipe` gives it.

    A label or tag of `sensitive` that no component in front of this one sets is reported at the first Doc, see
    `spacy_plugin.labels`.

    dataset: what the ledger calls the data, or the parts of `custext_sql.Dataset`; what the component sanitizes is then
    entered in the ledger of the database, by every process that has a part in it, see `spacy_plugin.releasing`.

    `receipt` counts what this component has sanitized.
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
        mask_unknown: bool | None = None,
        carry: Sequence[str] | None = None,
        dataset: str | dict[str, Any] | None = None,
        nlp: Language | None = None,
    ) -> None:
        check_attributes()
        self.name = name
        self.output = check_one_of("output", output, OUTPUTS)
        self.carry = check_carry(carry)
        if carry and output != "replace":
            raise SettingError('carry: what a new Doc takes over; there is one only with output = "replace"')
        self._surroundings: Surroundings | None = None  # needed where new texts are cut
        if output == "replace" and "tokens" not in self.carry:
            if nlp is None:
                raise SettingError(
                    'nlp: output = "replace" needs a pipeline, whose tokenizer cuts the new text; add the component '
                    'with nlp.add_pipe("custext"), or make it with CusText(nlp=nlp, output="replace")'
                )
            self._surroundings = Surroundings(nlp, name)
        self.sensitive = check_choice(sensitive)
        self._labels = LabelCheck(self.sensitive, nlp)
        self.mask_unknown = not isinstance(self.sensitive, AllTokens) if mask_unknown is None else mask_unknown
        if self.sensitive.keeps_stopwords:
            if plus is False:
                raise SettingError("plus is false, but the choice `sensitive` keeps stopwords; leave one of them out")
            plus = True
        if epsilon is not None:
            try:
                epsilon = check_epsilon(epsilon)
            except SettingError as error:
                raise SettingError(f"epsilon: {error}") from None
        given = read_policy(policy)
        self._source = {
            "database": database,
            "mapping": mapping,
            "policy": mask_unknown_words(given) if self.mask_unknown and key_file is None else given,
            "calibration": calibration,
            "key_file": key_file,
        }
        self._epsilon, self._plus = epsilon, plus
        self._error_handler: ErrorHandler = raise_error
        self._loaded: Sanitizer | None = None
        self._database, self._dataset, self._run_id = database, read_dataset(dataset), uuid.uuid4().hex
        self._counting = self._start_counting()
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

    @property
    def receipt(self) -> Receipt:
        """What was drawn, let through and spent on all Docs that this component has sanitized in this process.

        With `n_process` above 1 each worker counts for itself, and the component of the process that started them
        counts nothing. A component that is pickled or loaded from disk starts from zero.
        """
        return self._make_receipt(self._counting.tally)

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
        """Without the tables, which another process reads and verifies itself, and without what was counted."""
        if self._surroundings is not None:
            self._surroundings.look(self.name)
        state = {**self.__dict__, "_loaded": None, "_labels": self._labels.for_pickle(self)}
        del state["_counting"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._counting = self._start_counting()

    def _start_counting(self) -> Counting:
        return Counting(self._dataset, self._open_entry, self._make_receipt)

    def _make_receipt(self, tally: Tally) -> Receipt:
        return tally.receipt(self.sanitizer.policy, self._guarantee)

    def _open_entry(self, dataset: Dataset) -> Entry:
        """Return an entry in the ledger for what this process sanitizes."""
        return Entry(
            self._database,
            dataset,
            self.sanitizer.terms,
            eps=max(self._budgets),
            plus=self._keeps_stopwords,
            at_least=True,
            run_id=self._run_id,
            must_be_made=True,
        )

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
            if self.mask_unknown:
                check_key_masks(key)
        if self._dataset is not None:
            self._open_entry(self._dataset).check()

    def _sanitize(self, docs: Sequence[Doc]) -> list[Doc]:
        if any(is_sanitized(doc) for doc in docs):
            raise CusTextError(
                "this Doc was sanitized already; once more would be another release, of which its receipt would not "
                "tell: use one custext component, with a budget for each label"
            )
        self._labels.check(self, docs)
        tokens = DocBatch(docs)
        budgets = self._find_budgets(docs)
        punctuation = tokens.find_punctuation()
        sensitive = None
        if budgets.min(initial=np.inf) == KEPT or punctuation.any():
            sensitive = (budgets != KEPT) & ~punctuation
        budgets[budgets == KEPT] = max(self._budgets)  # drawn, and not used
        records = None if self.sanitizer.key is None else find_records(self.sanitizer.key, docs)
        with self._counting.drawing():
            result = self.sanitizer.sanitize_tokens(
                tokens.batch, budgets, self._plus, sensitive=sensitive, records=records
            )
            finished = self._replace(tokens, result) if self.output == "replace" else self._annotate(tokens, result)
            self._counting.tally.add(result.counts)
            if records is not None and self.sanitizer.key is not None:
                self._counting.tally.add_sum(sum_docs(self.sanitizer.key, records, tokens, sensitive))
        return finished

    def _annotate(self, tokens: DocBatch, result: SanitizedTokens) -> list[Doc]:
        """The Docs themselves, with the results."""
        guarantee = self._guarantee
        for number, (doc, within, text) in enumerate(tokens.split(result)):
            tally = Tally()
            tally.add(result.counts[number : number + 1])
            Sanitized(text, result.kinds[within], tally.receipt(self.sanitizer.policy, guarantee)).store(doc)
        return list(tokens.docs)

    def _replace(self, tokens: DocBatch, result: SanitizedTokens) -> list[Doc]:
        """New Docs."""
        if self._surroundings is not None:
            self._surroundings.look(self.name)
        return [
            write_doc(doc, text, tokens.spaces[within], self.carry, self._surroundings)
            for doc, within, text in tokens.split(result)
        ]

    def _sanitize_one_by_one(self, docs: Sequence[Doc]) -> Iterator[Doc]:
        """So that only those that cannot be sanitized are lost to the rest of the pipeline."""
        for doc in docs:
            try:
                yield self(doc)
            except Exception as error:
                self._error_handler(self.name, self, [doc], error)

    @property
    def _budgets(self) -> frozenset[float]:
        """Every epsilon that may occur."""
        return frozenset(self.sensitive.list_budgets(self.epsilon))

    def _find_budgets(self, docs: Sequence[Doc]) -> Floats:
        """The epsilon of each token, 0 for those that stay."""
        return np.concatenate([self.sensitive.find_budgets(doc, self.epsilon) for doc in docs])

    @property
    def _guarantee(self) -> Guarantee:
        """What is verified of the words that this component draws."""
        listed = getattr(self.sensitive, "listed", None)
        return self.sanitizer.guarantee(self._budgets, {self._keeps_stopwords}, listed)

    @property
    def _keeps_stopwords(self) -> bool:
        key = self.sanitizer.key
        return key.settings.plus if key is not None else bool(self._plus)


def _vocab_of(doc: Doc) -> int:
    return id(doc.vocab)
