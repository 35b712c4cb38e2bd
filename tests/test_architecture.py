"""Which part of the package may import which. Imports inside functions count too."""

import ast
import re
import sys
from collections.abc import Iterator
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
PARTS = {  # each part of the package, and the parts that it may import
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
    "experiments": STORE | {"store", "ledger", "sql", "files", "html"},
    "starter": set(),  # data only
    "spark": {"public names", "errors", "parameters", "sanitizer", "store", "files"},
    "playground": {
        "public names",
        "errors",
        "kinds",
        "sanitizer",
        "mapping",
        "store",
        "ledger",
        "files",
        "experiments",
    },
    "cli": STORE | {"store", "ledger", "sql", "files", "html", "experiments", "playground", "public names"},
    "__main__": {"cli"},
}
SQLALCHEMY = ("ledger/connections.py", "ledger/places.py", "ledger/records.py", "ledger/schema.py", "ledger/store.py")
ARRAYS = {"numpy"}
LIBRARIES = {  # what pure modules import besides NumPy and the standard library
    "text/columns.py": {"pyarrow", "pandas", "polars"},  # if the user has them
    "text/encoded_text.py": {"pyarrow"},
    "sanitizer/replacer.py": {"pyarrow"},
    "sanitizer/row_settings.py": {"pyarrow"},
    "mechanism/chacha20.py": {"cryptography"},
}


@cache
def find_imports(path: Path) -> frozenset[str]:
    """Return the full names of all modules that a file imports, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in names if find_file(name) is not None}
            found |= modules | ({node.module} if modules != names else set())
    return frozenset(found)


@cache
def find_file(module: str) -> Path | None:
    """Return the file of a module of the package."""
    path = ROOT.joinpath(*module.split("."))
    candidates = [path.with_suffix(".py"), path / "__init__.py"]
    return next((file for file in candidates if file.is_file()), None) if module.startswith("custext_sql") else None


def find_part(module: str) -> str:
    """Return the part that a module belongs to; names of the package itself are public names."""
    return module.split(".")[1] if "." in module else "public names"


def own(path: Path) -> set[str]:
    """Return the modules of the package that a file imports."""
    return {name for name in find_imports(path) if name.partition(".")[0] == "custext_sql"}


def roots(path: Path) -> set[str]:
    """Return the packages that a file imports, without the standard library."""
    return {name.partition(".")[0] for name in find_imports(path)} - set(sys.stdlib_module_names)


def name_module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def list_files(part: str) -> list[Path]:
    folder = PACKAGE / part
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{part}.py"]


ALL = sorted(path for part in PARTS for path in list_files(part))


def test_every_module_is_in_a_part() -> None:
    assert {path for path in PACKAGE.rglob("*.py") if "migrations" not in path.parts} == {
        *ALL,
        PACKAGE / "__init__.py",
    }


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_only_parts_before_it(part: str) -> None:
    for path in list_files(part):
        others = {"store", "ledger"} if str(path.relative_to(PACKAGE)) in FRONT else set()
        wrong = {name for name in own(path) if find_part(name) not in PARTS[part] | {part} | others}
        assert not wrong, f"{path.relative_to(ROOT)} imports {', '.join(sorted(wrong))}"


def test_no_module_needs_itself_not_even_lazily() -> None:
    graph = {name_module(path): {name for name in own(path) if find_part(name) != "public names"} for path in ALL}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("part", [*sorted(BASE), *sorted(PURE)])
def test_pure_parts_use_arrays_and_nothing_else(part: str) -> None:
    for path in list_files(part):
        if str(path.relative_to(PACKAGE)) in FRONT:
            continue
        libraries = LIBRARIES.get(str(path.relative_to(PACKAGE)), set())
        assert roots(path) <= {"numpy", "custext_sql", *libraries}, path


def test_the_verifier_shares_no_code_with_what_it_verifies() -> None:
    assert roots(PACKAGE / "mechanism/verifier.py") == {"numpy"}
    assert not any("verifier" in name for name in find_imports(PACKAGE / "mechanism/weights.py"))


@pytest.mark.parametrize(
    "libraries, places",
    [
        ({"spacy", "spacy_plugin"}, ()),
        ({"fastapi", "starlette", "uvicorn", "anyio"}, ("playground",)),
        ({"pyspark", "py4j"}, ("spark",)),
        ({"click", "rich"}, ("cli",)),
        ({"alembic"}, ("store/migrating.py",)),
        ({"sqlalchemy"}, ("store/migrating.py", *SQLALCHEMY)),
        ({"jinja2", "markupsafe", "html"}, ("html/escaped_pages.py",)),
        ({"cryptography"}, ("mechanism/chacha20.py",)),
        ({"nltk"}, ("store/stopwords.py", "experiments")),
        ({"torch", "transformers", "sklearn", "scipy"}, ("experiments",)),
        ({"matplotlib"}, ("experiments/charts.py",)),
    ],
)
def test_a_library_is_used_in_its_part_only(libraries: set[str], places: tuple[str, ...]) -> None:
    for path in ALL:
        inside = any(str(path.relative_to(PACKAGE)).startswith(place) for place in places)
        found = {name.partition(".")[0] for name in find_imports(path)} & libraries
        assert inside or not found, f"{path.relative_to(ROOT)} imports {', '.join(found)}"


ADAPTERS = {  # what each adapter uses besides the public names: the rooms that it is built on
    "spacy_plugin": {
        "errors",
        "kinds",
        "parameters",
        "text",
        "sanitizer",
        "mapping",
        "vectors",
        "store",
        "ledger",
        "html",
    },
    "custext_sql/spark": {"errors", "parameters", "sanitizer", "store", "files"},
    "custext_sql/playground": {"errors", "kinds", "sanitizer", "mapping", "store", "ledger", "files", "experiments"},
}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_adapters_are_built_on_public_names_and_a_few_rooms(adapter: str) -> None:
    own_part = Path(adapter).name
    for path in (ROOT / adapter).glob("*.py"):
        rooms = {find_part(name) for name in own(path)} - {"public names", own_part}
        assert rooms <= ADAPTERS[adapter], path


def test_the_spark_adapter_is_thin() -> None:
    """It holds no mechanism of its own: it names no part of it, and computes with no array."""
    for path in (PACKAGE / "spark").glob("*.py"):
        assert roots(path) <= {"custext_sql", "pyspark", "py4j", "pyarrow"}, path


def test_experiments_build_on_each_other_one_way() -> None:
    """Baselines import no attacks, attacks no evaluations, and none of them the report."""
    attacks = ("query_attack", "bayes_attack", "context_attack", "mask_attack")
    order = ("baselines", "mechanisms", *attacks, "evaluations", "report", "choosing", "choice_lines")
    for place, part in enumerate(order):
        later = {f"custext_sql.experiments.{name}" for name in order[place + 1 :] if (part, name) != (*attacks[2:],)}
        assert not own(PACKAGE / f"experiments/{part}.py") & later, part


def test_heavy_libraries_are_loaded_inside_functions_only() -> None:
    for path in ALL:
        top = ast.parse(path.read_text(encoding="utf-8")).body
        names = {alias.name for node in top if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in top if isinstance(node, ast.ImportFrom)}
        assert not {name.partition(".")[0] for name in names} & {
            "torch",
            "transformers",
            "sklearn",
            "scipy",
            "matplotlib",
        }, path


def test_the_house_stays_small_enough_to_see_through() -> None:
    entries = [path for path in PACKAGE.iterdir() if path.name not in ("__pycache__", "py.typed")]
    assert len(entries) <= 21


def read_sources() -> Iterator[Path]:
    yield from PACKAGE.rglob("*.py")
    yield from (ROOT / "spacy_plugin").glob("*.py")


def test_tests_mirror_the_parts() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if (path / "__init__.py").exists()}
    assert folders <= {*PARTS, "spacy_plugin", "journeys", "stored"}


def test_the_map_of_the_house_names_no_file_that_is_gone() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    house = text[text.index("## The house") : text.index("## Words")]
    others = (path for folder in ("tests", "docs") for path in (ROOT / folder).rglob("*.py"))
    there = {path.name for path in (*read_sources(), *others, ROOT / "cli.py")}
    assert set(re.findall(r"\w+\.py", house)) <= there
    for path in re.findall(r"`([\w/]+/\w+\.py)`", text):
        assert any((folder / path).exists() for folder in (ROOT, PACKAGE)), path
