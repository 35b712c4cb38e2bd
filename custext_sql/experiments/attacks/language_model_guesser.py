"""A guesser that uses a masked language model: the word it finds most likely in place of each mask."""

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from custext_sql.errors import SettingError
from custext_sql.experiments.extras import import_library
from custext_sql.experiments.pretrained_models import (
    Pretrained,
    choose_device,
    load_pretrained,
    pad_rows,
)
from custext_sql.parameters import check_at_least, count_of
from custext_sql.replacing.replacer import Piece
from custext_sql.text.word_boundaries import fold_word

_ADVICE = (
    "give the path of a masked language model, or use the model ngram with public texts: --model ngram --public FILE "
    '(in Python: model="ngram", public=...)'
)
_BLOCK = 2048  # contexts sorted by length at a time
_TEXTS = 256  # texts tokenized at a time, on all threads
_WHITE_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class _Context:
    """The tokens that the model sees, and the place of the mask among them."""

    tokens: list[int]
    mask: int


@dataclass(frozen=True)
class _Tokenized:
    """A text and its tokens, without special tokens at its ends."""

    text: str
    tokens: list[int]
    starts: list[int]
    ends: list[int]


class LanguageModelGuesser:
    """A guesser of the word that the model finds most likely at a mask. Made by `open_language_model`."""

    def __init__(self, pretrained: Pretrained, *, batch_size: int, length: int | None) -> None:
        self._device = choose_device()
        self._model = pretrained.model.to(self._device)
        self._tokenizer = pretrained.tokenizer
        self._batch_size = batch_size
        self._before, self._after = find_end_tokens(pretrained)
        ends = len(self._before) + len(self._after)
        self._room = pretrained.check_length(length, ends + 1) - ends
        self._spellings: dict[int, str] = {}

    def guess(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[str]]:
        """Yield a list per text with a guess for each of its words. A run of white space counts as one space."""
        guesses = self._guess_words(texts)
        for pieces in texts:
            yield list(islice(guesses, sum(piece.kind is not None for piece in pieces)))

    def _guess_words(self, texts: Sequence[Sequence[Piece]]) -> Iterator[str]:
        contexts = self._find_contexts(texts)
        while block := list(islice(contexts, _BLOCK)):
            guesses = [0] * len(block)
            order = sorted(range(len(block)), key=lambda number: len(block[number].tokens))
            for start in range(0, len(order), self._batch_size):
                batch = order[start : start + self._batch_size]
                for number, token in zip(batch, self._fill_masks([block[number] for number in batch]), strict=True):
                    guesses[number] = token
            yield from map(self._spell, guesses)

    def _find_contexts(self, texts: Sequence[Sequence[Piece]]) -> Iterator[_Context]:
        """Yield a context for each word of each text."""
        for start in range(0, len(texts), _TEXTS):
            joined = [join_pieces(pieces) for pieces in texts[start : start + _TEXTS]]
            tokenized = self._tokenize([text for text, _ in joined])
            for text, (_, words) in zip(tokenized, joined, strict=True):
                for begin, end in words:
                    yield self._mask_word(text, begin, end)

    def _tokenize(self, texts: list[str]) -> list[_Tokenized]:
        encoded = self._tokenizer(
            texts,
            add_special_tokens=False,
            split_special_tokens=True,  # [MASK] in a text is just text
            return_offsets_mapping=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        return [
            _Tokenized(text, tokens, [start for start, _ in spans], [end for _, end in spans])
            for text, tokens, spans in zip(texts, encoded["input_ids"], encoded["offset_mapping"], strict=True)
        ]

    def _mask_word(self, text: _Tokenized, begin: int, end: int) -> _Context:
        """Return the text with one mask in place of a word, cut to the model's length around the mask.

        The tokens left and right of the word are those of the whole text, so that the model sees the same tokens next
        to a mask as next to a word. Only if a token crosses an edge of the word is each side tokenized separately.
        """
        left, right = bisect_right(text.ends, begin), bisect_left(text.starts, end)
        within = range(left, right)
        if within and (text.text[text.starts[left] : begin].strip() or text.ends[right - 1] > end):
            sides = self._tokenize([text.text[:begin].rstrip(), text.text[end:]])
            before, after = sides[0].tokens, sides[1].tokens
            left, right = len(before), 0
        else:
            before = after = text.tokens
            while left and not text.text[text.starts[left - 1] : text.ends[left - 1]].strip():
                left -= 1  # the space before a word belongs to the word, and so to the mask
        size = left + 1 + len(after) - right
        first = max(0, min(left - self._room // 2, size - self._room))
        behind = min(size, first + self._room) - left - 1
        tokens = [*self._before, *before[first:left], self._tokenizer.mask_token_id]
        return _Context([*tokens, *after[right : right + behind], *self._after], len(tokens) - 1)

    def _fill_masks(self, contexts: Sequence[_Context]) -> list[int]:
        """Return the most likely token at the mask of each context."""
        torch = import_library("torch")
        rows = [context.tokens for context in contexts]
        tokens = pad_rows(rows, self._tokenizer.pad_token_id or 0).to(self._device)
        attention = pad_rows([[1] * len(row) for row in rows], 0).to(self._device)
        masks = torch.tensor([context.mask for context in contexts], device=self._device)
        texts = torch.arange(len(contexts), device=self._device)

        def keep_masks(module: Any, arguments: Any, output: Any) -> Any:
            if isinstance(output, dict) and "last_hidden_state" in output:
                output["last_hidden_state"] = output["last_hidden_state"][texts, masks].unsqueeze(1)
            return output

        # The head computes a score for the whole vocabulary per token, so it is given only the masks.
        hook = self._model.base_model.register_forward_hook(keep_masks)
        try:
            with torch.inference_mode():
                scores = self._model(input_ids=tokens, attention_mask=attention).logits
        finally:
            hook.remove()
        at_masks = scores[:, 0] if scores.shape[1] == 1 else scores[texts, masks]
        return [int(token) for token in at_masks.argmax(dim=-1).tolist()]

    def _spell(self, token: int) -> str:
        """Return a token as a folded word. A token that continues a word, such as ##ing, keeps its spelling."""
        if token not in self._spellings:
            written = self._tokenizer.decode([token], clean_up_tokenization_spaces=False)
            self._spellings[token] = fold_word(written.strip())
        return self._spellings[token]


def open_language_model(
    name_or_path: str | os.PathLike[str], *, batch_size: int = 32, length: int | None = None
) -> LanguageModelGuesser:
    """Return the masked language model of that name or in that folder, ready to guess.

    batch_size: masked texts per model call. length: the largest number of tokens per text, including special tokens.
    SettingError if the model cannot be loaded or is not a masked language model.
    """
    batch_size = check_at_least(batch_size, 1, "batch_size")
    pretrained = load_pretrained(name_or_path, "AutoModelForMaskedLM", advice=_ADVICE)
    found = _find_flaw(pretrained)
    if found is not None:
        raise SettingError(f"the model {pretrained.name} cannot guess masked words: {found}; {_ADVICE}")
    return LanguageModelGuesser(pretrained, batch_size=batch_size, length=length)


def join_pieces(pieces: Sequence[Piece]) -> tuple[str, list[tuple[int, int]]]:
    """Return a new text with one space per run of white space, and where each of its words starts and ends."""
    written: list[str] = []
    words: list[tuple[int, int]] = []
    size = 0
    for piece in pieces:
        if piece.kind is None:
            text = _WHITE_SPACE.sub(" ", piece.after)
            if not size or written[-1].endswith(" "):
                text = text.lstrip(" ")
        else:
            text = piece.after
            words.append((size, size + len(text)))
        if text:
            written.append(text)
            size += len(text)
    return "".join(written).rstrip(" "), words


def find_end_tokens(pretrained: Pretrained) -> tuple[list[int], list[int]]:
    """Return the tokens that the tokenizer adds before a text and after it."""
    encoded = pretrained.tokenizer("a", return_special_tokens_mask=True)
    added, tokens = encoded["special_tokens_mask"], encoded["input_ids"]
    return tokens[: added.index(0)], tokens[len(added) - added[::-1].index(0) :]


def _find_flaw(pretrained: Pretrained) -> str | None:
    if pretrained.tokenizer.mask_token is None:
        return "its tokenizer has no mask token"
    if not pretrained.tokenizer.is_fast:
        return "its tokenizer does not report the positions of tokens (it is not a fast tokenizer)"
    if pretrained.missing:
        lacking = count_of(len(pretrained.missing), "weight")
        return f"its files lack {lacking} of a masked language model ({pretrained.missing[0]})"
    return None
