"""Key files: a secret of 256 bits, and the settings that it is for."""

import json
import os
import secrets
import shlex
import stat
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

from custext_sql.database import Database, reading
from custext_sql.errors import KeyFileError, SettingError
from custext_sql.keyed_randomness import SecretKey
from custext_sql.mapping_store import find_mapping
from custext_sql.mechanism import check_calibration, check_epsilon
from custext_sql.policy import DEFAULT_POLICY, Policy, choose_policy
from custext_sql.row_settings import RowSettings
from custext_sql.stopwords import SHIPPED_LANGUAGE, read_stopwords

_FORMAT = 1
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

    @property
    def of_rows(self) -> RowSettings:
        return RowSettings(self.eps, self.plus)


_SETTINGS = tuple(field.name for field in fields(KeySettings))


@dataclass(frozen=True)
class KeyFile:
    """A key that was read. It travels between processes by its path alone."""

    path: Path
    settings: KeySettings
    key: SecretKey = field(repr=False)

    def __reduce__(self) -> tuple[Any, tuple[Path, str, KeySettings]]:
        return _read_again, (self.path, self.key.name, self.settings)

    def check_setting(self, name: str, value: object) -> None:
        """Refuse a setting other than the one that the key was made for."""
        expected = getattr(self.settings, name)
        if value != expected:
            raise KeyFileError(
                f"{self.path}: this key was made for {name} = {_shown(expected)}; found {_shown(value)}; "
                "other settings need another key: custext keygen"
            )


def make_key(
    path: str | os.PathLike[str],
    database: Database = None,
    *,
    mapping: str | None = None,
    eps: float = 1.0,
    plus: bool = False,
    policy: str | Policy | None = None,
    calibration: str | None = None,
    language: str = SHIPPED_LANGUAGE,
) -> KeyFile:
    """Make a key for a stored mapping (default: the database's default one) and these settings, in a new file."""
    with reading(database) as connection:
        info = find_mapping(connection, mapping)
        stopwords = read_stopwords(connection, language)
    settings = KeySettings(
        mapping=info.name,
        fingerprint=info.fingerprint,
        eps=check_epsilon(eps),
        plus=bool(plus),
        policy=choose_policy(policy or DEFAULT_POLICY),
        calibration=check_calibration(calibration or "paper"),
        language=language,
        stopwords=digest_stopwords(stopwords),
    )
    write_key_file(path, settings)
    return read_key_file(path)


def write_key_file(path: str | os.PathLike[str], settings: KeySettings) -> None:
    """Make a key and write it with its settings, readable by the owner alone; never over an existing file."""
    secret = secrets.token_bytes(_BYTES)
    content = {"custext_key": _FORMAT, "key": secret.hex(), **asdict(settings), "check": _check(secret, settings)}
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
    """The key in that file, if nobody but its owner can read it and it is whole."""
    path = Path(path).absolute()
    content = _read(path)
    try:
        if content["custext_key"] != _FORMAT:
            raise KeyFileError(f"{path}: expected a key of format {_FORMAT}; found another: upgrade custext-sql")
        secret = bytes.fromhex(content["key"])
        found = {name: content[name] for name in _SETTINGS}
        settings = KeySettings(**{**found, "policy": Policy(**found["policy"]), "eps": check_epsilon(found["eps"])})
        check_calibration(settings.calibration)
    except (KeyError, TypeError, ValueError, SettingError):  # whose messages would quote the file
        raise KeyFileError(f"{path} is not a key file; make one with: custext keygen PATH") from None
    if len(secret) != _BYTES:
        raise KeyFileError(f"{path}: expected a key of {8 * _BYTES} bits; found {8 * len(secret)}")
    if content.get("check") != _check(secret, settings):
        raise KeyFileError(
            f"{path} was changed after it was made; its settings are part of the key: make another with custext keygen"
        )
    return KeyFile(path, settings, SecretKey(secret))


def digest_stopwords(stopwords: Iterable[str]) -> str:
    """A short digest of a list of stopwords, whatever its order."""
    return blake2b("\n".join(sorted(stopwords)).encode(), digest_size=16).hexdigest()


def _read_again(path: Path, name: str, settings: KeySettings) -> KeyFile:
    """The key of that name, in another process."""
    found = read_key_file(path)
    if (found.key.name, found.settings) != (name, settings):
        raise KeyFileError(f"{path} holds another key than before; expected key {name}")
    return found


def _read(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise KeyFileError(
                    f"{path} can be read or changed by others (mode {stat.S_IMODE(mode):04o}); "
                    f"run: chmod 600 {shlex.quote(str(path))}"
                )
            return json.loads(file.read(1 << 20))
    except OSError as error:
        raise KeyFileError(f"cannot read the key file {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise KeyFileError(f"{path} is not a key file; make one with: custext keygen PATH") from None


def _check(secret: bytes, settings: KeySettings) -> str:
    described = json.dumps(asdict(settings), sort_keys=True).encode()
    return blake2b(described, key=secret, digest_size=16, person=b"custext check").hexdigest()


def _shown(value: object) -> str:
    if isinstance(value, Policy):
        return f"{value.unknown}, {value.numbers}, {value.case}"
    return f"{value:g}" if isinstance(value, float) else str(value)
