"""Checks of the component's config that go beyond the types of its values."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, cast

from custext_sql import BudgetError, Dataset, KeyFile, KeyFileError, Policy, SettingError, Settings, suggest
from spacy_plugin.sensitive_tokens import AllTokens, ByFunction, TokenChoice, choose_eps

_POLICY_PARTS = tuple(part.name for part in fields(Policy))
_DATASET_PARTS = ("name", "second_mapping", "reuse_key")


def check_one_of(key: str, value: object, choices: Sequence[str]) -> str:
    """Return the value of a config key if it is one of the choices. Raise SettingError if not."""
    if value not in choices:
        raise SettingError(f"{key} must be one of {', '.join(choices)}; found {value!r}")
    return str(value)


def check_choice(sensitive: Any) -> TokenChoice:
    """Return the choice that `sensitive` stands for: all tokens for None; a function is wrapped as a choice."""
    if sensitive is None:
        return AllTokens()
    if hasattr(sensitive, "find_budgets"):
        return cast(TokenChoice, sensitive)
    if callable(sensitive):
        return ByFunction.of(sensitive)
    found = 'a dict without "@misc"' if isinstance(sensitive, dict) else type(sensitive).__name__
    raise SettingError(
        'sensitive must name a registered choice, as in {"@misc": "custext.entities.v1", "labels": ["PERSON"]}; '
        f"found {found}"
    )


def check_eps(eps: float | None, epsilon: float | None, choice: TokenChoice) -> float | None:
    """Return the eps that was given by either name. Raise SettingError if it is invalid or no token would use it."""
    key, given = choose_eps(eps, epsilon)
    if given is None:
        return None
    try:
        checked = Settings.settle(eps=given).eps
    except SettingError as error:
        raise SettingError(str(error) if key == "eps" else f"{key}: {error}") from None
    if checked not in choice.list_budgets(checked):
        raise SettingError(
            f'{key}: no token would be drawn at eps {checked:g}, because "sensitive" gives each of its names its own '
            f'eps; remove "{key}", or, to replace all other tokens too, set "others": {checked:g} in "sensitive"'
        )
    return checked


def check_plus(plus: bool | None, choice: TokenChoice) -> bool | None:
    """Return whether to keep stopwords: True if the choice keeps them, else what was given."""
    if not choice.keeps_stopwords:
        return plus
    if plus is False:
        raise SettingError('plus is false, but "sensitive" keeps stopwords; remove one of the two')
    return True


def check_mask_unknown(mask_unknown: bool | None, choice: TokenChoice) -> bool:
    """Return whether to mask unknown words: what was given, else whether the choice selects only some of the tokens.

    Raise SettingError if it is not a bool.
    """
    if mask_unknown is None:
        return not isinstance(choice, AllTokens)
    if not isinstance(mask_unknown, bool):
        raise SettingError(f"mask_unknown must be true or false; found {type(mask_unknown).__name__}")
    return mask_unknown


def read_policy(policy: str | dict[str, Any] | Policy | None) -> str | Policy | None:
    """Return the policy that is given by its name or as a dict of its parts."""
    if not isinstance(policy, dict):
        if not isinstance(policy, str | Policy | None):
            raise SettingError(f"policy must be a name, or a table of its parts; found {type(policy).__name__}")
        return policy
    _check_parts("policy", policy, _POLICY_PARTS)
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
    _check_parts("dataset", parts, _DATASET_PARTS)
    if parts.get("name") is None:
        raise SettingError('dataset must have a name, as in {"name": "reviews", "second_mapping": true}; found none')
    for key in ("second_mapping", "reuse_key"):
        if not isinstance(parts.get(key, False), bool):
            raise SettingError(f"dataset: {key} must be true or false; found {type(parts[key]).__name__}")
    try:
        return Dataset(**parts)
    except SettingError as error:
        raise SettingError(f"dataset: {error}") from None


@contextmanager
def naming_config_keys(dataset: Dataset | None) -> Iterator[None]:
    """Add to errors of the ledger, which name command-line options, what to write in the config instead."""
    try:
        yield
    except (BudgetError, KeyFileError) as error:
        if dataset is None:
            raise
        key = "reuse_key" if isinstance(error, KeyFileError) else "second_mapping"
        raise type(error)(
            f'dataset: {error}. In this config, allow it with "dataset": {{"name": "{dataset.name}", "{key}": true}}'
        ) from None


def check_key_masks(key: KeyFile) -> None:
    """Raise KeyFileError if the key keeps unknown words or numbers, which the component has to mask."""
    if key.settings.policy != key.settings.policy.mask_kept_words():
        raise KeyFileError(
            f"key_file: {key.path}: this component masks unknown words and numbers, but the key was made to keep them; "
            'make another key with: custext keygen PATH --policy strict, or set "mask_unknown": false to leave them in '
            "the clear"
        )


def _check_parts(key: str, given: Iterable[str], parts: Sequence[str]) -> None:
    for name in given:
        if name not in parts:
            raise SettingError(f"{key} has no part {name!r}; {suggest(str(name), parts, 'parts')}")
