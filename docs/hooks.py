"""What the site has besides docs/: the README as home page, and tables of the public names from their docstrings."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

_OUTSIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "custext_sql/starter/PROVENANCE.md")


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the README as index.md, with links that are right there."""
    from mkdocs.structure.files import File

    text = (Path(config.docs_dir).parent / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    for name in _OUTSIDE:
        text = re.sub(rf"\]\({re.escape(name)}(#[^)]*)?\)", "]", text)  # a file that the site does not have
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace each comment `names of MODULE` by a table of its public names."""
    return re.sub(r"<!-- names of (\S+) -->", lambda match: _list_names(match[1]), markdown)


def _list_names(path: str) -> str:
    module = import_module(path)
    lines = ["| name | meaning |", "|---|---|"]
    for name in module.__all__:
        first, _, _ = (inspect.getdoc(getattr(module, name)) or "").partition("\n\n")
        lines.append(f"| `{name}` | {' '.join(first.split())} |")
    return "\n".join(lines)
