"""Renders pages, in which Jinja2 escapes every value, and plain text, from templates. No other module writes HTML."""

import re
from xml.etree import ElementTree

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def replace_forbidden(text: str) -> str:
    """Return a text with U+FFFD in place of each character that HTML forbids, even if escaped."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


_ENVIRONMENT = Environment(
    loader=PackageLoader("custext_sql.html"),
    autoescape=lambda name: name is None or not name.endswith(".txt"),  # those are plain text
    undefined=StrictUndefined,
    finalize=lambda value: replace_forbidden(value) if type(value) is str else value,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def render_page(template: str, **values: object) -> str:
    """Return a self-contained page: the template with its values, all shown as text except pictures by `show_svg`."""
    return _ENVIRONMENT.get_template(template).render(values)


def list_blocks(template: str) -> list[str]:
    """Return the names of the blocks of a template, in its order."""
    return list(_ENVIRONMENT.get_template(template).blocks)


def render_text(template: str, block: str, **values: object) -> str:
    """Return a block of a plain-text template as one line: line ends become spaces, except before punctuation."""
    found = _ENVIRONMENT.get_template(template)
    text = "".join(found.blocks[block](found.new_context(values)))
    return re.sub(r"\s*\n\s*", " ", re.sub(r"\s*\n\s*([,.:;])", r"\1", text)).strip()


def show_svg(svg: ElementTree.Element) -> str:
    """Return a picture as a value that a page includes as SVG. The texts in it are escaped here."""
    for part in svg.iter():
        part.tag = part.tag.rpartition("}")[2]  # HTML knows SVG without its namespace
    return Markup(ElementTree.tostring(svg, encoding="unicode"))
