"""Sanitizers on a small mapping: at eps = 0, and with a key."""

from pathlib import Path

import pytest

from custext_sql import Sanitizer, make_key


@pytest.fixture(scope="module")
def key(mapped_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "key"
    make_key(path, mapped_template, eps=2.0, plus=True)
    return path


@pytest.fixture(scope="module")
def sanitizer(mapped_template: Path) -> Sanitizer:
    return Sanitizer.load(mapped_template, eps=0, plus=True)


@pytest.fixture(scope="module")
def keyed(mapped_template: Path, key: Path) -> Sanitizer:
    return Sanitizer.load(mapped_template, key_file=key)
