"""The mask attack (mask token inference): how often words are guessed from the sanitized words around them."""

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice, pairwise
from typing import Any, Protocol

import numpy as np

from custext_sql.arrays import Floats, Numbers
from custext_sql.errors import SettingError
from custext_sql.experiments.context_attack import check_attack
from custext_sql.experiments.extras import Pretrained, choose_device, import_library, load_pretrained
from custext_sql.experiments.mechanisms import CUSTEXT, CUSTEXT_PLUS, MappingUnderTest, ShareDone, Trial, cut, part_of
from custext_sql.experiments.texts import find_public_column, list_public
from custext_sql.files.inputs.texts import Texts, list_texts, name_texts
from custext_sql.kinds import Kind
from custext_sql.parameters import check_at_least, count_of
from custext_sql.sanitizer.policy import Policy, name_policy
from custext_sql.sanitizer.traced_text import Piece
from custext_sql.sanitizer.words import Vocabulary, find_words
from custext_sql.store.database import Database
from custext_sql.text.columns import open_column, split_column
from custext_sql.text.encoded_text import EncodedText, find_distinct, spread_out
from custext_sql.text.word_boundaries import fold_word

NGRAM = "ngram"
_CANDIDATES = 1 << 22  # words that ngram weighs at a time
_ADVICE = (
    "give the path of a masked language model, or use the model ngram with public texts: --model ngram --public FILE "
    '(in Python: model="ngram", public=...)'
)
_CONTEXTS = 2048  # that a language model sorts by length at a time
_TOKENIZED = 256  # masked texts that it tokenizes at a time, on all threads
_WHITE_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class MaskResult:
    """The success of the mask attack at one eps. Shares are 0 to 1."""

    eps: float  # the budget per word
    r_mask: float  # the share of all words that are guessed correctly
    standard_error: float
    privacy: float  # the share of words that are not guessed
    r_mask_replaced: float | None  # the share among words replaced by a draw; None if there is no such word
    mechanism: str  # "custext", or "custext+" if stopwords are kept
    mapping: str  # its name
    model: str  # the name or folder of the model that guesses, or "ngram"
    rows: int  # the number of texts attacked


@dataclass(frozen=True)
class MaskAttack:
    """The success of the mask attack on some texts."""

    mapping: str  # its name
    mechanism: str  # "custext", or "custext+" if stopwords are kept
    policy: str  # "paper" or "strict"; for any other Policy, how it differs from "strict"
    model: str  # the name or folder of the model that guesses, or "ngram"
    rows: int  # the number of texts attacked
    skipped: dict[str, int]  # by the name of the texts, how many were skipped because they are empty
    results: tuple[MaskResult, ...]  # one per eps


class Guesser(Protocol):
    """A guesser of words from the words around them."""

    def guess(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[str]]:
        """Yield a list per text with a folded guess for each of its words, made only from the new words around it."""
        ...


# A vocabulary, and whether stopwords are kept, decide how texts are split into words.
OpenGuesser = Callable[[Vocabulary, bool], Guesser]


def attack_mask(
    database: Database = None,
    *,
    model: str | os.PathLike[str],
    data: Texts,
    column: str | None = None,
    public: Texts | None = None,
    public_column: str | None = None,
    rows: int | None = 200,
    eps: float | Sequence[float] = (0.0, 1.0, 2.0, 3.0),
    plus: bool = False,
    policy: str | Policy = "paper",
    calibration: str = "paper",
    mapping: str | None = None,
    seed: int = 0,
    batch_size: int = 32,
    progress: ShareDone | None = None,
) -> MaskAttack:
    """Sanitize texts, mask each word in turn, and count how often a model guesses the original word.

    This is the paper's mask token inference attack.

    model: a masked language model of Hugging Face, by its name or folder (needs the extra `models`), or "ngram",
        which learns from `public`.
    public: the texts from which "ngram" learns, like data; only the empty ones are left out.
    batch_size: masked texts per model call, at least 1.

    All other arguments, and the errors, are those of `attack_context`. SettingError also if the model cannot be loaded.
    """
    epsilons = check_attack(eps, rows, seed)
    under_test = MappingUnderTest(database, mapping=mapping, policy=policy, calibration=calibration)
    given = list_texts(data, column, rows)
    texts = [text for text in given if text and text.strip()]
    skipped, learned = {name_texts(data): len(given) - len(texts)}, None
    if public is not None:
        learned, skipped[name_texts(public)] = list_public(public, find_public_column(public, public_column, column))
    model, mechanism = os.fspath(model), CUSTEXT_PLUS if plus else CUSTEXT
    open_guesser = choose_guesser(model, public=learned, batch_size=batch_size)
    name, results = under_test.mapping.info.name, []
    for number, epsilon in enumerate(epsilons):
        trial = Trial(under_test, mechanism, epsilon, seed)
        counts = attack_trial(trial, texts, open_guesser, part_of(progress, number, len(epsilons)))
        r_mask, replaced = find_r_mask(counts), counts["replaced"]
        result = MaskResult(
            eps=epsilon,
            r_mask=r_mask,
            standard_error=math.sqrt(r_mask * (1 - r_mask) / counts["words"]),  # as if words were independent
            privacy=1.0 - r_mask,
            r_mask_replaced=counts["replaced_guessed"] / replaced if replaced else None,
            mechanism=mechanism,
            mapping=name,
            model=model,
            rows=len(texts),
        )
        results.append(result)
    policy = name_policy(under_test.policy)
    return MaskAttack(name, mechanism, policy, model, len(texts), skipped, tuple(results))


def choose_guesser(model: str, *, public: Sequence[str] | None, batch_size: int = 32) -> OpenGuesser:
    """Return the n-gram guesser, which learns from public texts, or a masked language model of Hugging Face."""
    if model == NGRAM:
        if public is None:
            raise SettingError("the model ngram learns from public texts; use --public FILE (in Python: public=...)")
        return lru_cache(maxsize=4)(partial(learn_ngrams, public))
    guesser = LanguageModelGuesser(model, batch_size=batch_size)
    return lambda vocabulary, plus: guesser


def attack_trial(trial: Trial, texts: Sequence[str], open_guesser: OpenGuesser, progress: ShareDone) -> Counter[str]:
    """Return the counts of `count_guesses` in a trial."""
    progress(0.0)
    guesser = open_guesser(trial.under_test.vocabulary, trial.plus)
    return count_guesses(trial.compare(texts), guesser, progress)


def find_r_mask(counts: Counter[str]) -> float:
    """Return the share of all words that are guessed correctly."""
    return counts["guessed"] / counts["words"]


def count_guesses(
    texts: Sequence[Sequence[Piece]], guesser: Guesser, progress: ShareDone = lambda share: None
) -> Counter[str]:
    """Mask each word of each sanitized text in turn, and count the words and the correct guesses.

    words; guessed: those guessed correctly; replaced: those replaced by a draw; replaced_guessed: both. SettingError if
    the texts contain no words.
    """
    if not any(piece.kind is not None for pieces in texts for piece in pieces):
        raise SettingError(f"found no words to attack in {count_of(len(texts), 'text')}; use other texts")
    counts = Counter[str]()
    for done, (pieces, guesses) in enumerate(zip(texts, guesser.guess(texts), strict=True), start=1):
        attacked = [piece for piece in pieces if piece.kind is not None]
        for piece, guess in zip(attacked, guesses, strict=True):
            right, replaced = guess == fold_word(piece.before), piece.kind == Kind.REPLACED
            counts.update(words=1, guessed=right, replaced=replaced, replaced_guessed=right and replaced)
        progress(done / len(texts))
    return counts


class _Pairs:
    """How often each word occurs with each key, such as the word to its left.

    For the keys 5 5 9 5 of the words 1 2 1 1, the rows are 5 9, and the pairs 5-1, 5-2, 9-1 have the words 1 2 1 and
    the counts 2 1 1. By row, they have the starts 0 2, the sizes 2 1, and the favorites 1 1, the most frequent word (of
    several, the first). Keys that do not occur have the row -1, with the size 0 and the favorite -1.
    """

    def __init__(self, keys: Numbers, words: Numbers) -> None:
        self._keys, rows = np.unique(keys, return_inverse=True)
        self._width = int(words.max()) + 1
        self._codes, self.counts = np.unique(rows * self._width + words, return_counts=True)
        rows, self.words = np.divmod(self._codes, self._width)
        self.starts = np.append(rows.searchsorted(np.arange(len(self._keys))), 0)
        self.sizes = np.append(np.bincount(rows), 0)
        self.favorites = np.append(self.words[_find_best(rows, self.counts)], -1)

    def find_rows(self, keys: Numbers) -> Numbers:
        """Return the row of each key."""
        rows = np.minimum(self._keys.searchsorted(keys), len(self._keys) - 1)
        return np.where(self._keys[rows] == keys, rows, -1)

    def find_counts(self, rows: Numbers, words: Numbers) -> Numbers:
        """Return how often each of some pairs occurs."""
        codes = rows * self._width + words
        places = np.minimum(self._codes.searchsorted(codes), len(self._codes) - 1)
        return np.where(self._codes[places] == codes, self.counts[places], 0)


class NgramGuesser:
    """A guesser of a word from its two neighbors, by counts of public texts. Made by `learn_ngrams`.

    The guess is the most frequent word between the neighbors. If there is none, it is the word with the largest
    count(left, word) * count(word, right) / count(word), among words seen both after the left and before the right
    neighbor; then the most frequent word after the left one, before the right one, or of all. Ties go to the word that
    occurred first. The ends of a text count as neighbors.

    This is not the bigram model of the context attack, which could replace it only with other figures: that one knows
    groups and eps, and weighs smoothed probabilities over the whole text; this one knows neither, guesses any word of
    the public texts, and prefers words seen between exactly these neighbors.
    """

    def __init__(self, words: Sequence[str], numbers: Numbers, texts: Numbers) -> None:
        """Take the distinct folded words in order of first occurrence, and the word and the text of each occurrence."""
        self._words = words
        self._index = {word: number for number, word in enumerate(words)}
        self._end, self._unknown, self._width = len(words), len(words) + 1, len(words) + 2
        lefts, rights = self._find_neighbors(numbers, texts)
        self._between = _Pairs(lefts * self._width + rights, numbers)
        self._behind, self._before = _Pairs(lefts, numbers), _Pairs(rights, numbers)
        self._counts = np.bincount(numbers)

    def guess(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[str]]:
        """Yield a list per text with a guess for each of its words."""
        words = [[fold_word(piece.after) for piece in pieces if piece.kind is not None] for pieces in texts]
        lengths = list(map(len, words))
        numbers = np.array([self._index.get(word, self._unknown) for text in words for word in text], dtype=np.int64)
        lefts, rights = self._find_neighbors(numbers, np.arange(len(texts)).repeat(lengths))
        asked, places = np.unique(lefts * self._width + rights, return_inverse=True)
        found = iter(self._guess_between(asked)[places].tolist())
        for length in lengths:
            yield [self._words[number] for number in islice(found, length)]

    def _find_neighbors(self, numbers: Numbers, texts: Numbers) -> tuple[Numbers, Numbers]:
        """Return the neighbors left and right of each word, within its text."""
        lefts, rights = np.full(len(numbers), self._end), np.full(len(numbers), self._end)
        together = (texts[1:] == texts[:-1]).nonzero()[0]
        lefts[together + 1], rights[together] = numbers[together], numbers[together + 1]
        return lefts, rights

    def _guess_between(self, neighbors: Numbers) -> Numbers:
        """Return the guess between two neighbors. neighbors: left * width + right, each pair once."""
        lefts, rights = np.divmod(neighbors, self._width)
        lefts, rights = self._behind.find_rows(lefts), self._before.find_rows(rights)
        guesses = self._between.favorites[self._between.find_rows(neighbors)]
        rest = (guesses < 0).nonzero()[0]
        sizes = np.minimum(self._behind.sizes[lefts[rest]], self._before.sizes[rights[rest]])
        for part in cut(sizes, _CANDIDATES):
            guesses[rest[part]] = self._weigh(lefts[rest[part]], rights[rest[part]])
        for fallback in (self._behind.favorites[lefts], self._before.favorites[rights], self._counts.argmax()):
            guesses = np.where(guesses < 0, fallback, guesses)
        return guesses

    def _weigh(self, lefts: Numbers, rights: Numbers) -> Numbers:
        """Return the most likely of the words seen next to both neighbors, given by their rows; -1 if there is none."""
        guesses = np.full(len(lefts), -1)
        left_is_rarer = self._behind.sizes[lefts] <= self._before.sizes[rights]
        for chosen, pairs, others, near, far in (
            (left_is_rarer, self._behind, self._before, lefts, rights),
            (~left_is_rarer, self._before, self._behind, rights, lefts),
        ):
            asked = chosen.nonzero()[0]
            sizes = pairs.sizes[near[asked]]
            candidates, asked = spread_out(pairs.starts[near[asked]], sizes), asked.repeat(sizes)
            words = pairs.words[candidates]
            counts = others.find_counts(far[asked], words)
            both = counts.nonzero()[0]
            words, asked = words[both], asked[both]
            best = _find_best(asked, pairs.counts[candidates[both]] * counts[both] / self._counts[words])
            guesses[asked[best]] = words[best]
        return guesses


def learn_ngrams(texts: Sequence[str | None], vocabulary: Vocabulary, plus: bool = False) -> NgramGuesser:
    """Return a guesser that has counted the words of public texts and their neighbors.

    vocabulary, plus: words with apostrophes are split as a sanitizer with this vocabulary splits them. SettingError if
    the texts contain no words.
    """
    column = open_column(texts)[0]
    index: dict[str, int] = {}
    numbers, rows = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for part, block in split_column(column):
        text = EncodedText(block.text)
        found = find_words(text, block.offsets, vocabulary, plus=plus)
        spans = find_distinct(text.content, found.starts, found.ends)
        words = [spans.content[start:end].tobytes().decode() for start, end in pairwise(spans.offsets.tolist())]
        folded = np.array([index.setdefault(fold_word(word), len(index)) for word in words], dtype=np.int64)
        numbers.append(folded[spans.numbers])
        rows.append(found.rows + part.start)
    if not index:
        raise SettingError(
            f"the model ngram learns from the words of public texts; found no words in {count_of(len(column), 'text')}"
        )
    return NgramGuesser(list(index), np.concatenate(numbers), np.concatenate(rows))


def _find_best(rows: Numbers, scores: Numbers | Floats) -> Numbers:
    """Return the place of the largest score of each row; of equal scores, the first."""
    order = np.lexsort((-scores, rows))
    ordered = rows[order]
    found: Numbers = order[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


class LanguageModelGuesser:
    """A guesser of the word that a masked language model finds most likely at a mask.

    model: its name or folder. batch_size: masked texts per model call. length: the largest number of tokens per text,
    including special tokens. SettingError if the model cannot be loaded or is not a masked language model.
    """

    def __init__(self, model: str | os.PathLike[str], *, batch_size: int = 32, length: int | None = None) -> None:
        self._batch_size = check_at_least(batch_size, 1, "batch_size")
        pretrained = load_pretrained(model, "AutoModelForMaskedLM", advice=_ADVICE)
        if (flaw := _find_flaw(pretrained)) is not None:
            raise SettingError(f"the model {pretrained.name} cannot guess masked words: {flaw}; {_ADVICE}")
        self._device, self._tokenizer = choose_device(), pretrained.tokenizer
        self._model = pretrained.model.to(self._device)
        self._pad = import_library("transformers").DataCollatorWithPadding(self._tokenizer)
        encoded = self._tokenizer("a", return_special_tokens_mask=True)
        added, tokens = encoded["special_tokens_mask"], encoded["input_ids"]
        self._before, self._after = tokens[: added.index(0)], tokens[len(added) - added[::-1].index(0) :]
        ends = len(self._before) + len(self._after)
        self._room = pretrained.check_length(length, ends + 1) - ends

    def guess(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[str]]:
        """Yield a list per text with a guess for each of its words. A run of white space counts as one space."""
        guesses = self._guess_words(texts)
        for pieces in texts:
            yield list(islice(guesses, sum(piece.kind is not None for piece in pieces)))

    def _guess_words(self, texts: Sequence[Sequence[Piece]]) -> Iterator[str]:
        contexts = self._find_contexts(texts)
        while block := list(islice(contexts, _CONTEXTS)):
            guesses = [0] * len(block)
            order = sorted(range(len(block)), key=lambda number: len(block[number]))
            for start in range(0, len(order), self._batch_size):
                batch = order[start : start + self._batch_size]
                for number, token in zip(batch, self._fill_masks([block[number] for number in batch]), strict=True):
                    guesses[number] = token
            yield from map(self._spell, guesses)

    def _find_contexts(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[int]]:
        """Yield the tokens that the model sees for each word of each text: a mask, and as much around it as fits."""
        masked = (one for pieces in texts for one in self._mask_words(*join_pieces(pieces)))
        while some := list(islice(masked, _TOKENIZED)):
            for tokens in self._tokenizer(some, add_special_tokens=False, verbose=False)["input_ids"]:
                place = tokens.index(self._tokenizer.mask_token_id)
                first = max(0, min(place - self._room // 2, len(tokens) - self._room))
                yield [*self._before, *tokens[first : first + self._room], *self._after]

    def _mask_words(self, text: str, words: Sequence[tuple[int, int]]) -> Iterator[str]:
        """Yield, for each word, the text around it with the word masked, cut to what the model can read.

        words: where each word of the text starts and ends.
        """
        starts = [0] * self._room + [start for start, _ in words]
        ends = [end for _, end in words] + [len(text)] * self._room
        for place, (start, end) in enumerate(words):
            sides = text[starts[place] : start], text[end : ends[place + self._room]]
            yield self._tokenizer.mask_token.join(map(self._hide_special, sides))

    def _hide_special(self, text: str) -> str:
        """Return a text in which special tokens are just text, such as [ MASK]."""
        for token in self._tokenizer.all_special_tokens:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text

    def _fill_masks(self, rows: Sequence[list[int]]) -> list[int]:
        """Return the most likely token at the mask of each row of tokens."""
        torch = import_library("torch")
        batch = self._pad([{"input_ids": row} for row in rows]).to(self._device)
        masks = (batch["input_ids"] == self._tokenizer.mask_token_id).int().argmax(dim=1)
        texts = torch.arange(len(rows), device=self._device)

        def keep_masks(module: Any, arguments: Any, output: Any) -> Any:
            if isinstance(output, dict) and "last_hidden_state" in output:
                output["last_hidden_state"] = output["last_hidden_state"][texts, masks].unsqueeze(1)
            return output

        # The head computes a score for the whole vocabulary per token, so it is given only the masks.
        hook = self._model.base_model.register_forward_hook(keep_masks)
        try:
            with torch.inference_mode():
                scores = self._model(**batch).logits
        finally:
            hook.remove()
        at_masks = scores[:, 0] if scores.shape[1] == 1 else scores[texts, masks]
        return [int(token) for token in at_masks.argmax(dim=-1).tolist()]

    def _spell(self, token: int) -> str:
        """Return a token as a folded word. A token that continues a word, such as ##ing, keeps its spelling."""
        written: str = self._tokenizer.decode([token], clean_up_tokenization_spaces=False)
        return fold_word(written.strip())


def join_pieces(pieces: Sequence[Piece]) -> tuple[str, list[tuple[int, int]]]:
    """Return a new text with one space per run of white space, and where each of its words starts and ends."""
    written, words = "", []
    for piece in pieces:
        text = piece.after
        if piece.kind is not None:
            words.append((len(written), len(written) + len(text)))
        else:
            text = _WHITE_SPACE.sub(" ", text)
            text = text.lstrip(" ") if not written or written.endswith(" ") else text
        written += text
    return written.rstrip(" "), words


def _find_flaw(pretrained: Pretrained) -> str | None:
    if pretrained.tokenizer.mask_token is None:
        return "its tokenizer has no mask token"
    if not pretrained.tokenizer.is_fast:
        return "its tokenizer does not report the positions of tokens (it is not a fast tokenizer)"
    if pretrained.missing:
        lacking = count_of(len(pretrained.missing), "weight")
        return f"its files lack {lacking} of a masked language model ({pretrained.missing[0]})"
    return None
