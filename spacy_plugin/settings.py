"""What the component's config may say, beyond the types of its values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from custext_sql import Policy
from custext_sql.errors import KeyFileError, SettingError
from custext_sql.replacing.policy import DEFAULT_POLICY, choose_policy
from custext_sql.store.key_files import KeyFile
from spacy_plugin.choices import AllTokens, ByFunction, Choice


def check_one_of(key: str, value: object, choices: Sequence[str]) -> str:
    """Return a value that is one of some."""
    if value not in choices:
        raise SettingError(f"{key} must be one of {', '.join(choices)}; found {value!r}")
    return str(value)


def check_choice(sensitive: Any) -> Choice:
    """Return the choice that the config made: every token if it made none, and a function as a choice."""
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


def mask_unknown_words(policy: str | Policy | None) -> Policy:
    """Return the policy, but for unknown words and numbers that it would keep, which are masked."""
    given = choose_policy(policy or DEFAULT_POLICY)
    return replace(
        given,
        unknown="mask" if given.unknown == "keep" else given.unknown,
        numbers="mask" if given.numbers == "keep" else given.numbers,
    )


def check_key_masks(key: KeyFile) -> None:
    """Refuse a key that was made to keep unknown words or numbers: its policy is part of it."""
    if key.settings.policy != mask_unknown_words(key.settings.policy):
        raise KeyFileError(
            f"key_file: {key.path}: where `sensitive` selects what is replaced, unknown words and numbers are masked, "
            "but this key was made to keep them; make one with: custext keygen PATH --policy strict, or set "
            "mask_unknown to false if they may pass in clear"
        )
