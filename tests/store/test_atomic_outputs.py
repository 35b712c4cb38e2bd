"""Outputs appear whole or not at all."""

from pathlib import Path

import pytest

from custext_sql.errors import OutputError
from custext_sql.store.files.atomic_outputs import atomic_output


def test_a_file_that_appeared_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with atomic_output(target, force=False) as output:
        output.path.write_text("ours")
        target.write_text("theirs")
        with pytest.raises(OutputError, match="another process created .* in the meantime"):
            output.publish()
    assert target.read_text() == "theirs"
    with atomic_output(target, force=True) as output:
        output.path.write_text("ours")
        output.publish()
    assert target.read_text() == "ours"
    assert list(tmp_path.iterdir()) == [target]


def test_what_was_not_published_goes(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with pytest.raises(KeyboardInterrupt), atomic_output(target, force=False) as output:
        output.path.write_text("half")
        (output.spill / "temporary").write_text("some")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
