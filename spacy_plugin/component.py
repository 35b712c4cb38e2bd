"""The pipeline component `custext`, which sanitizes the texts of Docs, one batch at a time."""

import re
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cached_property
from itertools import pairwise
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa
from spacy.attrs import ORTH, SPACY
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch, raise_error

from custext_sql import CusTextError, Dataset, Policy, Receipt, Sanitizer
from custext_sql.errors import BudgetError, DatabaseError, KeyFileError, MappingError, SettingError
from custext_sql.ledger.release import Release
from custext_sql.parameters import check_type, suggest
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.token_batch import SanitizedTokens, TokenBatch
from custext_sql.store.key_files import KeyFile
from spacy_plugin.factory import is_sanitized, register_attributes, store_results
from spacy_plugin.new_docs import Flags, NewText, Tokenizer, check_carry, write_doc
from spacy_plugin.sensitive_tokens import LabelCheck, TokenChoice, read_choice

ErrorHandler = Callable[[str, "CusText", list[Doc], Exception], Any]

OUTPUTS = ("annotate", "replace")
_KEYS = {KeyFileError: "key_file", DatabaseError: "database", MappingError: "mapping"}  # the config key at fault
_SENTENCES = {"token.is_sent_start", "doc.sents"}
# NLTK's stopword lists, by the codes of spaCy's languages
_NAMES = """
ar:arabic az:azerbaijani bn:bengali ca:catalan da:danish de:german el:greek en:english es:spanish eu:basque fi:finnish
fr:french he:hebrew hu:hungarian id:indonesian it:italian nb:norwegian ne:nepali nl:dutch nn:norwegian pt:portuguese
ro:romanian ru:russian sl:slovene sv:swedish tr:turkish zh:chinese
"""
_LANGUAGES = dict(re.findall(r"(\w+):(\w+)", _NAMES))


class CusText:
    """A pipeline component that sanitizes Docs. docs/spacy.md explains its settings.

    The text of each Doc is sanitized once, when it passes, as `custext_sql.Sanitizer.sanitize` would do it. Settings
    that are not given come from the key file, if there is one, else they have the defaults of `Sanitizer.load`.

    source: the arguments of `custext_sql.Sanitizer.load`. Their policy may also be a dict of parts of
    `custext_sql.Policy`; their language is by default the key's, else that of `nlp`. With a key, every Doc needs
    `doc._.custext_record`.

    output: "annotate" adds the results to the Doc; "replace" returns a new Doc with the new text and what `carry` names
    (see `spacy_plugin.new_docs.CARRIED`). sensitive: which tokens are replaced, at what eps: a choice from
    `spacy_plugin.sensitive_tokens`, or a function of a Doc; None for all tokens. dataset: the name of the data in the
    ledger, or a dict of parts of `custext_sql.Dataset`. nlp: the pipeline, held weakly; `nlp.add_pipe` passes it.

    mask_unknown: whether unknown words become <unk> and numbers <num> even if the policy would keep them. The default
    is True if `sensitive` selects some of the tokens: a sensitive word would otherwise stay in the clear because it has
    no vector.

    Raises CusTextError if a setting is invalid, or if the ledger does not allow the release.
    """

    def __init__(
        self,
        name: str = "custext",
        *,
        output: str = "annotate",
        sensitive: Any = None,
        mask_unknown: bool | None = None,
        carry: Sequence[str] | None = None,
        dataset: str | dict[str, Any] | None = None,
        nlp: Language | None = None,
        **source: Any,
    ) -> None:
        register_attributes()
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
        self.sensitive = read_choice(sensitive)
        self._labels = LabelCheck(self.sensitive)
        check_type(mask_unknown, (bool, NoneType), "mask_unknown must be true or false")
        self.mask_unknown = type(self.sensitive) is not TokenChoice if mask_unknown is None else mask_unknown
        self._dataset, self._run_id = _read_dataset(dataset), uuid.uuid4().hex
        self._error_handler: ErrorHandler = raise_error
        self._source = source
        self._settle_source(nlp)
        release = self._release
        try:
            release.check()
        except (BudgetError, KeyFileError) as error:  # of the ledger, which names command-line options
            option = "reuse_key" if isinstance(error, KeyFileError) else "second_mapping"
            allowed = f'{{"name": "{release.dataset.name}", "{option}": true}}'
            raise type(error)(f'dataset: {error}. In this config, allow it with "dataset": {allowed}') from None

    def _settle_source(self, nlp: Language | None) -> None:
        """Settle and check what the sanitizer is loaded with, and load it."""
        source = self._source
        if source.get("eps") is not None:
            source["eps"] = Settings(eps=source["eps"]).eps
            if source["eps"] not in self.sensitive.list_budgets(source["eps"]):
                raise SettingError(
                    f'eps: no token would be drawn at eps {source["eps"]:g}, because "sensitive" gives each of its '
                    'names its own eps; remove "eps", or, to replace all other tokens too, set '
                    f'"others": {source["eps"]:g} in "sensitive"'
                )
        source["policy"] = _read_policy(source.get("policy"))
        is_keyed = source.get("key_file") is not None
        if self.mask_unknown and not is_keyed:
            source["policy"] = Settings.settle(policy=source["policy"]).policy.mask_kept_words()
        if self.sensitive.keeps_stopwords:
            if source.get("plus") is False:
                raise SettingError('plus is false, but "sensitive" keeps stopwords; remove one of the two')
            source["plus"] = True
        needs_stopwords = bool(source.get("plus")) and not is_keyed
        spoken = _find_language(source.get("language"), nlp, needs_stopwords)
        if needs_stopwords and source.get("language") is None:
            source["language"] = spoken
        try:
            _check_language(spoken, self.sanitizer)
        except SettingError:  # no stopwords: if the mapping is for another language too, that is what to say
            _check_language(spoken, Sanitizer.load(**{**source, "language": None}))
            raise
        key = self.sanitizer.key
        if self.mask_unknown and key is not None and key.settings.policy != key.settings.policy.mask_kept_words():
            raise KeyFileError(
                f"key_file: {key.path}: this component masks unknown words and numbers, but the key was made to keep "
                'them; make another key with: custext keygen PATH --policy strict, or set "mask_unknown": false to '
                "leave them in the clear"
            )

    @cached_property
    def sanitizer(self) -> Sanitizer:
        """The sanitizer, loaded once per process; the database is closed as soon as it is loaded."""
        try:
            return Sanitizer.load(**self._source)
        except (KeyFileError, DatabaseError, MappingError) as error:
            key, message = _KEYS[type(error)], str(error)
            raise type(error)(message if message.startswith(f"{key} ") else f"{key}: {message}") from None

    @property
    def eps(self) -> float:
        """The privacy budget per word, for tokens to which `sensitive` gives no eps of their own."""
        return self.sanitizer.settings.eps

    @property
    def receipt(self) -> Receipt:
        """The receipt of all Docs that this component has sanitized in this process; workers count their own."""
        return self._release.receipt

    def __call__(self, doc: Doc) -> Doc:
        """Return the sanitized Doc: the same one, or a new one if output is "replace"."""
        [result] = self._sanitize([doc])
        return result

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Yield sanitized Docs, one batch at a time. One that fails goes to the error handler and is not yielded."""
        for docs in minibatch(stream, batch_size):  # type: ignore[no-untyped-call]
            yield from self._sanitize_or_handle(docs)

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
            settings, budgets = self.sanitizer.settings, self.sensitive.list_budgets(self.eps)
            try:
                for epsilon in budgets:
                    self.sanitizer.settle_rows(epsilon, None, 1)  # only checks it
            except KeyFileError as error:
                raise KeyFileError(f"sensitive: {error}") from None
            release = Release(
                self.sanitizer,
                self._dataset,
                budgets=budgets,
                plus={settings.plus},
                listed=self.sensitive.listed,
                at_least=True,
                runs=True,
                run_id=self._run_id,
            )
            self.__dict__.setdefault("_running", release)  # keeps the first one if several threads get here
        running: Release[Sanitizer] = self.__dict__["_running"]
        return running

    def _sanitize_or_handle(self, docs: list[Doc]) -> list[Doc]:
        """Return the sanitized Docs. If some cannot be sanitized, pass each of them to the error handler."""
        with suppress(Exception):
            return self._sanitize(docs)
        results = []
        for doc in docs:
            try:
                results.append(self(doc))
            except Exception as error:
                self._error_handler(self.name, self, [doc], error)
        return results

    def _sanitize(self, docs: Sequence[Doc]) -> list[Doc]:
        """Return the sanitized Docs."""
        if any(is_sanitized(doc) for doc in docs):
            raise CusTextError(
                "this Doc has already been sanitized; sanitizing it again would be a second release, which its receipt "
                'would not count. Use one custext component, with an eps per label: "labels": {"PERSON": 0.5}'
            )
        self._labels.check(self._find_pipeline, self, docs)
        self._look_around()
        batch, spaces = join_tokens(docs)
        budgets = np.concatenate([self.sensitive.find_budgets(doc, self.eps) for doc in docs])
        key = self.sanitizer.key
        records = None if key is None else [_find_record(key, doc) for doc in docs]
        with self._release.drawing() as tally:
            result = self.sanitizer.sanitize_tokens(batch, budgets, listed=self.sensitive.listed, records=records)
            finished = []
            for number, (doc, text) in enumerate(zip(docs, _split_texts(batch, spaces, result), strict=True)):
                if self.output == "replace":
                    doc = write_doc(doc, text, self.carry, self._tokenizer, self._finds_sentences)
                else:
                    store_results(doc, text, self._release.make_receipt(result.counts[number : number + 1]))
                finished.append(doc)
            tally.add(result.counts)
        return finished

    def _look_around(self) -> None:
        """Find the tokenizer of the pipeline, and whether a component before this one declares that it finds sentences.

        Both stay the same once the pipeline is gone: the component may have been sourced from it, or pickled.
        """
        nlp = self._find_pipeline()
        if nlp is not None and self._tokenizer is not None:
            names = nlp.pipe_names  # without this component while it is being added
            before = names[: names.index(self.name) if self.name in names else None]
            self._tokenizer = nlp.tokenizer
            self._finds_sentences = any(_SENTENCES.intersection(nlp.get_pipe_meta(name).assigns) for name in before)


def _find_none() -> None:
    """Return None, in place of a weak reference whose pipeline is gone."""


def join_tokens(docs: Sequence[Doc]) -> tuple[TokenBatch, Flags]:
    """Return the tokens of Docs, each with the space after it, and which have such a space."""
    attributes = np.concatenate([doc.to_array([ORTH, SPACY]).reshape(-1, 2) for doc in docs])
    spaces: Flags = attributes[:, 1] != 0
    distinct = pa.array(attributes[:, 0]).dictionary_encode()
    stores = list({id(doc.vocab): doc.vocab.strings for doc in docs}.values())
    words = [next(store[orth] for store in stores if orth in store) for orth in distinct.dictionary.to_pylist()]
    choices = pa.array([*words, *(f"{word} " for word in words)], pa.large_string())
    chosen = distinct.indices.to_numpy().astype(np.int64) + len(words) * spaces
    _, bounds, content = choices.take(pa.array(chosen)).buffers()
    offsets = np.frombuffer(bounds, dtype=np.int64)[: len(chosen) + 1]
    text = np.frombuffer(content or b"", dtype=np.uint8)[: offsets[-1]]
    return TokenBatch(text, offsets, np.cumsum([0, *(len(doc) for doc in docs)])), spaces


def _split_texts(batch: TokenBatch, spaces: Flags, result: SanitizedTokens) -> Iterator[NewText]:
    """Yield the new text of each Doc in a batch."""
    goes_on = np.append(result.joined, False)[1:]  # the space after these tokens, if any, is within a unit
    starts, ends = result.offsets[:-1], result.offsets[1:] - (spaces & ~goes_on)
    for first, last in pairwise(batch.documents.tolist()):
        start, here = result.offsets[first], slice(first, last)
        yield NewText(
            result.text[start : result.offsets[last]].tobytes(),
            starts=starts[here] - start,
            ends=ends[here] - start,
            begins=result.begins[here] - start,
            kinds=result.kinds[here],
        )


def _find_record(key: KeyFile, doc: Doc) -> str:
    """Return the record of a Doc, which keyed draws need. Raise KeyFileError if it has none."""
    record = doc._.custext_record
    if isinstance(record, str):
        return record
    raise KeyFileError(
        f"key_file: {key.path}: keyed draws need a record for every Doc: set doc._.custext_record to a string before "
        f"the Doc reaches custext; found {'none' if record is None else type(record).__name__}"
    )


def _find_language(language: str | None, nlp: Language | None, needs_stopwords: bool) -> str | None:
    """Return the language of the texts, as NLTK calls it: as given, else that of the pipeline; None if unknown."""
    if language is not None or nlp is None:
        return language if language in _LANGUAGES.values() else None
    found: str | None = _LANGUAGES.get(nlp.lang or "")
    if found is None and needs_stopwords:
        raise SettingError(
            f'language: NLTK has no stopwords for the language of this pipeline, "{nlp.lang}"; set "language" to the '
            "name of a list in the database: run custext stopwords to see them, or custext stopwords --file FILE "
            f"--name {nlp.lang} to add one of your own"
        )
    return found


def _check_language(language: str | None, sanitizer: Sanitizer) -> None:
    """Raise MappingError or KeyFileError if the mapping or the key was made with stopwords of another language."""
    info, settings = sanitizer.mapping.info, sanitizer.settings
    of_key = settings.language if settings.key is not None and settings.plus else None
    for error, what, other in (
        (MappingError, f"mapping: {info.name!r}", info.stopword_language),
        (KeyFileError, "key_file: the key", of_key),
    ):
        if language is not None and other in _LANGUAGES.values() and other != language:
            raise error(
                f"{what} was made with the stopwords for {other}, but the language is {language}; use one made for "
                f'{language}, or, if the texts are in {other}, set "language": "{other}"'
            )


def _read_policy(policy: str | dict[str, Any] | Policy | None) -> str | Policy | None:
    """Return the policy that is given by its name or as a dict of its parts."""
    if isinstance(policy, dict):
        _check_parts("policy", policy, [part.name for part in fields(Policy)])
        return Policy(**policy)
    check_type(policy, (str, Policy, NoneType), "policy must be a name, or a table of its parts")
    return policy


def _read_dataset(dataset: str | dict[str, Any] | None) -> Dataset | None:
    """Return the dataset that is given by its name or as a dict of parts of `custext_sql.Dataset`."""
    if dataset is None:
        return None
    check_type(dataset, (str, dict), "dataset must be a name, or a table of name and options")
    parts = {"name": dataset} if isinstance(dataset, str) else dataset
    if "budget_total" in parts:
        raise SettingError(
            "dataset: a pipeline cannot keep budget_total, because what it will draw is not known in advance; use "
            "Sanitizer.release, or custext sanitize"
        )
    _check_parts("dataset", parts, ["name", "second_mapping", "reuse_key"])
    if parts.get("name") is None:
        raise SettingError('dataset must have a name, as in {"name": "reviews", "second_mapping": true}; found none')
    for key in ("second_mapping", "reuse_key"):
        check_type(parts.get(key, False), bool, f"dataset: {key} must be true or false")
    try:
        return Dataset(**parts)
    except SettingError as error:
        raise SettingError(f"dataset: {error}") from None


def _check_parts(key: str, given: Iterable[str], parts: Sequence[str]) -> None:
    for name in given:
        if name not in parts:
            raise SettingError(f"{key} has no part {name!r}; {suggest(str(name), parts, 'parts')}")
