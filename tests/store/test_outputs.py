"""Outputs appear whole or not at all; until then, they are in private folders that nobody else can guess or enter."""

import errno
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from custext_sql.errors import OutputError
from custext_sql.store import outputs
from custext_sql.store.outputs import atomic_output, private_folder, publish_text
from tests.processes import find_files, size_of, start, wait_for

LONG_AGO = 11 * 60.0

# Writes a draft of the given file, reports it, and waits.
DRAFTING = """
import sys, time
from pathlib import Path
from custext_sql.store.outputs import atomic_output
with atomic_output(Path(sys.argv[1]), force=True) as draft:
    draft.path.write_text("clear text")
    print(draft.path.parent.name, flush=True)
    time.sleep(600)
"""


def age(path: Path, seconds: float = LONG_AGO) -> None:
    """Make a file or folder look untouched for that many seconds."""
    touched = path.stat().st_mtime - seconds
    os.utime(path, (touched, touched))


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_folder_is_its_owners_alone_and_goes_in_the_end(tmp_path: Path) -> None:
    with private_folder(tmp_path, "out.csv") as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder.parent == tmp_path
        (folder / "inner").mkdir()
        (folder / "inner" / "text").write_text("clear")
        with private_folder(tmp_path, "out.csv") as other:
            assert other != folder
    assert names_in(tmp_path) == set()


def test_a_planted_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link or file with a guessed name stops the run, and nothing is written through it."""
    (tmp_path / "victim").mkdir()
    monkeypatch.setattr("secrets.token_hex", lambda count: "ab" * count)
    name = f".out.csv.{'ab' * 8}.draft"
    (tmp_path / name).symlink_to(tmp_path / "victim")
    with (
        pytest.raises(OutputError, match="cannot write in .*: a file or folder of that name already exists"),
        private_folder(tmp_path, "out.csv"),
    ):
        pass
    assert names_in(tmp_path / "victim") == set()
    assert names_in(tmp_path) == {"victim", name}


def test_a_link_in_place_of_the_output_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim.txt").write_text("precious")
    (tmp_path / "out.txt").symlink_to(tmp_path / "victim.txt")
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nowhere")
    for name in ("out.txt", "dangling.txt"):
        with pytest.raises(OutputError, match="already exists"):
            publish_text(tmp_path / name, "new", force=False)
        publish_text(tmp_path / name, "new", force=True)
        assert not (tmp_path / name).is_symlink() and (tmp_path / name).read_text() == "new"
    assert (tmp_path / "victim.txt").read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


def test_devices_and_pipes_are_no_places_for_an_output(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(OutputError, match="not a regular file"):
        publish_text(tmp_path / "pipe.csv", "new", force=True)
    assert stat.S_ISFIFO((tmp_path / "pipe.csv").stat().st_mode)


def test_what_nobody_has_touched_for_long_is_removed_and_nothing_else(tmp_path: Path) -> None:
    mark = "0123456789abcdef"
    ours = [f".a.csv.{mark}.draft", f".b.csv.{mark}.draft", f".young.csv.{mark}.draft"]
    theirs = ["folder.draft", f".{mark}.draft", ".thesis.1.draft", f".open.{mark}.draft"]
    for name in (*ours, *theirs):
        (tmp_path / name).mkdir(mode=0o755 if "open" in name else 0o700)
        (tmp_path / name / "text").write_text("clear")
    (tmp_path / f".file.{mark}.draft").write_text("somebody else's")
    (tmp_path / "precious").mkdir()
    (tmp_path / f".link.{mark}.draft").symlink_to(tmp_path / "precious")
    before = names_in(tmp_path)
    for name in before - {ours[-1], f".link.{mark}.draft"}:
        age(tmp_path / name)
    with atomic_output(tmp_path / "out.csv", force=False):
        pass
    assert before - names_in(tmp_path) == set(ours[:2])


def test_a_folder_that_was_exchanged_is_not_published_from(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    with (
        pytest.raises(OutputError, match="was replaced by someone else"),
        atomic_output(tmp_path / "out.csv", force=False) as draft,
    ):
        folder = draft.path.parent
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path / "victim")
        draft.path.write_text("planted")
        draft.publish()
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_of_multiprocessing_leaves_no_folder(mapped_db: Path, tmp_path: Path, method: str) -> None:
    script = """
        import multiprocessing, sys
        from custext_sql import connect
        kept = []

        def work(path):
            kept.append(connect(path))
            kept[0].execute("SELECT 1")

        if __name__ == "__main__":
            process = multiprocessing.get_context(sys.argv[2]).Process(target=work, args=(sys.argv[1],))
            process.start()
            process.join()
            sys.exit(process.exitcode)
    """
    (tmp_path / "work.py").write_text(textwrap.dedent(script))
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, str(tmp_path / "work.py"), str(mapped_db), method]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {name for name in names_in(tmp_path / "tmp") if name.endswith(".draft")} == set()


def test_an_abandoned_folder_goes_wherever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of a group, it has inherited the set-group-ID bit. Without locks, only its age shows it."""
    for number in (errno.ENOTSUP, errno.ENOLCK, None):
        parent = tmp_path / str(number)
        parent.mkdir()
        parent.chmod(0o2775)
        killed = parent / f".out.csv.{'ab' * 8}.draft"
        killed.mkdir(mode=0o700)
        assert stat.S_IMODE(killed.stat().st_mode) == 0o2700
        age(killed)

        def fail(descriptor: int, operation: int, number: int | None = number) -> None:
            if number is not None:
                raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", fail)
        with private_folder(parent, "out.csv"):
            assert killed.exists() == (number is not None)
        age(killed, 25 * 3600.0) if number is not None else None
        with private_folder(parent, "out.csv"):
            assert not killed.exists()


def test_a_folder_of_a_stopped_process_is_not_abandoned(tmp_path: Path) -> None:
    """A stopped process touches nothing, and neither does one that wakes up with its machine."""
    target = tmp_path / "out.csv"
    command = [sys.executable, "-c", DRAFTING, str(target)]
    with start(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        name = other.stdout.readline().strip()
        os.kill(other.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, other.pid, os.WSTOPPED | os.WNOWAIT)
        age(tmp_path / name)
        publish_text(target, "ours", force=True)
        assert (tmp_path / name / "out.csv").read_text() == "clear text"
        other.kill()
        other.wait()
    publish_text(target, "ours", force=True)
    assert names_in(tmp_path) == {"out.csv"}


def test_a_fork_has_folders_of_its_own_and_leaves_those_of_its_parent(tmp_path: Path) -> None:
    script = """
        import os, sys
        from pathlib import Path
        from custext_sql.store import outputs
        parent = Path(sys.argv[1])
        with outputs.private_folder(parent, "a") as folder:
            child = os.fork()
            if not child:
                os.utime(folder, (0, 0))
                with outputs.private_folder(parent, "b") as own:
                    assert own.exists() and set(outputs._live) == {own}
                outputs.remove_private_folders()
                os._exit(0 if folder.exists() else 1)
            assert os.waitpid(child, 0)[1] == 0
            assert folder.exists()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert names_in(tmp_path) == set()


@pytest.mark.parametrize("force", [True, False])
def test_two_runs_write_the_same_output_and_neither_breaks_the_other(tmp_path: Path, force: bool) -> None:
    target = tmp_path / "out.csv"
    with atomic_output(target, force=force) as one, atomic_output(target, force=force, private=True) as two:
        one.path.write_text("one")
        two.path.write_text("two")
        one.publish()
        assert target.read_text() == "one" and stat.S_IMODE(target.stat().st_mode) & 0o044
        if force:
            two.publish()
        else:
            with pytest.raises(OutputError, match="another process created .* in the meantime"):
                two.publish()
    assert target.read_text() == ("two" if force else "one")
    assert not force or stat.S_IMODE(target.stat().st_mode) == 0o600
    assert names_in(tmp_path) == {"out.csv"}


SPILLING = """
SELECT custext_sanitize(t, 1, true) AS t
FROM (SELECT repeat('SECRETMARKER ', 20) || i AS t FROM range(3000000) r(i) ORDER BY md5(t))
"""


@pytest.mark.slow
@pytest.mark.parametrize("output", [False, True])
def test_what_is_spilled_is_private_and_does_not_outlive_a_killed_run_for_long(
    mapped_db: Path, tmp_path: Path, output: bool
) -> None:
    work, temporary = tmp_path / "work", tmp_path / "tmp"
    work.mkdir()
    temporary.mkdir()
    little = (
        "import sys; from custext_sql.sql import nested_query; from custext_sql.cli import main; "
        "nested_query._CONFIG.update(memory_limit='40MB', threads=1); main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", little, "--db", str(mapped_db), "sql"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    place = work if output else temporary
    options = ["--output", "out.parquet"] if output else ["--json"]
    with start([*command, SPILLING, *options], cwd=work, env=environment, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: any(size_of(path) > 1 << 20 for path in find_files(place, "*.tmp")))
        [folder] = place.glob(".*.draft")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert not (work / ".tmp").exists()
    assert list(folder.rglob("*.tmp"))
    age(folder)
    query = "SELECT custext_sanitize('alice', 1, true) AS t"
    done = subprocess.run(
        [*command, query, *options], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert names_in(temporary) == set()
    assert names_in(work) == ({"out.parquet"} if output else set())


def test_a_folder_that_is_written_to_while_it_is_deleted_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may add a file between deleting the files of a folder and the folder itself."""
    with private_folder(tmp_path, "a") as folder:
        (folder / "text").write_text("clear text")
        # as if a new file had kept the folder, the first time
        monkeypatch.setattr(shutil, "rmtree", lambda folder, ignore_errors: monkeypatch.undo())
    assert not folder.exists()


def test_an_interrupt_right_after_mkdir_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(path: Path, mode: int) -> None:
        os.mkdir(path, mode)  # noqa: PTH102
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "mkdir", interrupt)
    with pytest.raises(KeyboardInterrupt), private_folder(tmp_path, "out"):
        pass
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
