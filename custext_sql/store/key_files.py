"""Reads and writes key files: a secret of 256 bits, and the settings that it was made for.

A key gives the same output forever. Whatever changes the output of a key, such as the rules for what a word is, needs
another FORMAT, so that keys of any other format are refused instead of drawing something else.
"""

import json
import os
import secrets
import shlex
import stat
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from custext_sql.errors import KeyFileError, SettingError, tell_system_error
from custext_sql.mechanism.randomness import SecretKey
from custext_sql.mechanism.weights import check_calibration, check_epsilon
from custext_sql.parameters import check_path
from custext_sql.sanitizer.policy import Policy, choose_policy

FORMAT = 5
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
class KeyFile:
    """A key, read from its file. `make_key` creates key files.

    Keep the file secret: anyone who has it can check guesses about a text, and so find words of texts that are short or
    known in part. A pickled key contains only the path of the file, from which the other process reads it again.

    path: the file. settings: the settings that the key was made for. key: the secret.
    """

    path: Path
    settings: KeySettings
    key: SecretKey = field(repr=False)

    def __reduce__(self) -> tuple[Any, tuple[Path, str, KeySettings]]:
        return _read_again, (self.path, self.key.name, self.settings)

    def name_records(self, column: str, ids: Iterable[object]) -> list[str]:
        """Return the records of the texts of a column, given the IDs of their rows: COLUMN:ID.

        In the name of the column, a colon becomes %3A and a percent sign %25. Otherwise column `a` with ID `b:c` and
        column `a:b` with ID `c` would have the same record.
        """
        escaped = column.replace("%", "%25").replace(":", "%3A")
        return [f"{escaped}:{identifier}" for identifier in ids]

    def choose_policy(self, policy: str | Policy | None) -> Policy:
        """Return the policy of the key; KeyFileError if another one is requested."""
        if policy is not None:
            self.check_setting("policy", choose_policy(policy))
        return self.settings.policy

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
    content = {**_describe(settings), "key": secret.hex(), "check": _check(secret, settings)}
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
            raise KeyFileError(f"cannot write the key file {path}: {tell_system_error(error)}") from None
        raise


def read_key_file(path: str | os.PathLike[str]) -> KeyFile:
    """Return the key in a file.

    KeyFileError if the file cannot be read, is not a key file, was changed, or can be read by other users.
    """
    check_path(path, "the key file")
    path = Path(path).absolute()
    content = _read(path)
    number = content["custext_key"]
    if type(number) is int and number != FORMAT:  # in Python, true equals 1
        raise KeyFileError(f"{path} is a key of format {number}; this version reads format {FORMAT}; {_ANOTHER}")
    try:
        if type(number) is not int:
            raise ValueError
        secret = bytes.fromhex(content["key"])
        settings = _read_settings(content)
        if content.keys() != {"key", "check", *_describe(settings)}:
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError, SettingError):  # their messages would quote the file
        raise KeyFileError(f"{path} is not a key file; {_MAKE}") from None
    if len(secret) != _BYTES:
        raise KeyFileError(f"{path}: expected a key of {8 * _BYTES} bits; found {8 * len(secret)}")
    if content["check"] != _check(secret, settings):
        raise KeyFileError(f"{path} was changed after it was made, and its settings are part of the key; {_ANOTHER}")
    return KeyFile(path, settings, SecretKey(secret))


def digest_stopwords(stopwords: Iterable[str]) -> str:
    """Return a digest of a list of stopwords that does not depend on their order."""
    return blake2b("\n".join(sorted(stopwords)).encode(), digest_size=16).hexdigest()


def _describe(settings: KeySettings) -> dict[str, Any]:
    """Return what a key file says besides the secret and the checksum."""
    return {"custext_key": FORMAT, **asdict(settings), "policy": settings.policy.to_dict()}


def _read_settings(content: dict[str, Any]) -> KeySettings:
    found = {name: content[name] for name in KeySettings.__dataclass_fields__}
    if found["policy"].keys() != Policy().to_dict().keys():
        raise ValueError
    found |= {"policy": Policy(**found["policy"]), "eps": check_epsilon(found["eps"])}
    settings = KeySettings(**found)
    check_calibration(settings.calibration)
    return settings


def _read_again(path: Path, name: str, settings: KeySettings) -> KeyFile:
    """Return the key of a pickled KeyFile; KeyFileError if its file changed."""
    found = read_key_file(path)
    if (found.key.name, found.settings) != (name, settings):
        raise KeyFileError(f"{path} now has another key; expected key {name}")
    return found


def _read(path: Path) -> Any:
    try:
        if path.exists() and not path.is_file():  # a pipe would keep the reader waiting
            raise ValueError
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            content = json.loads(file.read(1 << 24))
            if not isinstance(content, dict) or "custext_key" not in content:
                raise ValueError
            _check_access(path, status)
            return content
    except OSError as error:
        raise KeyFileError(f"cannot read the key file {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise KeyFileError(f"{path} is not a key file; {_MAKE}") from None


def _check_access(path: Path, status: os.stat_result) -> None:
    """Raise KeyFileError if a user other than this one and root owns a key file, or can read or change it."""
    if os.name != "posix":
        return
    if status.st_uid not in (os.geteuid(), 0):
        raise KeyFileError(
            f"{path} belongs to another user (ID {status.st_uid}), who can read and change it; {_ANOTHER}"
        )
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KeyFileError(
            f"{path} can be read or changed by other users (mode {stat.S_IMODE(status.st_mode):04o}); "
            f"run: chmod 600 {shlex.quote(str(path))}"
        )


def _check(secret: bytes, settings: KeySettings) -> str:
    content = json.dumps(_describe(settings), sort_keys=True).encode()
    return blake2b(content, key=secret, digest_size=16, person=b"custext check").hexdigest()


def _shown(value: object) -> str:
    if isinstance(value, Policy):
        return value.describe().replace(" ", ", ").replace("=", " ")
    return f"{value:g}" if isinstance(value, float) else str(value)
