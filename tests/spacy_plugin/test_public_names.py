"""The plugin uses only public names of the package, as adapters for Spark or dbt would."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import custext_sql
import spacy_plugin

FILES = sorted(Path(spacy_plugin.__path__[0]).glob("**/*.py"))


def find_imports(source: str) -> Iterator[tuple[str, str | None]]:
    """Yield every module of the package that a file imports, anywhere in it, with the imported name, if any."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "custext_sql":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from ((name, None) for name in names if name.partition(".")[0] == "custext_sql")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_plugin_imports_only_public_names(path: Path) -> None:
    for module, name in find_imports(path.read_text(encoding="utf-8")):
        assert module == "custext_sql", f"{path.name} imports {module}, below the public names"
        assert name in custext_sql.__all__, f"{path.name} imports {name}, which is not public"


def test_the_check_sees_lazy_and_deep_imports() -> None:
    source = "def f():\n    from custext_sql.errors import SettingError\n    import custext_sql.store\n"
    assert list(find_imports(source)) == [("custext_sql.errors", "SettingError"), ("custext_sql.store", None)]
    assert any(found for path in FILES for found in find_imports(path.read_text(encoding="utf-8")))


def test_the_plugin_uses_no_private_attributes() -> None:
    """Attributes that begin with an underscore are its own, or `doc._` of spaCy."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and node.attr not in ("_", "_context"):
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                assert owner in ("self", "other", "cls") or node.attr.endswith("__"), f"{path.name}: {node.attr}"
