"""Reads and writes key files: a secret of 256 bits, and the settings that it was made for.

A key must give the same output forever, so it keeps the behavior of the format of its file. To add a setting, or to
change what is drawn under one, add a format below and leave the earlier ones unchanged. tests/keys has keys of every
format, with texts and their outputs.
"""

import json
import os
import secrets
import shlex
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from custext_sql.errors import KeyFileError, SettingError
from custext_sql.mechanism.keyed_randomness import SecretKey
from custext_sql.mechanism.weights import check_calibration, check_epsilon
from custext_sql.parameters import check_path
from custext_sql.replacing.policy import DEFAULT_POLICY, POLICIES, Policy, choose_policy

_BYTES = 32
_MAKE, _ANOTHER = "make one with: custext keygen PATH", "make another one with: custext keygen PATH"


@dataclass(frozen=True)
class KeySettings:
    """The settings that a key was made for; other settings need another key.

    mapping, fingerprint: the name of the mapping, and the SHA-256 of its words, groups and scores.
    eps: the privacy budget per word. plus: whether stopwords are kept. policy: what happens to units, unknown words,
    numbers, listed words, case and invisible characters. calibration: how eps sets the temperature. language: of the
    stopwords.
    stopwords: a digest of the list of stopwords, since another list would change what is drawn.
    """

    mapping: str
    fingerprint: str
    eps: float
    plus: bool
    policy: Policy
    calibration: str
    language: str
    stopwords: str


@dataclass(frozen=True)
class KeyFormat:
    """What a key file of this format contains, and how a key of this format behaves."""

    settings: tuple[str, ...]  # fields of KeySettings, in the order of the file
    policy: tuple[str, ...]  # fields of Policy
    rules: int  # the version of the rules for what a word is
    column_escapes: Mapping[str, str]  # how names of columns are written in records
    checks_number: bool = True  # whether the checksum covers the number of the format
    masks_listed: bool = True  # whether a word is masked that is the only listed one of its group
    unsaid_settings: Mapping[str, Any] = field(default_factory=dict)  # values of fields that the format does not have
    unsaid_policy: Mapping[str, Any] = field(default_factory=dict)

    def describe(self, settings: KeySettings) -> dict[str, Any]:
        """Return the settings as they are stored in files of this format."""
        described = {name: getattr(settings, name) for name in self.settings}
        parts = settings.policy.to_dict()
        return described | {"policy": {part: parts[part] for part in self.policy}}

    def agree(self, one: Policy, other: Policy) -> bool:
        """Return whether two policies are equal in all fields of this format."""
        return all(getattr(one, part) == getattr(other, part) for part in self.policy)


_SETTINGS_1 = ("mapping", "fingerprint", "eps", "plus", "policy", "calibration", "language", "stopwords")
_POLICY_1 = ("unknown", "numbers", "case")
KEY_FORMATS = {
    1: KeyFormat(
        settings=_SETTINGS_1,
        policy=_POLICY_1,
        rules=1,
        column_escapes={},
        checks_number=False,
        masks_listed=False,
        unsaid_policy={"invisible": "keep", "units": "keep", "keep_words": ()},
    ),
    2: KeyFormat(
        settings=_SETTINGS_1,
        policy=(*_POLICY_1, "invisible"),
        rules=2,
        column_escapes={"%": "%25", ":": "%3A"},
        masks_listed=False,
        unsaid_policy={"units": "keep", "keep_words": ()},
    ),
    3: KeyFormat(
        settings=_SETTINGS_1,
        policy=(*_POLICY_1, "invisible", "units", "keep_words"),
        rules=2,
        column_escapes={"%": "%25", ":": "%3A"},
    ),
}
NEWEST_FORMAT = max(KEY_FORMATS)


@dataclass(frozen=True)
class KeyFile:
    """A key, read from its file. `make_key` creates key files.

    Keep the file secret: anyone who has it can identify many released words, and narrow down the rest. A pickled key
    contains only the path of the file, from which the other process reads it again.

    path: the file. settings: the settings that the key was made for. key: the secret. format: the format of the file,
    which decides how words are found and how records are written.
    """

    path: Path
    settings: KeySettings
    key: SecretKey = field(repr=False)
    format: int = NEWEST_FORMAT

    def __reduce__(self) -> tuple[Any, tuple[Path, str, KeySettings, int]]:
        return _read_again, (self.path, self.key.name, self.settings, self.format)

    @property
    def rules(self) -> int:
        """The version of the rules for what a word is that this key uses."""
        return KEY_FORMATS[self.format].rules

    @property
    def masks_listed(self) -> bool:
        """Whether this key masks a word that is the only listed one of its group, if a list says what is replaced."""
        return KEY_FORMATS[self.format].masks_listed

    def name_records(self, column: str, ids: Iterable[object]) -> list[str]:
        """Return the records of the texts of a column, given the IDs of their rows: COLUMN:ID.

        In the name of the column, a colon becomes %3A and a percent sign %25. Otherwise column `a` with ID `b:c` and
        column `a:b` with ID `c` would have the same record. Format 1 does not escape.
        """
        escapes = KEY_FORMATS[self.format].column_escapes
        escaped = "".join(escapes.get(character, character) for character in column)
        return [f"{escaped}:{identifier}" for identifier in ids]

    def choose_policy(self, policy: str | Policy | None) -> Policy:
        """Return the policy of the key; KeyFileError if another one is requested.

        A policy that is requested by name matches if it is equal in all fields of the key's format.
        """
        if policy is None:
            return self.settings.policy
        chosen = choose_policy(policy)
        if isinstance(policy, str) and KEY_FORMATS[self.format].agree(chosen, self.settings.policy):
            return self.settings.policy
        self.check_setting("policy", chosen)
        return chosen

    @property
    def newest_policy(self) -> Policy:
        """The policy for draws without the key: a policy that has a name is what that name means today.

        Any other policy is strict in the parts that the format does not have.
        """
        format = KEY_FORMATS[self.format]
        alike = [policy for policy in POLICIES.values() if format.agree(policy, self.settings.policy)]
        if alike and format.unsaid_policy:
            return alike[0]
        strict = POLICIES[DEFAULT_POLICY]
        return replace(self.settings.policy, **{part: getattr(strict, part) for part in format.unsaid_policy})

    def check_setting(self, name: str, value: object) -> None:
        """Raise KeyFileError if a setting differs from the one that the key was made for."""
        expected = getattr(self.settings, name)
        if value != expected:
            raise KeyFileError(
                f"{self.path}: this key is for {name} = {_shown(expected)}, not {_shown(value)}; for other "
                "settings, make another key with: custext keygen PATH"
            )


def write_key_file(path: str | os.PathLike[str], settings: KeySettings) -> None:
    """Make a key and write it with its settings to a new file that only its owner can read.

    KeyFileError if the file exists or cannot be written.
    """
    check_path(path, "the key file")
    secret = secrets.token_bytes(_BYTES)
    described = KEY_FORMATS[NEWEST_FORMAT].describe(settings)
    check = _check(secret, settings, NEWEST_FORMAT)
    content = {"custext_key": NEWEST_FORMAT, "key": secret.hex(), **described, "check": check}
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise KeyFileError(f"{path} already exists, and key files are never overwritten; name another file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "invalid file name"
        raise KeyFileError(f"cannot write the key file {str(path)!r}: {reason}") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        Path(path).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise KeyFileError(f"cannot write the key file {path}: {error.strerror}") from None
        raise


def read_key_file(path: str | os.PathLike[str]) -> KeyFile:
    """Return the key in a file.

    KeyFileError if the file cannot be read, is not a key file, was changed, or can be read by other users.
    """
    check_path(path, "the key file")
    path = Path(path).absolute()
    content = _read(path)
    try:
        number = _find_format(path, content["custext_key"])
        secret = bytes.fromhex(content["key"])
        settings = _read_settings(content, KEY_FORMATS[number])
        if content.keys() - {"custext_key", "key", "check", *KEY_FORMATS[number].settings}:
            raise KeyFileError(f"{path} has fields that format {number} does not have; {_ANOTHER}")
    except (AttributeError, KeyError, TypeError, ValueError, SettingError):  # their messages would quote the file
        raise KeyFileError(f"{path} is not a key file; {_MAKE}") from None
    if len(secret) != _BYTES:
        raise KeyFileError(f"{path}: expected a key of {8 * _BYTES} bits; found {8 * len(secret)}")
    if content.get("check") != _check(secret, settings, number):
        raise KeyFileError(f"{path} was changed after it was made, and its settings are part of the key; {_ANOTHER}")
    return KeyFile(path, settings, SecretKey(secret), number)


def digest_stopwords(stopwords: Iterable[str]) -> str:
    """Return a digest of a list of stopwords that does not depend on their order."""
    return blake2b("\n".join(sorted(stopwords)).encode(), digest_size=16).hexdigest()


def _find_format(path: Path, number: object) -> int:
    if type(number) is not int or number < 1:  # in Python, true equals 1
        raise ValueError(number)
    if number > NEWEST_FORMAT:
        raise KeyFileError(
            f"{path} is a key of format {number}; this version supports up to {NEWEST_FORMAT}; upgrade custext-sql"
        )
    return number


def _read_settings(content: dict[str, Any], format: KeyFormat) -> KeySettings:
    found = {name: content[name] for name in format.settings}
    parts = found["policy"]
    if parts.keys() != set(format.policy):
        raise ValueError(parts)
    found |= {"policy": Policy(**parts, **format.unsaid_policy), "eps": check_epsilon(found["eps"])}
    settings = KeySettings(**found, **format.unsaid_settings)
    check_calibration(settings.calibration)
    return settings


def _read_again(path: Path, name: str, settings: KeySettings, number: int) -> KeyFile:
    """Return the key of a pickled KeyFile; KeyFileError if its file changed."""
    found = read_key_file(path)
    if (found.key.name, found.settings, found.format) != (name, settings, number):
        raise KeyFileError(f"{path} now has another key; expected key {name}")
    return found


def _read(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = json.loads(file.read(1 << 24))
            if not isinstance(content, dict) or "custext_key" not in content:
                raise ValueError
            if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise KeyFileError(
                    f"{path} can be read or changed by other users (mode {stat.S_IMODE(mode):04o}); "
                    f"run: chmod 600 {shlex.quote(str(path))}"
                )
            return content
    except OSError as error:
        raise KeyFileError(f"cannot read the key file {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise KeyFileError(f"{path} is not a key file; {_MAKE}") from None


def _check(secret: bytes, settings: KeySettings, number: int) -> str:
    described = KEY_FORMATS[number].describe(settings)
    if KEY_FORMATS[number].checks_number:
        described["custext_key"] = number
    content = json.dumps(described, sort_keys=True).encode()
    return blake2b(content, key=secret, digest_size=16, person=b"custext check").hexdigest()


def _shown(value: object) -> str:
    if isinstance(value, Policy):
        return value.describe().replace(" ", ", ").replace("=", " ")
    return f"{value:g}" if isinstance(value, float) else str(value)
