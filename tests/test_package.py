"""What is installed, and what importing it loads."""

import ast
import importlib.metadata
import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

import custext_sql
from tests.documentation import copy_checkout
from tests.shared_builds import build_once

ROOT = Path(__file__).parents[1]


def test_public_names_are_all_there() -> None:
    for name in custext_sql.__all__:
        assert getattr(custext_sql, name).__name__ == name
    assert dir(custext_sql) == sorted([*custext_sql.__all__, "__version__", "experiments"])
    assert custext_sql.__version__ == importlib.metadata.version("custext-sql")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        custext_sql.nothing  # noqa: B018


def test_heavy_libraries_are_not_loaded_by_importing_the_package() -> None:
    script = "import sys, custext_sql; print({'numpy', 'duckdb', 'spacy', 'sqlalchemy', 'pyarrow'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"set()\n"


def test_the_distribution_claims_no_common_names() -> None:
    names = importlib.metadata.packages_distributions()
    mine = {name for name, owners in names.items() if "custext-sql" in owners}
    assert not mine & {"cli", "migrations", "tests"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from the checkout."""
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("not in a checkout")

    def build(path: Path) -> None:
        copy = path.with_name("copy")  # a build in place would pack what an earlier one left behind
        ignored = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "*.duckdb")
        shutil.copytree(ROOT, copy, ignore=ignored)
        command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(path.parent), str(copy)]
        subprocess.run(command, check=True, capture_output=True)
        next(path.parent.glob("*.whl")).rename(path)

    return zipfile.ZipFile(build_once(tmp_path_factory, "wheel.zip", build))


_MAKE = """
import sys
from pathlib import Path
import custext_sql, spacy
from custext_sql.store.migrating import upgrade
upgrade(Path("migrated.duckdb"))
custext_sql.load_embeddings("a.duckdb", "small.txt", name="small")
custext_sql.build_mapping("a.duckdb", embedding="small", k=4)
nlp = spacy.blank("en")
nlp.add_pipe("custext", config={"database": "a.duckdb", "eps": 1.0})
print(len(nlp("alice")._.custext.split()), Path(custext_sql.__file__).parent.parent)
"""


def run_apart(arguments: list[str], cwd: Path, *installed: Path) -> str:
    """Run Python without the editable installation of this checkout: -S leaves out what .pth files add."""
    libraries = [path for path in sys.path if path.endswith("-packages")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*installed, *libraries]))}
    done = subprocess.run(
        [sys.executable, "-S", *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_checkout_runs_without_an_installation(tmp_path: Path, glove_file: Path) -> None:
    copy_checkout(tmp_path / "checkout")
    glove_file.rename(tmp_path / "checkout" / "small.txt")
    assert run_apart(["-c", _MAKE], tmp_path / "checkout") == f"1 {tmp_path / 'checkout'}\n"
    load = ["cli.py", "--db", "b.duckdb", "load", "small.txt", "--name", "small"]
    assert "16 words" in run_apart(load, tmp_path / "checkout")


@pytest.mark.slow
@pytest.mark.parametrize("inside", [True, False])
def test_an_installed_package_runs_inside_a_checkout_and_outside(
    inside: bool, wheel: zipfile.ZipFile, tmp_path: Path, glove_file: Path
) -> None:
    """Inside, the folders of the checkout come before the installed packages."""
    installed, work = tmp_path / "installed", tmp_path / "work"
    wheel.extractall(installed)
    work.mkdir()
    if inside:
        copy_checkout(work)
    glove_file.rename(work / "small.txt")
    assert run_apart(["-c", _MAKE], work, installed) == f"1 {work if inside else installed}\n"


@pytest.mark.slow
def test_the_wheel_has_everything_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert {name.partition("/")[0] for name in names} == {
        "custext_sql",
        "spacy_plugin",
        f"custext_sql-{importlib.metadata.version('custext-sql')}.dist-info",
    }
    for name in (
        "custext_sql/py.typed",
        "custext_sql/migrations/env.py",
        "custext_sql/migrations/ledger/0001_first_tables.py",
        "custext_sql/migrations/versions/0001_first_tables.py",
        "custext_sql/migrations/versions/0001.sql",
        "custext_sql/starter/glove-840b-34k.xz",
        "custext_sql/starter/PROVENANCE.md",
        "custext_sql/starter/stopwords-english.txt",
        "spacy_plugin/vectors.py",
    ):
        assert name in names
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "custext_sql").rglob("*.py")}
    sources |= {str(path.relative_to(ROOT)) for path in (ROOT / "custext_sql/html/templates").iterdir()}
    sources |= {str(path.relative_to(ROOT)) for path in (ROOT / "custext_sql/playground/page").iterdir()}
    assert sources <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_core_installs_no_library_of_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    core = {_name_of(requirement) for requirement in project["dependencies"]}
    assert not core & {_name_of(requirement) for extra in extras.values() for requirement in extra}


def test_every_library_that_the_package_imports_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {_name_of(requirement) for requirement in project["dependencies"]}
    imported: set[str] = set()
    for folder in ("custext_sql", "spacy_plugin", "migrations"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
                imported |= {name.partition(".")[0] for name in names}
    imported -= {*sys.stdlib_module_names, "custext_sql", "spacy_plugin"}
    imported -= {"pandas", "polars", "_typeshed"}  # only if the caller brings a column of theirs; for types
    imported -= {"pyspark", "py4j"}  # of the extra `spark`, and only in custext_sql/spark
    imported -= {"fastapi", "starlette", "anyio", "uvicorn"}  # of `playground`, and only there; FastAPI brings two
    assert imported == declared - {"duckdb-engine"}  # SQLAlchemy loads that one by its name


def _name_of(requirement: str) -> str:
    found = re.match(r"[\w-]+(?:\[[\w,]+\])?", requirement)
    assert found is not None
    return found[0]


def test_no_test_leaves_a_process_behind() -> None:
    """`processes.start` ends what it started, whatever becomes of the test; `subprocess.run` waits."""
    for path in (ROOT / "tests").rglob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        starts = "Popen" in {getattr(call, "attr", "") for call in calls}
        assert not starts or path.name in ("processes.py", "make.py"), path


def test_public_signatures_say_eps() -> None:
    for name in custext_sql.__all__:
        value = getattr(custext_sql, name)
        methods = [method for key, method in vars(value).items() if key[0] != "_"] if isinstance(value, type) else []
        for function in [value, *(getattr(method, "__func__", method) for method in methods)]:
            if callable(function):
                with suppress(ValueError):  # of an error's class
                    assert not {"epsilon", "epsilons"} & set(inspect.signature(function).parameters), (name, function)
