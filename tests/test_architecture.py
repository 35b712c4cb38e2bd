"""Which part of the package may import which. Imports inside functions count too."""

import ast
import re
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import custext_sql

PACKAGE = Path(custext_sql.__path__[0])
ROOT = PACKAGE.parent

BASE = {"errors", "arrays", "parameters", "kinds"}
PURE = {"text", "mapping", "mechanism", "sanitizer"}
FRONT = ("sanitizer/sanitizer.py", "sanitizer/sanitizer_files.py", "sanitizer/settings.py")  # load and enter releases
STORE = BASE | PURE | {"vectors"}
ROOMS = STORE | {"store", "ledger", "sql", "files", "html"}
PARTS = {  # each part, and the parts that it may import
    "errors": set(),
    "arrays": set(),
    "parameters": {"errors"},
    "kinds": {"arrays"},  # for types alone
    "text": BASE,
    "mapping": BASE | {"text"},
    "mechanism": BASE | {"text", "mapping"},
    "sanitizer": BASE | {"text", "mapping", "mechanism"},
    "vectors": BASE | {"text"},
    "store": STORE,
    "ledger": STORE | {"store"},
    "sql": STORE | {"store", "ledger"},
    "files": STORE | {"store", "ledger", "sql"},
    "html": BASE | PURE,
    "experiments": ROOMS,
    "starter": set(),  # data only
    "spark": {"public names", "errors", "parameters", "sanitizer", "store", "files"},
    "playground": ROOMS - {"arrays", "parameters", "text", "mechanism", "vectors", "sql", "html"}
    | {"public names", "experiments"},
    "cli": ROOMS | {"public names", "experiments", "playground"},
    "__main__": {"cli"},
    "spacy_plugin": ROOMS - {"arrays", "mechanism", "sql", "files"} | {"public names"},
}
LIBRARIES = {  # where each library is imported
    "pyarrow": (
        *("text/columns.py", "text/encoded_text.py", "sanitizer", "vectors", "store", "sql", "files"),
        *("spark", "spacy_plugin"),
    ),
    "spacy spacy_plugin": ("spacy_plugin",),
    "fastapi starlette uvicorn anyio": ("playground",),
    "pyspark py4j": ("spark",),
    "click rich": ("cli",),
    "alembic": ("store/migrating.py",),
    "sqlalchemy": ("store/migrating.py", "ledger"),
    "jinja2 markupsafe html": ("html/escaped_pages.py",),
    "cryptography": ("mechanism/randomness.py",),
    "nltk": ("store/stopwords.py", "experiments"),
    "torch transformers sklearn scipy": ("experiments",),
    "matplotlib": ("experiments/charts.py",),
}
# each imports none of those after it
EXPERIMENTS = ("baselines", "mechanisms", "bayes_attack", "context_attack", "evaluations", "report", "choosing")


def place_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT))


def find_file(module: str) -> Path | None:
    """Return the file of a module of the package."""
    path = ROOT.joinpath(*module.split("."))
    candidates = [path.with_suffix(".py"), path / "__init__.py"]
    return next((file for file in candidates if file.is_file()), None) if module.startswith("custext_sql") else None


@cache
def find_imports(path: Path, *, at_the_top: bool = False) -> frozenset[str]:
    """Return the full names of all modules that a file imports; also inside functions, unless only `at_the_top`."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if at_the_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in names if find_file(name) is not None}
            found |= modules | ({node.module} if modules != names else set())
    return frozenset(found)


def own(path: Path) -> set[str]:
    """Return the modules of the package that a file imports."""
    return {name for name in find_imports(path) if name.partition(".")[0] == "custext_sql"}


def find_parts(path: Path) -> set[str]:
    """Return the parts that a file imports; names of the package itself are public names."""
    return {name.split(".")[1] if "." in name else "public names" for name in own(path)}


def libraries_of(path: Path, *, at_the_top: bool = False) -> set[str]:
    """Return the packages that a file imports, without the standard library and this project."""
    names = {name.partition(".")[0] for name in find_imports(path, at_the_top=at_the_top)}
    return names - set(sys.stdlib_module_names) - {"custext_sql"} | names & {"html"}


def list_files(part: str) -> list[Path]:
    folder = ROOT / part if part == "spacy_plugin" else PACKAGE / part
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


ALL = sorted(path for part in PARTS for path in list_files(part))


def test_every_module_is_in_a_part() -> None:
    modules = {path for path in PACKAGE.rglob("*.py") if "migrations" not in path.parts}
    assert modules == {*ALL, PACKAGE / "__init__.py"} - set(list_files("spacy_plugin"))


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_only_parts_before_it(part: str) -> None:
    for path in list_files(part):
        others = {"store", "ledger"} if place_of(path) in FRONT else set()
        assert find_parts(path) <= PARTS[part] | {part} | others, path


def test_no_module_needs_itself_not_even_lazily() -> None:
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in ALL}
    try:
        TopologicalSorter({names[path]: own(path) - {"custext_sql"} for path in ALL}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_pure_parts_use_arrays_and_nothing_else() -> None:
    for path in (path for part in BASE | PURE for path in list_files(part)):
        assert libraries_of(path) <= {"numpy", "pyarrow", "cryptography"}, path


def test_the_verifier_shares_no_code_with_what_it_verifies() -> None:
    verifier = PACKAGE / "mechanism/verifier.py"
    assert libraries_of(verifier) == {"numpy"} and not own(verifier)
    assert not any("verifier" in name for name in find_imports(PACKAGE / "mechanism/weights.py"))


def test_a_library_is_used_in_its_part_only() -> None:
    known = {name: places for names, places in LIBRARIES.items() for name in names.split()}
    for path in ALL:
        for library in libraries_of(path) & set(known):
            assert place_of(path).startswith(known[library]), (path, library)


def test_heavy_libraries_are_loaded_inside_functions_only() -> None:
    for path in ALL:
        heavy = {"torch", "transformers", "sklearn", "scipy", "matplotlib"}
        assert not libraries_of(path, at_the_top=True) & heavy, path


def test_the_spark_adapter_is_thin() -> None:
    """It holds no mechanism of its own: it computes with no array."""
    for path in list_files("spark"):
        assert libraries_of(path) <= {"pyspark", "py4j", "pyarrow"}, path


def test_experiments_build_on_each_other_one_way() -> None:
    for place, part in enumerate(EXPERIMENTS):
        later = tuple(f"custext_sql.experiments.{name}" for name in EXPERIMENTS[place + 1 :])
        for path in list_files(f"experiments/{part}"):
            assert not any(name.startswith(later) for name in own(path)), path


def test_the_house_stays_small_enough_to_see_through() -> None:
    entries = [path for path in PACKAGE.iterdir() if path.name not in ("__pycache__", "py.typed")]
    assert len(entries) <= 21


def test_tests_mirror_the_parts() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if (path / "__init__.py").exists()}
    assert folders <= {*PARTS, "journeys", "stored"}


def test_the_map_of_the_house_names_no_file_that_is_gone() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    house = text[text.index("## The house") : text.index("## Words")]
    others = (path for folder in ("tests", "docs") for path in (ROOT / folder).rglob("*.py"))
    assert set(re.findall(r"\w+\.py", house)) <= {path.name for path in (*ALL, *others)} | {"__init__.py", "cli.py"}
    for path in re.findall(r"`([\w/]+/\w+\.py)`", text):
        assert any((folder / path).exists() for folder in (ROOT, PACKAGE)), path
