"""Resolves the settings of a run: given, else the key's, else the default. Every interface uses this module."""

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from custext_sql.mapping.mapping import Mapping
from custext_sql.mechanism.weights import check_calibration, check_epsilon
from custext_sql.parameters import check_type
from custext_sql.sanitizer.policy import DEFAULT_POLICY, POLICIES, Policy, choose_policy
from custext_sql.store.database import Database, reading
from custext_sql.store.key_files import KeyFile, KeySettings, digest_stopwords, read_key_file, write_key_file
from custext_sql.store.mappings import find_mapping
from custext_sql.store.stopwords import SHIPPED_LANGUAGE, read_stopwords

_OF_KEYS = ("mapping", "eps", "plus", "calibration", "language")


@dataclass(frozen=True)
class Settings:
    """The settings of a run. SettingError if one is invalid.

    mapping: a name, or None for the database's default mapping. It need not exist until it is loaded.
    eps: the privacy budget per word: 0, or 0.001 to 100.
    plus: keep stopwords (CusText+).
    policy: what happens to unknown words, numbers, case and invisible characters: a Policy, or the name of one.
    calibration: how eps scales the scores: "paper" (eps/2), or "tight" (the largest that satisfies the guarantee).
    language: of the stopwords.
    key: a key that draws come from; None for fresh draws from the operating system's secure source.
    """

    mapping: str | None = None
    eps: float = 1.0
    plus: bool = False
    policy: Policy = POLICIES[DEFAULT_POLICY]
    calibration: str = "paper"
    language: str = SHIPPED_LANGUAGE
    key: KeyFile | None = None

    def __post_init__(self) -> None:
        if self.key is not None:
            check_type(self.key, KeyFile, "key must be a KeyFile", "to use a key file: Settings.settle(key=PATH)")
        check_type(self.plus, (bool, np.bool_), "plus must be a bool")
        checked = {
            "eps": check_epsilon(self.eps),
            "plus": bool(self.plus),
            "policy": choose_policy(self.policy),
            "calibration": check_calibration(self.calibration),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def settle(
        cls, *, key: KeyFile | str | os.PathLike[str] | None = None, policy: str | Policy | None = None, **given: Any
    ) -> "Settings":
        """Return settings: each argument if it is given and not None, else the key's value, else the default.

        key: a key, or the path of its file. given: the other fields. KeyFileError if the file cannot be used, or an
        argument differs from what the key was made for; the mapping is compared by its fingerprint, when it is loaded.
        SettingError if an argument is invalid.
        """
        key = key if key is None or isinstance(key, KeyFile) else read_key_file(key)
        if key is None:
            return cls(**{name: value for name, value in (given | {"policy": policy}).items() if value is not None})
        usual = {name: getattr(key.settings, name) for name in _OF_KEYS}
        chosen = {name: value for name, value in given.items() if value is not None}
        settled = cls(**(usual | chosen), policy=key.choose_policy(policy), key=key)
        for name in ("language", "calibration", "eps", "plus"):
            key.check_setting(name, getattr(settled, name))
        return settled

    def check_key(self, mapping: Mapping, stopwords: frozenset[str]) -> None:
        """Raise KeyFileError if the key was made for another mapping, other stopwords or other settings."""
        if self.key is not None:
            self.key.check_setting("fingerprint", mapping.info.fingerprint)
            self.key.check_setting("policy", self.policy)
            self.key.check_setting("calibration", self.calibration)
            self.key.check_setting("stopwords", digest_stopwords(stopwords))

    def with_key(self, key: KeyFile) -> "Settings":
        """Return these settings with a key, and with the eps, plus and policy that it was made for."""
        made_for = key.settings
        return replace(self, eps=made_for.eps, plus=made_for.plus, policy=made_for.policy, key=key)

    def without_key(self) -> "Settings":
        """Return these settings with fresh draws."""
        return self if self.key is None else replace(self, key=None)


def make_key(
    path: str | os.PathLike[str],
    database: Database = None,
    *,
    mapping: str | None = None,
    eps: float | None = None,
    plus: bool | None = None,
    policy: str | Policy | None = None,
    calibration: str | None = None,
    language: str | None = None,
) -> KeyFile:
    """Create a key file, and return the key.

    The key works only with the mapping (by default the database's default one) and the settings given here, which have
    the defaults of `Sanitizer.load`. Only the owner can read the file. Keep it secret: anyone who has it can check
    guesses about a text, and so find words of texts that are short or known in part.

    KeyFileError if the path already exists or cannot be written; MappingError if the mapping does not exist;
    SettingError if a setting is invalid; DatabaseError if the database cannot be read.
    """
    settled = Settings.settle(
        mapping=mapping, eps=eps, plus=plus, policy=policy, calibration=calibration, language=language
    )
    with reading(database) as connection:
        info = find_mapping(connection, settled.mapping)
        stopwords = read_stopwords(connection, settled.language)
    same = {name: getattr(settled, name) for name in ("eps", "plus", "policy", "calibration", "language")}
    stopwords_digest = digest_stopwords(stopwords)
    made_for = KeySettings(mapping=info.name, fingerprint=info.fingerprint, stopwords=stopwords_digest, **same)
    write_key_file(path, made_for)
    return read_key_file(path)
