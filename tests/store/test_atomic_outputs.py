"""Outputs appear whole or not at all."""

import shutil
from pathlib import Path

import pytest

from custext_sql.errors import OutputError
from custext_sql.store import outputs
from custext_sql.store.outputs import atomic_output


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


def test_a_folder_that_is_being_deleted_can_still_be_removed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second signal ends the process in the middle of the cleanup that the first one began."""
    left: list[bool] = []

    def be_cut_off(folder: Path, ignore_errors: bool) -> None:
        monkeypatch.undo()
        outputs.remove_private_folders()
        left.append(folder.exists())

    with outputs.private_folder(tmp_path, "out.csv") as folder:
        (folder / "text").write_text("clear")
        monkeypatch.setattr(shutil, "rmtree", be_cut_off)
    assert left == [False]
