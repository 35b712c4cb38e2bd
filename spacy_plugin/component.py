"""The pipeline component `custext`: replaces the tokens of Docs by the custext tables, a batch at a time."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch, raise_error

from custext_sql import (
    CusTextError,
    DatabaseError,
    KeyFileError,
    MappingError,
    Receipt,
    RunningRelease,
    SanitizedTokens,
    Sanitizer,
    SettingError,
    Settings,
)
from spacy_plugin.attributes import Sanitized, check_attributes, is_sanitized
from spacy_plugin.config import (
    check_choice,
    check_eps,
    check_key_masks,
    check_one_of,
    check_plus,
    read_dataset,
    read_policy,
)
from spacy_plugin.documents import DocBatch, find_records, sum_docs
from spacy_plugin.label_check import LabelCheck
from spacy_plugin.new_docs import check_carry, write_doc
from spacy_plugin.sensitive_tokens import AllTokens, Floats
from spacy_plugin.surroundings import Surroundings

ErrorHandler = Callable[[str, "CusText", list[Doc], Exception], Any]

OUTPUTS = ("annotate", "replace")
_KEYS = {KeyFileError: "key_file", DatabaseError: "database", MappingError: "mapping"}  # of the config, at fault


class CusText:
    """Replaces tokens. Draws are made when a Doc passes, once; the results are `doc._.custext` and its kin.

    database, mapping, policy, calibration, key_file: as for `custext_sql.Sanitizer.load`; a policy may be given by its
    parts. eps: the privacy budget of a word, 0.001 to 100, also called epsilon; plus keeps stopwords. What is not given
    comes from the key file, if there is one, and else is 1.0, False, "strict" and "paper". sensitive: a choice, see
    `spacy_plugin.sensitive_tokens`.

    mask_unknown: whether unknown words become <unk>, and numbers <num>, where the policy would keep them; if not given,
    they do where `sensitive` selects some tokens and not all: what is sensitive would pass in clear because no vector
    is known for it. This goes for all tokens that the component replaces, also those that `others` has an eps for.
    With false the policy decides.

    output: "annotate" leaves the Doc as it is and adds the results; "replace" hands on a new Doc with the new text, and
    of the original what `carry` names and nothing else.

    carry: entries of `spacy_plugin.new_docs.CARRIED`, where it says what each of them tells; if not given, "sentences"
    and "entities". Entries that belong to tokens (pos, tag, morph, dep, lemma, ent_id, ent_kb_id, tensor, user_data)
    imply "tokens": the boundaries of the original's tokens. Without it, tokens are what the tokenizer of the pipeline
    makes of the new text. nlp: that pipeline, held weakly; `nlp.add_pipe` gives it.

    A label or tag of `sensitive` that no component in front of this one sets is reported at the first Doc, see
    `spacy_plugin.label_check`.

    dataset: what the ledger calls the data, or the parts of `custext_sql.Dataset`; what the component sanitizes is then
    entered in the ledger of the database, by every process that has a part in it, see `custext_sql.RunningRelease`.

    `receipt` counts what this component has sanitized.
    """

    def __init__(
        self,
        name: str = "custext",
        *,
        database: str | None = None,
        mapping: str | None = None,
        eps: float | None = None,
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
        chosen_policy = read_policy(policy)
        if self.mask_unknown and key_file is None:
            chosen_policy = Settings.settle(policy=chosen_policy).policy.mask_kept_words()
        self._source = {
            "database": database,
            "mapping": mapping,
            "eps": check_eps(eps, epsilon, self.sensitive),
            "plus": check_plus(plus, self.sensitive),
            "policy": chosen_policy,
            "calibration": calibration,
            "key_file": key_file,
        }
        self._dataset, self._run_id = read_dataset(dataset), uuid.uuid4().hex
        self._error_handler: ErrorHandler = raise_error
        key = self.sanitizer.key
        if self.mask_unknown and key is not None:
            check_key_masks(key)
        self._release.check()

    @property
    def sanitizer(self) -> Sanitizer:
        """Load it, once per process; the database is closed again at once."""
        if "_sanitizer" not in self.__dict__:
            try:
                self._sanitizer = Sanitizer.load(**self._source)  # type: ignore[arg-type]
            except (KeyFileError, DatabaseError, MappingError) as error:
                raise type(error)(f"{_KEYS[type(error)]}: {error}") from None
        return self._sanitizer

    @property
    def eps(self) -> float:
        """Return the budget of a word, where the choice of what is sensitive names no other."""
        return self.sanitizer.settings.eps

    @property
    def receipt(self) -> Receipt:
        """Return what was drawn, let through and spent on all Docs that this component has sanitized in this process.

        With `n_process` above 1 each worker counts for itself, and the component of the process that started them
        counts nothing. A component that is pickled or loaded from disk starts from zero.
        """
        return self._release.receipt

    def __call__(self, doc: Doc) -> Doc:
        [result] = self._sanitize([doc])
        return result

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Yield Docs, sanitized a batch at a time."""
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
        """Leave out the tables, which another process reads and verifies itself, and what was counted."""
        if self._surroundings is not None:
            self._surroundings.look(self.name)
        state = {**self.__dict__, "_labels": self._labels.for_pickle(self)}
        for name in ("_sanitizer", "_running"):
            state.pop(name, None)
        return state

    @property
    def _release(self) -> RunningRelease:
        """Return what counts the Docs of this process, and enters them in the ledger if the config names a dataset."""
        if "_running" not in self.__dict__:
            try:
                release = RunningRelease(
                    self.sanitizer,
                    self._dataset,
                    budgets=self._budgets,
                    listed=getattr(self.sensitive, "listed", None),
                    run_id=self._run_id,
                )
            except KeyFileError as error:
                raise KeyFileError(f"sensitive: {error}") from None
            self.__dict__.setdefault("_running", release)  # the first, if threads make several
        running: RunningRelease = self.__dict__["_running"]
        return running

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
        stays = np.isnan(budgets)
        budgets[stays] = max(self._budgets)  # drawn, and not used
        sensitive = ~(stays | punctuation) if stays.any() or punctuation.any() else None
        key = self.sanitizer.key
        records = None if key is None else find_records(key, docs)
        with self._release.drawing() as tally:
            result = self.sanitizer.sanitize_tokens(tokens.batch, budgets, sensitive=sensitive, records=records)
            finished = self._replace(tokens, result) if self.output == "replace" else self._annotate(tokens, result)
            tally.add(result.counts)
            if key is not None and records is not None:
                tally.add_sum(sum_docs(key, records, tokens, sensitive))
        return finished

    def _annotate(self, tokens: DocBatch, result: SanitizedTokens) -> list[Doc]:
        """Leave the results on the Docs, and return them."""
        for number, (doc, within, text) in enumerate(tokens.split(result)):
            receipt = self._release.make_receipt(result.counts[number : number + 1])
            Sanitized(text, result.kinds[within], receipt).store(doc)
        return list(tokens.docs)

    def _replace(self, tokens: DocBatch, result: SanitizedTokens) -> list[Doc]:
        """Return new Docs."""
        if self._surroundings is not None:
            self._surroundings.look(self.name)
        return [
            write_doc(doc, text, tokens.spaces[within], self.carry, self._surroundings)
            for doc, within, text in tokens.split(result)
        ]

    def _sanitize_one_by_one(self, docs: Sequence[Doc]) -> Iterator[Doc]:
        """Yield Docs so that only those that cannot be sanitized are lost to the rest of the pipeline."""
        for doc in docs:
            try:
                yield self(doc)
            except Exception as error:
                self._error_handler(self.name, self, [doc], error)

    @property
    def _budgets(self) -> frozenset[float]:
        """Return every eps that may occur."""
        return frozenset(self.sensitive.list_budgets(self.eps))

    def _find_budgets(self, docs: Sequence[Doc]) -> Floats:
        """Return the eps of each token, NaN for those that stay."""
        return np.concatenate([self.sensitive.find_budgets(doc, self.eps) for doc in docs])


def _vocab_of(doc: Doc) -> int:
    return id(doc.vocab)
