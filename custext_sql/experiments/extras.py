"""What only an extra installs: libraries, imported where they are needed, and the models of Hugging Face.

Errors name the extra of a missing library. Models are loaded without the libraries' own output.
"""

import importlib
import importlib.util
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.parameters import check_whole

_LENGTH = 128  # tokens per text, in the paper
_PATIENCE = 10.0  # seconds; transformers itself tries each file six times, which takes 47 s without a network


def check_installed(*packages: str) -> None:
    """Check that packages of extras are installed, without importing them. SettingError names what is missing."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise _miss(package)


def import_library(name: str) -> Any:
    """Return a module of an extra, such as "sklearn.linear_model". SettingError if it cannot be imported."""
    package = name.partition(".")[0]
    check_installed(package)
    try:
        return importlib.import_module(name)
    except ImportError as error:  # installed, but broken, or without a library that it needs itself
        raise _miss(package, ", which is installed but cannot be imported") from error


def _miss(package: str, problem: str = "") -> SettingError:
    name = {"sklearn": "scikit-learn"}.get(package, package)
    extra = "evaluation" if package in ("sklearn", "scipy", "matplotlib") else "models"
    # custext-sql is not on PyPI: only a checkout can install an extra by name
    return SettingError(f"this needs {name}{problem}; in a checkout of custext-sql, run: pip install '.[{extra}]'")


@dataclass(frozen=True, eq=False)
class Pretrained:
    """A transformers model in evaluation mode, and its tokenizer."""

    name: str
    model: Any
    tokenizer: Any
    missing: tuple[str, ...]  # weights that were not in the files and were initialized at random

    @property
    def longest(self) -> int:
        """The most tokens that a text may have, including the special tokens at its ends."""
        limits = [self.tokenizer.model_max_length]
        if (positions := getattr(self.model.config, "max_position_embeddings", None)) is not None:
            embeddings = (part for name, part in self.model.named_modules() if name.endswith("position_embeddings"))
            padding = getattr(next(embeddings, None), "padding_idx", None)  # RoBERTa counts positions from after it
            limits.append(positions if padding is None else positions - padding - 1)
        return int(min(limits))

    def check_length(self, length: int | None, least: int) -> int:
        """Return the length in tokens, checked; for None, the paper's 128, or fewer if the model takes fewer.

        SettingError if it is below `least`, or more than the model takes.
        """
        if length is None:
            return min(_LENGTH, self.longest)
        length = check_whole(length, "length")
        if not least <= length <= self.longest:
            raise SettingError(
                f"length must be {least} to {self.longest} tokens for the model {self.name}; found {length}"
            )
        return length


def choose_device() -> Any:
    """Return the GPU as a PyTorch device if PyTorch can use one, else the CPU."""
    torch = import_library("torch")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def load_pretrained(name: str | os.PathLike[str], head: str, *, advice: str, **options: Any) -> Pretrained:
    """Load a model from a folder, from the Hugging Face cache, or else from the Hub, and return it.

    head: the class of transformers that loads it, such as AutoModelForMaskedLM; options: passed to that class.
    advice: what to do without such a model; it ends the error message. SettingError if the model cannot be loaded.
    """
    check_installed("torch", "transformers")
    folder = Path(name).expanduser()
    place = str(folder) if folder.is_dir() else os.fspath(name)
    with _silence():
        try:
            try:
                return _load(place, head, options, local_files_only=True)
            except OSError:
                if folder.is_dir():
                    raise
            try:
                import_library("huggingface_hub").HfApi().model_info(place, timeout=_PATIENCE)
            except Exception as error:  # no network, no such model, no permission: each has its own class
                raise SettingError(
                    f"cannot load the model {place}: it is neither a folder nor in the Hugging Face cache, "
                    f"and could not be fetched; {advice}"
                ) from error
            return _load(place, head, options, local_files_only=False)
        except SettingError:
            raise
        except Exception as error:  # the libraries do not document what they raise for damaged files
            lines = str(error).strip().splitlines()
            raise SettingError(
                f"cannot load the model {place}: expected what {head}.from_pretrained reads (config.json, weights, "
                f"tokenizer), found {type(error).__name__}: {lines[0][:300] if lines else 'no reason given'}; {advice}"
            ) from error


def _load(place: str, head: str, options: dict[str, Any], *, local_files_only: bool) -> Pretrained:
    transformers, torch = import_library("transformers"), import_library("torch")
    # never run code that comes with a model, and never ask about it on the terminal
    where: dict[str, Any] = {"local_files_only": local_files_only, "trust_remote_code": False}
    loader = getattr(transformers, head)
    model, info = loader.from_pretrained(place, dtype=torch.float32, output_loading_info=True, **where, **options)
    tokenizer = transformers.AutoTokenizer.from_pretrained(place, **where)
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # transformers makes up an empty one if its files are missing
        raise SettingError(
            f"cannot load the model {place}: expected its tokenizer beside it, found none; "
            "save it there with tokenizer.save_pretrained"
        )
    return Pretrained(place, model.eval(), tokenizer, tuple(sorted(info["missing_keys"])))


@contextmanager
def _silence() -> Iterator[None]:
    """Suppress the log messages, warnings and progress bars of the libraries."""
    messages, shown = import_library("transformers.utils.logging"), logging.root.manager.disable
    bars = messages.is_progress_bar_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        messages.disable_progress_bar()  # also that of downloads
        try:
            yield
        finally:
            logging.disable(shown)
            if bars:
                messages.enable_progress_bar()
