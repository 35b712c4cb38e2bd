"""The pipeline component `custext`, which sanitizes the texts of Docs, one batch at a time."""

import re
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from itertools import groupby, pairwise
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
from custext_sql.parameters import suggest
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.token_batch import SanitizedTokens, TokenBatch
from custext_sql.store.key_files import KeyFile
from spacy_plugin.factory import check_attributes, is_sanitized, store_results
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
    """A pipeline component that sanitizes Docs.

    The text of each Doc is sanitized once, when it passes, as `custext_sql.Sanitizer.sanitize` would do it. Settings
    that are not given come from the key file, if there is one, else they have the defaults of `Sanitizer.load`.

    database, mapping, eps, plus, calibration, ledger: as for `custext_sql.Sanitizer.load`. policy: its name, or a dict
    of parts of `custext_sql.Policy`, such as {"units": "keep", "keep_words": ["agent"]}.

    key_file: the path of a key; the same key, record and text then give the same output. Set `doc._.custext_record` to
    a string on every Doc before it reaches the component.

    language: of the stopwords, or the name of a list of your own; by default the key's, else that of `nlp`. It is an
    error if the mapping or the key was made with the stopwords of another language.

    output: "annotate" leaves the Doc unchanged and adds the results, such as `doc._.custext`; "replace" returns a new
    Doc that has the new text and, from the original, only what `carry` names.

    sensitive: which tokens are replaced, and at what eps: a choice from `spacy_plugin.sensitive_tokens`, or a function
    that takes a Doc; None for all tokens. A word or unit that spans several tokens is replaced if one of them is
    sensitive, at their smallest eps. `LabelCheck` reports labels and tags that no component before this one sets.

    mask_unknown: whether unknown words become <unk> and numbers <num> even if the policy would keep them. The default
    is True if `sensitive` selects some of the tokens: a sensitive word would otherwise stay in the clear because it has
    no vector. It applies to all tokens that the component replaces, including those that get their eps from `others`.
    Units and the words that the policy lists are left to it in any case.

    carry: entries of `spacy_plugin.new_docs.CARRIED`, which says what each one reveals; default: "sentences" and
    "entities". Entries that belong to tokens imply "tokens", the token boundaries of the original; without "tokens",
    the tokenizer of `nlp` splits the new text. nlp: the pipeline, held weakly; `nlp.add_pipe` passes it.

    dataset: the name of the data in the ledger, or a dict of parts of `custext_sql.Dataset`. If it is given, every
    process that runs the component enters what it sanitizes in the ledger, as pending until the process ends; the total
    says "at least", because a text may pass twice.

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
        self.sensitive = read_choice(sensitive)
        self._labels = LabelCheck(self.sensitive)
        if not isinstance(mask_unknown, bool | None):
            raise SettingError(f"mask_unknown must be true or false; found {type(mask_unknown).__name__}")
        self.mask_unknown = type(self.sensitive) is not TokenChoice if mask_unknown is None else mask_unknown
        if self.sensitive.keeps_stopwords and plus is False:
            raise SettingError('plus is false, but "sensitive" keeps stopwords; remove one of the two')
        chosen_policy = _read_policy(policy)
        if self.mask_unknown and key_file is None:
            chosen_policy = Settings.settle(policy=chosen_policy).policy.mask_kept_words()
        self._source: dict[str, Any] = {
            "database": database,
            "mapping": mapping,
            "eps": _check_eps(eps, self.sensitive),
            "plus": True if self.sensitive.keeps_stopwords else plus,
            "policy": chosen_policy,
            "calibration": calibration,
            "key_file": key_file,
            "language": language,
            "ledger": ledger,
        }
        needs_stopwords = key_file is None and bool(self._source["plus"])
        spoken = _find_language(language, nlp, needs_stopwords)
        if language is None and needs_stopwords:
            self._source["language"] = spoken
        self._dataset, self._run_id = _read_dataset(dataset), uuid.uuid4().hex
        self._error_handler: ErrorHandler = raise_error
        try:
            _check_language(spoken, self.sanitizer)
        except SettingError:  # no stopwords: if the mapping is for another language too, that is what to say
            _check_language(spoken, Sanitizer.load(**{**self._source, "language": None}))
            raise
        if self.mask_unknown:
            _check_key_masks(self.sanitizer.key)
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

    def _sanitize(self, docs: Sequence[Doc]) -> list[Doc]:
        if any(is_sanitized(doc) for doc in docs):
            raise CusTextError(
                "this Doc has already been sanitized; sanitizing it again would be a second release, which its receipt "
                'would not count. Use one custext component, with an eps per label: "labels": {"PERSON": 0.5}'
            )
        self._labels.check(self._find_pipeline, self, docs)
        batch, spaces = join_tokens(docs)
        budgets = np.concatenate([self.sensitive.find_budgets(doc, self.eps) for doc in docs])
        key = self.sanitizer.key
        records = None if key is None else _find_records(key, docs)
        with self._release.drawing() as tally:
            result = self.sanitizer.sanitize_tokens(batch, budgets, listed=self.sensitive.listed, records=records)
            finished = self._finish(docs, list(_split_texts(batch, spaces, result)), result)
            tally.add(result.counts)
        return finished

    def _finish(self, docs: Sequence[Doc], texts: Sequence[NewText], result: SanitizedTokens) -> list[Doc]:
        """Return new Docs with the texts, or the same Docs with the results stored on them."""
        if self.output == "replace":
            self._look_around()
            return [
                write_doc(doc, text, self.carry, self._tokenizer, self._finds_sentences)
                for doc, text in zip(docs, texts, strict=True)
            ]
        for number, (doc, text) in enumerate(zip(docs, texts, strict=True)):
            store_results(doc, text, self._release.make_receipt(result.counts[number : number + 1]))
        return list(docs)

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


def join_tokens(docs: Sequence[Doc]) -> tuple[TokenBatch, Flags]:
    """Return the tokens of Docs that share a vocabulary, each with the space after it, and which have such a space."""
    attributes = np.concatenate([doc.to_array([ORTH, SPACY]).reshape(-1, 2) for doc in docs])
    spaces: Flags = attributes[:, 1] != 0
    distinct = pa.array(attributes[:, 0]).dictionary_encode()
    words = [docs[0].vocab.strings[orth] for orth in distinct.dictionary.to_pylist()]
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


def _find_records(key: KeyFile, docs: Sequence[Doc]) -> list[str]:
    """Return the record of each Doc, which keyed draws need. Raise KeyFileError if a Doc has none."""
    records = [doc._.custext_record for doc in docs]
    for record in records:
        if not isinstance(record, str):
            found = "none" if record is None else type(record).__name__
            raise KeyFileError(
                f"key_file: {key.path}: keyed draws need a record for every Doc: set doc._.custext_record to a string "
                f"before the Doc reaches custext; found {found}"
            )
    return records


def _check_eps(eps: float | None, choice: TokenChoice) -> float | None:
    """Return the eps that was given. Raise SettingError if it is invalid or no token would use it."""
    if eps is None:
        return None
    checked = Settings(eps=eps).eps
    if checked not in choice.list_budgets(checked):
        raise SettingError(
            f'eps: no token would be drawn at eps {checked:g}, because "sensitive" gives each of its names its own '
            f'eps; remove "eps", or, to replace all other tokens too, set "others": {checked:g} in "sensitive"'
        )
    return checked


def _find_language(language: str | None, nlp: Language | None, needs_stopwords: bool) -> str | None:
    """Return the language of the texts, as NLTK calls it; None if NLTK has no stopwords for it, or it is unknown.

    language: what the config gives, else it is that of the pipeline. Raise SettingError if that of the pipeline is
    needed for its stopwords, and NLTK has none.
    """
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
    kept = settings.language if settings.key is not None and settings.plus else None
    found: list[tuple[type[CusTextError], str, str | None]] = [
        (MappingError, f"mapping: {info.name!r}", info.stopword_language),
        (KeyFileError, "key_file: the key", kept),
    ]
    for error, what, other in found:
        if language is not None and other in _LANGUAGES.values() and other != language:
            raise error(
                f"{what} was made with the stopwords for {other}, but the language is {language}; use one made for "
                f'{language}, or, if the texts are in {other}, set "language": "{other}"'
            )


def _check_key_masks(key: KeyFile | None) -> None:
    """Raise KeyFileError if a key keeps unknown words or numbers, which the component has to mask."""
    if key is not None and key.settings.policy != key.settings.policy.mask_kept_words():
        raise KeyFileError(
            f"key_file: {key.path}: this component masks unknown words and numbers, but the key was made to keep them; "
            'make another key with: custext keygen PATH --policy strict, or set "mask_unknown": false to leave them in '
            "the clear"
        )


def _read_policy(policy: str | dict[str, Any] | Policy | None) -> str | Policy | None:
    """Return the policy that is given by its name or as a dict of its parts."""
    if isinstance(policy, dict):
        _check_parts("policy", policy, [part.name for part in fields(Policy)])
        return Policy(**policy)
    if not isinstance(policy, str | Policy | None):
        raise SettingError(f"policy must be a name, or a table of its parts; found {type(policy).__name__}")
    return policy


def _read_dataset(dataset: str | dict[str, Any] | None) -> Dataset | None:
    """Return the dataset that is given by its name or as a dict of parts of `custext_sql.Dataset`."""
    if dataset is None:
        return None
    if not isinstance(dataset, (str, dict)):
        raise SettingError(f"dataset must be a name, or a table of name and options; found {type(dataset).__name__}")
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
        if not isinstance(parts.get(key, False), bool):
            raise SettingError(f"dataset: {key} must be true or false; found {type(parts[key]).__name__}")
    try:
        return Dataset(**parts)
    except SettingError as error:
        raise SettingError(f"dataset: {error}") from None


def _check_parts(key: str, given: Iterable[str], parts: Sequence[str]) -> None:
    for name in given:
        if name not in parts:
            raise SettingError(f"{key} has no part {name!r}; {suggest(str(name), parts, 'parts')}")
