"""Models of Hugging Face: loads them with their tokenizers, and says plainly what is missing."""

import hashlib
import importlib
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from custext_sql.errors import SettingError
from custext_sql.parameters import check_whole

_LENGTH = 128  # tokens of a text, in the paper
_PATIENCE = 10.0  # seconds; transformers alone tries six times for each file, 47 s without a network


@dataclass(frozen=True, eq=False)
class Pretrained:
    """A model in evaluation mode and its tokenizer, as transformers has them."""

    name: str
    model: Any
    tokenizer: Any
    missing: tuple[str, ...]  # weights that the files do not have and that were drawn at random

    @property
    def longest(self) -> int:
        """Return how many tokens a text may have, those at its ends included."""
        limits = [self.tokenizer.model_max_length]
        if (positions := getattr(self.model.config, "max_position_embeddings", None)) is not None:
            embeddings = (part for name, part in self.model.named_modules() if name.endswith("position_embeddings"))
            padding = getattr(next(embeddings, None), "padding_idx", None)  # RoBERTa counts from behind this one
            limits.append(positions if padding is None else positions - padding - 1)
        return int(min(limits))

    def check_length(self, length: int | None, least: int) -> int:
        """Return the number of tokens if the model takes that many; for None, the paper's 128 or what it takes."""
        if length is None:
            return min(_LENGTH, self.longest)
        length = check_whole(length, "length")
        if not least <= length <= self.longest:
            raise SettingError(
                f"length must be {least} to {self.longest} tokens for the model {self.name}; found {length}"
            )
        return length


def import_library(name: str) -> Any:
    """Return a module of the extra `evaluation`, imported where it is first needed. SettingError if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SettingError(
            f"language models need {name.partition('.')[0]}, which cannot be imported; "
            "run: pip install 'custext-sql[evaluation]'"
        ) from error


def choose_device() -> Any:
    """Return the graphics card if there is one that PyTorch can use, else the processor."""
    torch = import_library("torch")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def load_pretrained(name: str | os.PathLike[str], head: str, *, advice: str, **options: Any) -> Pretrained:
    """Load the model in a folder, in the cache, or else on the Hub, without a word from the libraries.

    head: the class of transformers that loads it, such as AutoModelForMaskedLM; options: what else that class is told.
    advice: what a caller can do who has no such model.
    """
    import_library("torch")
    import_library("transformers")
    folder = Path(name).expanduser()
    place = str(folder) if folder.is_dir() else os.fspath(name)
    with _silence():
        try:
            try:
                return _load(place, head, options, local_files_only=True)
            except OSError:
                if folder.is_dir():
                    raise
            _reach_hub(place, advice)
            return _load(place, head, options, local_files_only=False)
        except SettingError:
            raise
        except Exception as error:  # what damaged or foreign files make the libraries raise is not documented
            lines = str(error).strip().splitlines()
            raise SettingError(
                f"cannot load the model {place}: expected what {head}.from_pretrained reads (config.json, weights, "
                f"tokenizer), found {type(error).__name__}: {lines[0][:300] if lines else 'no reason given'}; {advice}"
            ) from error


def digest_model(name: str | os.PathLike[str]) -> str | None:
    """Return a sha256 over the files of a model in a folder, so that another in the same place is not taken for it;
    None for one that is known by its name at Hugging Face.
    """
    folder = Path(name)
    if not folder.is_dir():
        return None
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            found.update(f"{file.relative_to(folder)}\n".encode())
            with file.open("rb") as content:
                found.update(hashlib.file_digest(content, "sha256").digest())
    return found.hexdigest()


def pad_rows(rows: Sequence[Sequence[int]], value: int) -> Any:
    """Return a tensor of rows of different lengths, filled up at their ends."""
    filled = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for number, row in enumerate(rows):
        filled[number, : len(row)] = row
    return import_library("torch").from_numpy(filled)


def _load(place: str, head: str, options: dict[str, Any], *, local_files_only: bool) -> Pretrained:
    transformers, torch = import_library("transformers"), import_library("torch")
    # code that comes with a model is never run, nor is there a question about it on the terminal
    where: dict[str, Any] = {"local_files_only": local_files_only, "trust_remote_code": False}
    loader = getattr(transformers, head)
    model, info = loader.from_pretrained(place, dtype=torch.float32, output_loading_info=True, **where, **options)
    tokenizer = transformers.AutoTokenizer.from_pretrained(place, **where)
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # transformers makes one up where there are no files
        raise SettingError(
            f"cannot load the model {place}: expected its tokenizer beside it, found none; "
            "save it there with tokenizer.save_pretrained"
        )
    return Pretrained(place, model.eval(), tokenizer, tuple(sorted(info["missing_keys"])))


def _reach_hub(name: str, advice: str) -> None:
    hub = import_library("huggingface_hub")
    try:
        hub.HfApi().model_info(name, timeout=_PATIENCE)
    except Exception as error:  # no network, no such model, no permission: each in a class of its own
        raise SettingError(
            f"cannot load the model {name}: it is neither a folder nor in the Hugging Face cache, "
            f"and could not be fetched; {advice}"
        ) from error


@contextmanager
def _silence() -> Iterator[None]:
    """Keep what the libraries log, warn of and draw on the terminal to themselves."""
    logs, hub = import_library("transformers.utils.logging"), import_library("huggingface_hub.utils")
    levels = logs.get_verbosity(), hub.logging.get_verbosity()
    bars = logs.is_progress_bar_enabled(), not hub.are_progress_bars_disabled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logs.set_verbosity_error()
        hub.logging.set_verbosity_error()
        logs.disable_progress_bar()
        hub.disable_progress_bars()
        try:
            yield
        finally:
            logs.set_verbosity(levels[0])
            hub.logging.set_verbosity(levels[1])
            if bars[0]:
                logs.enable_progress_bar()
            if bars[1]:
                hub.enable_progress_bars()
