"""What is installed, and who may import whom."""

import ast
import importlib.metadata
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import custext_sql
import spacy_plugin

ROOT = Path(__file__).parents[1]
PACKAGE = Path(custext_sql.__path__[0])
PLUGIN = Path(spacy_plugin.__path__[0])
PURE = (
    *(
        "errors",
        "parameters",
        "characters",
        "encoded_text",
        "tokenizer",
        "similarity",
        "grouping",
        "scoring",
        "mapping",
    ),
    *("mechanism", "certificate", "certified_table", "inspection"),
    *("lexicon", "vocabulary", "policy", "randomness", "row_settings", "draw_table", "sampler", "tokens"),
    *("rewriting", "distinct_spans", "replacement", "receipt", "token_batch", "html.charts"),
    *("baselines.word_space", "baselines.santext", "baselines.fbdd", "baselines.random_words"),
    *("attacks.query", "attacks.bayes"),
)


def imported(path: Path) -> set[str]:
    """Full names of all modules that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def roots(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported(path)}


@pytest.mark.parametrize("module", PURE)
def test_pure_modules_import_only_arrays_and_each_other(module: str) -> None:
    path = PACKAGE / f"{module.replace('.', '/')}.py"
    arrays = {"numpy", "pyarrow"} if module in ("rewriting", "distinct_spans") else {"numpy"}
    assert roots(path) - set(sys.stdlib_module_names) <= {*arrays, "custext_sql"}
    for name in imported(path):
        if name.startswith("custext_sql."):
            assert any(f"{name}.".startswith(f"custext_sql.{other}.") for other in PURE), name


def test_the_verifier_shares_no_code_with_what_it_verifies() -> None:
    assert roots(PACKAGE / "certificate.py") - set(sys.stdlib_module_names) == {"numpy"}
    assert not any("certificate" in name for name in imported(PACKAGE / "mechanism.py"))


def test_the_core_imports_no_adapter() -> None:
    for path in PACKAGE.rglob("*.py"):
        adapters = {"spacy", "pyspark", "spacy_plugin", "flask", "fastapi"}
        assert not roots(path) & adapters, path
        if path.parent.name != "cli" and path.name != "__main__.py":
            assert "click" not in roots(path), path
            assert not any(name.startswith("custext_sql.cli") for name in imported(path)), path


def test_experiments_build_on_each_other_one_way() -> None:
    """Baselines know of neither attacks nor evaluation, attacks not of evaluation, and none of the report."""
    order = ("baselines", "attacks", "evaluation", "report")
    for place, room in enumerate(order):
        for path in (PACKAGE / room).glob("*.py"):
            for later in order[place + 1 :]:
                assert not any(name.startswith(f"custext_sql.{later}") for name in imported(path)), (path, later)


def test_only_tables_and_migrations_use_sqlalchemy() -> None:
    users = {path.name for path in PACKAGE.rglob("*.py") if "sqlalchemy" in roots(path)}
    assert {name for name in users if not name.startswith("0")} <= {"tables.py", "migrate.py"}


def test_only_one_module_writes_html() -> None:
    writers = {"html", "jinja2", "markupsafe"}
    users = {path.name for path in (*PACKAGE.rglob("*.py"), *PLUGIN.rglob("*.py")) if roots(path) & writers}
    assert users == {"escaped_pages.py"}


def test_public_names_are_all_there() -> None:
    for name in custext_sql.__all__:
        assert getattr(custext_sql, name).__name__ == name
    assert dir(custext_sql) == custext_sql.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        custext_sql.nothing  # noqa: B018


def test_pytorch_is_loaded_inside_functions_only() -> None:
    for path in PACKAGE.rglob("*.py"):
        top = ast.parse(path.read_text(encoding="utf-8")).body
        names = {alias.name for node in top if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in top if isinstance(node, ast.ImportFrom)}
        assert not {name.partition(".")[0] for name in names} & {"torch", "transformers", "sklearn", "scipy"}, path


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
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "copy"  # a build in place would pack what an earlier one left behind
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "*.duckdb"))
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(folder), str(copy)]
    subprocess.run(command, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


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
        "custext_sql/migrations/versions/0001_first_tables.py",
        "custext_sql/migrations/versions/0002_distribution_macro.py",
        "custext_sql/migrations/versions/0003_releases.py",
        "custext_sql/migrations/versions/0004_measurements.py",
        "custext_sql/migrations/versions/0005_what_is_released_beside_the_text.py",
        "custext_sql/migrations/versions/0006_what_a_release_is_of.py",
        "custext_sql/starter/glove-840b-34k.xz",
        "custext_sql/starter/PROVENANCE.md",
        "custext_sql/starter/stopwords-english.txt",
        "spacy_plugin/vectors.py",
    ):
        assert name in names
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "custext_sql").rglob("*.py")}
    sources |= {str(path.relative_to(ROOT)) for path in (ROOT / "custext_sql/html/templates").iterdir()}
    assert sources <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_no_test_leaves_a_process_behind() -> None:
    """`processes.start` ends what it started, whatever becomes of the test; `subprocess.run` waits."""
    for path in (ROOT / "tests").glob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert path.name == "processes.py" or "Popen" not in {getattr(call, "attr", "") for call in calls}, path
