"""The pipeline component `custext`, which sanitizes the texts of Docs, one batch at a time."""

import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch, raise_error

from custext_sql import (
    BudgetError,
    CusTextError,
    DatabaseError,
    KeyFileError,
    MappingError,
    Receipt,
    Release,
    SanitizedTokens,
    Sanitizer,
    SettingError,
    Settings,
)
from spacy_plugin.attributes import check_attributes, is_sanitized, store_results
from spacy_plugin.config import (
    check_choice,
    check_eps,
    check_key_masks,
    check_language,
    find_language,
    read_dataset,
    read_policy,
)
from spacy_plugin.documents import DocBatch, find_records
from spacy_plugin.label_check import LabelCheck
from spacy_plugin.new_docs import Tokenizer, check_carry, write_doc
from spacy_plugin.sensitive_tokens import AllTokens

ErrorHandler = Callable[[str, "CusText", list[Doc], Exception], Any]

OUTPUTS = ("annotate", "replace")
_KEYS = {KeyFileError: "key_file", DatabaseError: "database", MappingError: "mapping"}  # the config key at fault
_SENTENCES = {"token.is_sent_start", "doc.sents"}


class CusText:
    """A pipeline component that sanitizes Docs.

    The text of each Doc is sanitized once, when it passes, as `custext_sql.Sanitizer.sanitize` would do it. The results
    are in `doc._.custext`, `doc._.custext_receipt`, `token._.custext` and `token._.custext_kind`. Everything is
    optional: settings that are not given come from the key file, if there is one, else they have the defaults of
    `custext_sql.Settings`.

    database, mapping, calibration: as for `custext_sql.Sanitizer.load`. eps: the privacy budget per word, 0 or 0.001 to
    100. plus: keep stopwords (CusText+). policy: its name, or a dict of parts of
    `custext_sql.Policy`, such as {"units": "keep", "keep_words": ["agent"]}.

    key_file: the path of a key; the same key, record and text then give the same output. Set `doc._.custext_record` to
    a string on every Doc before it reaches the component.

    language: of the stopwords, or the name of a list of your own; by default the key's, else that of `nlp`. It is an
    error if the mapping or the key was made with the stopwords of another language.

    output: "annotate" leaves the Doc unchanged and adds the results; "replace" returns a new Doc that has the new text
    and, from the original, only what `carry` names.

    sensitive: which tokens are replaced, and at what eps: a choice from `spacy_plugin.sensitive_tokens`, or a function
    that takes a Doc; None for all tokens. A word or unit that spans several tokens is replaced if one of them is
    sensitive, at their smallest eps. A label or tag that no component before this one sets is reported at the first
    Doc; see `spacy_plugin.label_check`.

    mask_unknown: whether unknown words become <unk> and numbers <num> even if the policy would keep them. The default
    is True if `sensitive` selects some of the tokens: a sensitive word would otherwise stay in the clear because it has
    no vector. It applies to all tokens that the component replaces, including those that get their eps from `others`.
    Units and the words that the policy lists are left to it in any case.

    carry: entries of `spacy_plugin.new_docs.CARRIED`, which says what each one reveals; default: "sentences" and
    "entities". Entries that belong to tokens imply "tokens", the token boundaries of the original; without "tokens",
    the tokenizer of `nlp` splits the new text. nlp: the pipeline, held weakly; `nlp.add_pipe` passes it.

    dataset: the name of the data in the ledger, or a dict of parts of `custext_sql.Dataset`. If it is given, every
    process that runs the component enters what it sanitizes in the ledger, as pending until the process ends; the total
    says "at least", because a text may pass twice. ledger: a path or a URL, as for `custext_sql.Sanitizer.load`.

    Raises CusTextError if a setting is invalid, or if the ledger does not allow the release.
    """

    def __init__(
        self,
        name: str = "custext",
        *,
        database: str | None = None,
        mapping: str | None = None,
        eps: float | None = None,
        plus: bool | None = None,
        policy: str | dict[str, Any] | None = None,
        calibration: str | None = None,
        key_file: str | None = None,
        language: str | None = None,
        output: str = "annotate",
        sensitive: Any = None,
        mask_unknown: bool | None = None,
        carry: Sequence[str] | None = None,
        dataset: str | dict[str, Any] | None = None,
        ledger: str | None = None,
        nlp: Language | None = None,
    ) -> None:
        check_attributes()
        self.name = name
        if output not in OUTPUTS:
            raise SettingError(f"output must be one of {', '.join(OUTPUTS)}; found {output!r}")
        self.output, self.carry = output, check_carry(carry)
        if carry and output != "replace":
            raise SettingError('carry applies only to new Docs: set "output": "replace", or remove "carry"')
        self._find_pipeline: Callable[[], Language | None] = _find_none if nlp is None else weakref.ref(nlp)
        self._tokenizer: Tokenizer | None = None  # only needed to tokenize new texts
        self._finds_sentences = False
        if output == "replace" and "tokens" not in self.carry:
            if nlp is None:
                raise SettingError(
                    'nlp: output "replace" needs a pipeline, whose tokenizer splits the new text; add the component '
                    'with nlp.add_pipe("custext"), or make it with CusText(nlp=nlp, output="replace")'
                )
            self._tokenizer = nlp.tokenizer
        self._look_around()
        self.sensitive = check_choice(sensitive)
        self._labels = LabelCheck(self.sensitive)
        if not isinstance(mask_unknown, bool | None):
            raise SettingError(f"mask_unknown must be true or false; found {type(mask_unknown).__name__}")
        self.mask_unknown = not isinstance(self.sensitive, AllTokens) if mask_unknown is None else mask_unknown
        if self.sensitive.keeps_stopwords and plus is False:
            raise SettingError('plus is false, but "sensitive" keeps stopwords; remove one of the two')
        chosen_policy = read_policy(policy)
        if self.mask_unknown and key_file is None:
            chosen_policy = Settings.settle(policy=chosen_policy).policy.mask_kept_words()
        self._source = {
            "database": database,
            "mapping": mapping,
            "eps": check_eps(eps, self.sensitive),
            "plus": True if self.sensitive.keeps_stopwords else plus,
            "policy": chosen_policy,
            "calibration": calibration,
            "key_file": key_file,
            "language": language,
            "ledger": ledger,
        }
        needs_stopwords = key_file is None and bool(self._source["plus"])
        spoken = find_language(language, nlp, needs_stopwords)
        if language is None and needs_stopwords:
            self._source["language"] = spoken
        self._dataset, self._run_id = read_dataset(dataset), uuid.uuid4().hex
        self._error_handler: ErrorHandler = raise_error
        try:
            check_language(spoken, self.sanitizer)
        except SettingError:  # no stopwords: if the mapping is for another language too, that is what to say
            check_language(spoken, Sanitizer.load(**{**self._source, "language": None}))  # type: ignore[arg-type]
            raise
        if self.mask_unknown:
            check_key_masks(self.sanitizer.key)
        try:
            self._release.check()
        except (BudgetError, KeyFileError) as error:  # of the ledger, which names command-line options
            if self._dataset is None:
                raise
            key = "reuse_key" if isinstance(error, KeyFileError) else "second_mapping"
            allowed = f'{{"name": "{self._dataset.name}", "{key}": true}}'
            raise type(error)(f'dataset: {error}. In this config, allow it with "dataset": {allowed}') from None

    @cached_property
    def sanitizer(self) -> Sanitizer:
        """The sanitizer, loaded once per process; the database is closed as soon as it is loaded."""
        try:
            return Sanitizer.load(**self._source)  # type: ignore[arg-type]
        except (KeyFileError, DatabaseError, MappingError) as error:
            key, message = _KEYS[type(error)], str(error)
            raise type(error)(message if message.startswith(f"{key} ") else f"{key}: {message}") from None

    @property
    def eps(self) -> float:
        """The privacy budget per word, for tokens to which `sensitive` gives no eps of their own."""
        return self.sanitizer.settings.eps

    @property
    def receipt(self) -> Receipt:
        """The receipt of all Docs that this component has sanitized in this process.

        With `n_process` above 1, each worker counts its own Docs and the main process counts none. A component that was
        pickled or loaded from disk starts from zero.
        """
        return self._release.receipt

    def __call__(self, doc: Doc) -> Doc:
        """Return the sanitized Doc: the same one, or a new one if output is "replace"."""
        [result] = self._sanitize([doc])
        return result

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Yield sanitized Docs, one batch at a time.

        A Doc that cannot be sanitized goes to the error handler and is not yielded.
        """
        for docs in minibatch(stream, batch_size):  # type: ignore[no-untyped-call]
            for _, alike in groupby(docs, lambda doc: id(doc.vocab)):
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
        """Return the state without the tables, which another process loads and verifies itself, and without counts."""
        self._look_around()
        labels = self._labels.for_pickle(self._find_pipeline(), self)
        state = {**self.__dict__, "_labels": labels, "_find_pipeline": _find_none}
        for name in ("sanitizer", "_running"):
            state.pop(name, None)
        return state

    @property
    def _release(self) -> Release[Sanitizer]:
        """The release that counts the Docs of this process and, if there is a dataset, enters them in the ledger."""
        if "_running" not in self.__dict__:
            budgets, listed = self.sensitive.list_budgets(self.eps), self.sensitive.listed
            try:
                settled = [self.sanitizer.settings.settle_rows(eps, None, 1) for eps in budgets]
                release = Release(
                    self.sanitizer,
                    self._dataset,
                    budgets={float(settings.epsilon) for settings in settled},
                    plus={bool(settings.plus) for settings in settled},
                    listed=listed,
                    at_least=True,
                    runs=True,
                    run_id=self._run_id,
                )
            except KeyFileError as error:
                raise KeyFileError(f"sensitive: {error}") from None
            self.__dict__.setdefault("_running", release)  # keeps the first one if several threads get here
        running: Release[Sanitizer] = self.__dict__["_running"]
        return running

    def _sanitize(self, docs: Sequence[Doc]) -> list[Doc]:
        if any(is_sanitized(doc) for doc in docs):
            raise CusTextError(
                "this Doc has already been sanitized; sanitizing it again would be a second release, which its receipt "
                'would not count. Use one custext component, with an eps per label: "labels": {"PERSON": 0.5}'
            )
        self._labels.check(self._find_pipeline, self, docs)
        tokens = DocBatch(docs)
        budgets = np.concatenate([self.sensitive.find_budgets(doc, self.eps) for doc in docs])
        key = self.sanitizer.key
        records = None if key is None else find_records(key, docs)
        with self._release.drawing() as tally:
            result = self.sanitizer.sanitize_tokens(
                tokens.batch, budgets, listed=self.sensitive.listed, records=records
            )
            finished = self._replace(tokens, result) if self.output == "replace" else self._annotate(tokens, result)
            tally.add(result.counts)
        return finished

    def _annotate(self, tokens: DocBatch, result: SanitizedTokens) -> list[Doc]:
        """Store the results on the Docs and return the Docs."""
        for number, (doc, text) in enumerate(tokens.split(result)):
            store_results(doc, text, self._release.make_receipt(result.counts[number : number + 1]))
        return list(tokens.docs)

    def _replace(self, tokens: DocBatch, result: SanitizedTokens) -> list[Doc]:
        """Return new Docs with the sanitized texts."""
        self._look_around()
        return [
            write_doc(doc, text, self.carry, self._tokenizer, self._finds_sentences)
            for doc, text in tokens.split(result)
        ]

    def _look_around(self) -> None:
        """Find the tokenizer of the pipeline, and whether a component before this one declares that it finds sentences.

        Both stay the same once the pipeline is gone, which happens if the component was sourced from it or was pickled.
        A pickle includes the tokenizer and its vocabulary, which has every word that the pipeline has seen.
        """
        nlp = self._find_pipeline()
        if nlp is not None and self._tokenizer is not None:
            names = nlp.pipe_names  # without this component while it is being added
            before = names[: names.index(self.name) if self.name in names else None]
            self._tokenizer = nlp.tokenizer
            self._finds_sentences = any(_SENTENCES.intersection(nlp.get_pipe_meta(name).assigns) for name in before)

    def _sanitize_one_by_one(self, docs: Sequence[Doc]) -> Iterator[Doc]:
        """Yield sanitized Docs; those that cannot be sanitized go to the error handler, the others go on."""
        for doc in docs:
            try:
                yield self(doc)
            except Exception as error:
                self._error_handler(self.name, self, [doc], error)


def _find_none() -> None:
    """Return None, in place of a weak reference whose pipeline is gone."""
