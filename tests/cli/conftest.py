"""Fixtures for tests of commands."""

from pathlib import Path

import pytest


@pytest.fixture
def tiny_bert(tmp_path: Path) -> Path:
    """Return the folder of a tiny BERT, trained here."""
    from tests.tiny_bert import save_model, train_bert

    return save_model(tmp_path / "bert", *train_bert())
