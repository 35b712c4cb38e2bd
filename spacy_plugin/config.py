"""What the component's config may say, beyond the types of its values."""

from collections.abc import Sequence
from typing import Any, cast

from custext_sql import Dataset, KeyFile, KeyFileError, Policy, SettingError, Settings
from spacy_plugin.sensitive_tokens import AllTokens, ByFunction, TokenChoice, choose_eps


def check_one_of(key: str, value: object, choices: Sequence[str]) -> str:
    """Return a value that is one of some."""
    if value not in choices:
        raise SettingError(f"{key} must be one of {', '.join(choices)}; found {value!r}")
    return str(value)


def check_choice(sensitive: Any) -> TokenChoice:
    """Return the choice that the config made: every token if it made none, and a function as a choice."""
    if sensitive is None:
        return AllTokens()
    if hasattr(sensitive, "find_budgets"):
        return cast(TokenChoice, sensitive)
    if callable(sensitive):
        return ByFunction.of(sensitive)
    raise SettingError(
        'sensitive must be a registered choice, as in {"@misc": "custext.entities.v1", "labels": ["PERSON"]}; '
        f"found {type(sensitive).__name__}"
    )


def check_eps(eps: float | None, epsilon: float | None, choice: TokenChoice) -> float | None:
    """Return the eps that was given by either name, if it is one and a token may be drawn at it."""
    key, given = choose_eps(eps, epsilon)
    if given is None:
        return None
    try:
        checked = Settings.settle(eps=given).eps
    except SettingError as error:
        raise SettingError(str(error) if key == "eps" else f"{key}: {error}") from None
    if checked not in choice.list_budgets(checked):
        raise SettingError(
            f"{key}: no token would be drawn at {checked:g}, since `sensitive` has an eps for each name; leave it out, "
            "or give it as `others` of the choice"
        )
    return checked


def check_plus(plus: bool | None, choice: TokenChoice) -> bool | None:
    """Return whether stopwords stay, which a choice may have decided."""
    if not choice.keeps_stopwords:
        return plus
    if plus is False:
        raise SettingError("plus is false, but the choice `sensitive` keeps stopwords; leave one of them out")
    return True


def read_policy(policy: str | dict[str, str] | None) -> str | Policy | None:
    """Return a policy that is given by its name or its parts."""
    if not isinstance(policy, dict):
        return policy
    try:
        return Policy(**policy)
    except TypeError:
        raise SettingError(
            f"policy has the parts unknown, numbers, case and invisible; found {', '.join(policy)}"
        ) from None


def read_dataset(dataset: str | dict[str, Any] | None) -> str | Dataset | None:
    """Return the dataset that a config names, or describes by the parts of `custext_sql.Dataset`."""
    if not isinstance(dataset, dict):
        return dataset
    try:
        return Dataset(**dataset)
    except TypeError:
        raise SettingError("dataset has the parts name, second_mapping and reuse_key") from None
    except SettingError as error:
        raise SettingError(f"dataset: {error}") from None


def check_key_masks(key: KeyFile) -> None:
    """Refuse a key that was made to keep unknown words or numbers: its policy is part of it."""
    if key.settings.policy != key.settings.policy.mask_kept_words():
        raise KeyFileError(
            f"key_file: {key.path}: where `sensitive` selects what is replaced, unknown words and numbers are masked, "
            "but this key was made to keep them; make one with: custext keygen PATH --policy strict, or set "
            "mask_unknown to false if they may pass in clear"
        )
