"""Pages from the templates beside this module, where Jinja2 escapes every value: no other module writes HTML."""

import re

from jinja2 import Environment, PackageLoader, StrictUndefined

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _replace_forbidden(value: object) -> object:
    """Return a value without the characters that HTML may not hold, escaped or not."""
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
    """Return a page that needs nothing but itself: a template filled with values, all of which it shows as text."""
    return _ENVIRONMENT.get_template(template).render(values)
