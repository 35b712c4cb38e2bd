"""Makes the README the home page of the site: MkDocs looks for pages in docs/ only."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

_OUTSIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "custext_sql/starter/PROVENANCE.md")


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the README as index.md, with links that are right there."""
    from mkdocs.structure.files import File

    text = (Path(config.docs_dir).parent / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    for name in _OUTSIDE:
        text = text.replace(f"]({name})", "]")  # a file of the repository that the site does not have
    files.append(File.generated(config, "index.md", content=text))
    return files
