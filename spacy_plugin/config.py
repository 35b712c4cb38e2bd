"""Checks of the component's config that go beyond the types of its values."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from spacy.language import Language

from custext_sql import (
    CusTextError,
    Dataset,
    KeyFile,
    KeyFileError,
    MappingError,
    Policy,
    Sanitizer,
    SettingError,
    Settings,
    suggest,
)
from spacy_plugin.sensitive_tokens import AllTokens, ByFunction, TokenChoice

# NLTK's stopword lists, by the codes of spaCy's languages
_NAMES = """
ar:arabic az:azerbaijani bn:bengali ca:catalan da:danish de:german el:greek en:english es:spanish eu:basque fi:finnish
fr:french he:hebrew hu:hungarian id:indonesian it:italian nb:norwegian ne:nepali nl:dutch nn:norwegian pt:portuguese
ro:romanian ru:russian sl:slovene sv:swedish tr:turkish zh:chinese
"""
_LANGUAGES = dict(re.findall(r"(\w+):(\w+)", _NAMES))


def check_choice(sensitive: Any) -> TokenChoice:
    """Return the choice that `sensitive` stands for: all tokens for None; a function is wrapped as a choice."""
    if sensitive is None:
        return AllTokens()
    if isinstance(sensitive, TokenChoice):
        return sensitive
    if callable(sensitive):
        return ByFunction.of(sensitive)
    found = 'a dict without "@misc"' if isinstance(sensitive, dict) else type(sensitive).__name__
    raise SettingError(
        'sensitive must name a registered choice, as in {"@misc": "custext.entities.v1", "labels": ["PERSON"]}; '
        f"found {found}"
    )


def check_eps(eps: float | None, choice: TokenChoice) -> float | None:
    """Return the eps that was given. Raise SettingError if it is invalid or no token would use it."""
    if eps is None:
        return None
    checked = Settings.settle(eps=eps).eps
    if checked not in choice.list_budgets(checked):
        raise SettingError(
            f'eps: no token would be drawn at eps {checked:g}, because "sensitive" gives each of its names its own '
            f'eps; remove "eps", or, to replace all other tokens too, set "others": {checked:g} in "sensitive"'
        )
    return checked


def find_language(language: str | None, nlp: Language | None, needs_stopwords: bool) -> str | None:
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


def check_language(language: str | None, sanitizer: Sanitizer) -> None:
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


def read_policy(policy: str | dict[str, Any] | Policy | None) -> str | Policy | None:
    """Return the policy that is given by its name or as a dict of its parts."""
    if not isinstance(policy, dict):
        if not isinstance(policy, str | Policy | None):
            raise SettingError(f"policy must be a name, or a table of its parts; found {type(policy).__name__}")
        return policy
    _check_parts("policy", policy, [part.name for part in fields(Policy)])
    return Policy(**policy)


def read_dataset(dataset: str | dict[str, Any] | None) -> Dataset | None:
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


def check_key_masks(key: KeyFile | None) -> None:
    """Raise KeyFileError if a key keeps unknown words or numbers, which the component has to mask."""
    if key is not None and key.settings.policy != key.settings.policy.mask_kept_words():
        raise KeyFileError(
            f"key_file: {key.path}: this component masks unknown words and numbers, but the key was made to keep them; "
            'make another key with: custext keygen PATH --policy strict, or set "mask_unknown": false to leave them in '
            "the clear"
        )


def _check_parts(key: str, given: Iterable[str], parts: Sequence[str]) -> None:
    for name in given:
        if name not in parts:
            raise SettingError(f"{key} has no part {name!r}; {suggest(str(name), parts, 'parts')}")
