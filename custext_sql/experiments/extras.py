"""Libraries that only an extra installs: imports them where they are needed, and names the extra if one is missing."""

import importlib
import importlib.util
from typing import Any

from custext_sql.errors import SettingError

_EXTRAS = {  # the package that is imported: what pip calls it, and the extra that installs it
    "sklearn": ("scikit-learn", "evaluation"),
    "scipy": ("scipy", "evaluation"),
    "torch": ("torch", "models"),
    "transformers": ("transformers", "models"),
    "huggingface_hub": ("huggingface_hub", "models"),
}


def check_installed(*packages: str) -> None:
    """Check that packages of extras are installed, without importing them. SettingError names what is missing."""
    for package in packages:
        try:
            found = importlib.util.find_spec(package) is not None
        except ValueError:  # a module that has no spec, such as one that a test blocks
            found = False
        if not found:
            distribution, extra = _EXTRAS[package]
            raise SettingError(f"this needs {distribution}; {_advise(extra)}")


def import_library(name: str) -> Any:
    """Return a module of an extra, such as "sklearn.linear_model". SettingError if it cannot be imported."""
    package = name.partition(".")[0]
    check_installed(package)
    try:
        return importlib.import_module(name)
    except ImportError as error:  # installed, but broken, or without a library that it needs itself
        distribution, extra = _EXTRAS[package]
        raise SettingError(
            f"this needs {distribution}, which is installed but cannot be imported; {_advise(extra)}"
        ) from error


def _advise(extra: str) -> str:
    # the package is not on PyPI: only a checkout can install an extra by name
    return f"in a checkout of custext-sql, run: pip install '.[{extra}]'"
