"""Key files: a secret of 256 bits, and the settings that it is for.

A key file has a format. What a key gave once it gives for ever, so a key keeps the behaviour of its format: whoever
adds a setting, or changes what is drawn with one, adds a format below and leaves the earlier ones alone. tests/keys
holds keys of every format, with texts and what became of them.
"""

import json
import os
import secrets
import shlex
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from custext_sql.errors import KeyFileError, SettingError
from custext_sql.mechanism.keyed_randomness import SecretKey
from custext_sql.mechanism.weights import check_calibration, check_epsilon
from custext_sql.replacing.policy import POLICIES, Policy, choose_policy

_BYTES = 32


@dataclass(frozen=True)
class KeySettings:
    """What a key is for. With other settings the same records would be drawn anew, so another key is needed."""

    mapping: str
    fingerprint: str
    eps: float
    plus: bool
    policy: Policy
    calibration: str
    language: str  # of the stopwords that plus keeps
    stopwords: str  # a digest of the list, since another one would shift what is drawn


@dataclass(frozen=True)
class KeyFormat:
    """What a file of this format says of its settings, and how a key of this format behaves."""

    settings: tuple[str, ...]  # fields of KeySettings, in the order of the file
    policy: tuple[str, ...]  # fields of Policy
    rules: int  # by which words are found
    column_escapes: Mapping[str, str]  # how columns are written in records
    checks_number: bool = True  # whether the number of the format is part of what is checked
    unsaid_settings: Mapping[str, Any] = field(default_factory=dict)  # fields that the format does not have, and what
    unsaid_policy: Mapping[str, str] = field(default_factory=dict)  # its keys do in these respects

    def describe(self, settings: KeySettings) -> dict[str, Any]:
        """Return the settings as files of this format have them."""
        described = {name: getattr(settings, name) for name in self.settings}
        return described | {"policy": {part: getattr(settings.policy, part) for part in self.policy}}

    def agree(self, one: Policy, other: Policy) -> bool:
        """Tell whether two policies are the same in all that this format names."""
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
        unsaid_policy={"invisible": "keep"},
    ),
    2: KeyFormat(
        settings=_SETTINGS_1,
        policy=(*_POLICY_1, "invisible"),
        rules=2,
        column_escapes={"%": "%25", ":": "%3A"},
    ),
}
NEWEST_FORMAT = max(KEY_FORMATS)


@dataclass(frozen=True)
class KeyFile:
    """A key that was read. It travels between processes by its path alone."""

    path: Path
    settings: KeySettings
    key: SecretKey = field(repr=False)
    format: int = NEWEST_FORMAT

    def __reduce__(self) -> tuple[Any, tuple[Path, str, KeySettings, int]]:
        return _read_again, (self.path, self.key.name, self.settings, self.format)

    @property
    def rules(self) -> int:
        """By which rules words are found with this key."""
        return KEY_FORMATS[self.format].rules

    def name_records(self, column: str, ids: Iterable[object]) -> list[str]:
        """Return what the texts of a column are known by, given the ids of their rows: COLUMN:ID.

        A colon in the name of a column becomes %3A and a percent sign %25, so that no two columns share a record:
        without that, column `a` with id `b:c` would be column `a:b` with id `c`. Format 1 does without.
        """
        escapes = KEY_FORMATS[self.format].column_escapes
        escaped = "".join(escapes.get(character, character) for character in column)
        return [f"{escaped}:{identifier}" for identifier in ids]

    def choose_policy(self, policy: str | Policy | None) -> Policy:
        """Return the key's policy if it is the one asked for, or if none is.

        A policy that is asked for by its name is the key's if they are the same in all that the key's format names.
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
        """The policy for draws without the key: a policy that has a name is what that name means today."""
        format = KEY_FORMATS[self.format]
        alike = [policy for policy in POLICIES.values() if format.agree(policy, self.settings.policy)]
        return alike[0] if alike and format.unsaid_policy else self.settings.policy

    def check_setting(self, name: str, value: object) -> None:
        """Refuse a setting other than the one that the key was made for."""
        expected = getattr(self.settings, name)
        if value != expected:
            raise KeyFileError(
                f"{self.path}: this key was made for {name} = {_shown(expected)}; found {_shown(value)}; "
                "other settings need another key: custext keygen"
            )


def write_key_file(path: str | os.PathLike[str], settings: KeySettings) -> None:
    """Make a key and write it with its settings, readable by the owner alone; never over an existing file."""
    secret = secrets.token_bytes(_BYTES)
    described = KEY_FORMATS[NEWEST_FORMAT].describe(settings)
    check = _check(secret, settings, NEWEST_FORMAT)
    content = {"custext_key": NEWEST_FORMAT, "key": secret.hex(), **described, "check": check}
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise KeyFileError(f"{path} exists already; a key is never overwritten: name another file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "that is no name of a file"
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
    """Return the key in that file, if nobody but its owner can read it and it is whole."""
    path = Path(path).absolute()
    content = _read(path)
    try:
        number = _find_format(path, content["custext_key"])
        secret = bytes.fromhex(content["key"])
        settings = _read_settings(content, KEY_FORMATS[number])
        if content.keys() - {"custext_key", "key", "check", *KEY_FORMATS[number].settings}:
            raise KeyFileError(f"{path} says more than a key of format {number} does; make another with custext keygen")
    except (AttributeError, KeyError, TypeError, ValueError, SettingError):  # whose messages would quote the file
        raise KeyFileError(f"{path} is not a key file; make one with: custext keygen PATH") from None
    if len(secret) != _BYTES:
        raise KeyFileError(f"{path}: expected a key of {8 * _BYTES} bits; found {8 * len(secret)}")
    if content.get("check") != _check(secret, settings, number):
        raise KeyFileError(
            f"{path} was changed after it was made; its settings are part of the key: make another with custext keygen"
        )
    return KeyFile(path, settings, SecretKey(secret), number)


def digest_stopwords(stopwords: Iterable[str]) -> str:
    """A short digest of a list of stopwords, whatever its order."""
    return blake2b("\n".join(sorted(stopwords)).encode(), digest_size=16).hexdigest()


def _find_format(path: Path, number: object) -> int:
    if type(number) is not int or number < 1:  # true is 1 to Python
        raise ValueError(number)
    if number > NEWEST_FORMAT:
        raise KeyFileError(
            f"{path} is a key of format {number}; this version knows formats up to {NEWEST_FORMAT}: upgrade custext-sql"
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
    """The key of that name, in another process."""
    found = read_key_file(path)
    if (found.key.name, found.settings, found.format) != (name, settings, number):
        raise KeyFileError(f"{path} holds another key than before; expected key {name}")
    return found


def _read(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = json.loads(file.read(1 << 20))
            if not isinstance(content, dict) or "custext_key" not in content:
                raise ValueError
            if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise KeyFileError(
                    f"{path} can be read or changed by others (mode {stat.S_IMODE(mode):04o}); "
                    f"run: chmod 600 {shlex.quote(str(path))}"
                )
            return content
    except OSError as error:
        raise KeyFileError(f"cannot read the key file {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise KeyFileError(f"{path} is not a key file; make one with: custext keygen PATH") from None


def _check(secret: bytes, settings: KeySettings, number: int) -> str:
    described = KEY_FORMATS[number].describe(settings)
    if KEY_FORMATS[number].checks_number:
        described["custext_key"] = number
    content = json.dumps(described, sort_keys=True).encode()
    return blake2b(content, key=secret, digest_size=16, person=b"custext check").hexdigest()


def _shown(value: object) -> str:
    if isinstance(value, Policy):
        return ", ".join(f"{part} {choice}" for part, choice in asdict(value).items())
    return f"{value:g}" if isinstance(value, float) else str(value)
