"""A page to try custext-sql on, served on this machine. Needs the extra `playground`."""

try:
    import fastapi  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError:  # the package is not on PyPI: only a checkout can install an extra by name
    raise ImportError(
        "this needs FastAPI and uvicorn; in a checkout of custext-sql, run: pip install '.[playground]'"
    ) from None

from custext_sql.playground.serving import Address, serve

__all__ = ["Address", "serve"]
