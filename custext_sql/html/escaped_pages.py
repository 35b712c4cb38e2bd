"""Renders pages from templates. Jinja2 escapes every value, and no other module writes HTML."""

import re

from jinja2 import Environment, PackageLoader, StrictUndefined

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _replace_forbidden(value: object) -> object:
    """Return a value without the characters that HTML forbids, whether or not they are escaped."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", value) if type(value) is str else value


_ENVIRONMENT = Environment(
    loader=PackageLoader("custext_sql.html"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_replace_forbidden,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def render_page(template: str, **values: object) -> str:
    """Return a self-contained page: the template with its values, all shown as text."""
    return _ENVIRONMENT.get_template(template).render(values)
