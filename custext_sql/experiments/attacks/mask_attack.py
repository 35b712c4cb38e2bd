"""The mask attack (mask token inference): how often words are guessed from the sanitized words around them."""

import math
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice, pairwise
from typing import Any, Protocol

import numpy as np

from custext_sql.arrays import Floats, Numbers
from custext_sql.errors import SettingError
from custext_sql.experiments.extras import Pretrained, choose_device, import_library, load_pretrained, pad_rows
from custext_sql.experiments.mechanisms import (
    CUSTEXT,
    CUSTEXT_PLUS,
    MappingUnderTest,
    ShareDone,
    Trial,
    cut,
    list_epsilons,
    part_of,
)
from custext_sql.experiments.public_texts import find_public_column, list_public
from custext_sql.kinds import Kind
from custext_sql.parameters import check_at_least, count_of
from custext_sql.release.inputs.texts import Texts, list_texts, name_texts
from custext_sql.sanitizer.policy import Policy, name_policy
from custext_sql.sanitizer.traced_text import Piece
from custext_sql.sanitizer.vocabulary import Vocabulary
from custext_sql.sanitizer.words import find_words
from custext_sql.store.database import Database
from custext_sql.text.columns import open_column, split_column
from custext_sql.text.encoded_text import EncodedText, find_distinct, spread_out
from custext_sql.text.word_boundaries import fold_word

NGRAM = "ngram"
_TEXTS = 4096  # that ngram guesses at a time
_CANDIDATES = 1 << 22  # words that it weighs at a time
_ADVICE = (
    "give the path of a masked language model, or use the model ngram with public texts: --model ngram --public FILE "
    '(in Python: model="ngram", public=...)'
)
_CONTEXTS = 2048  # that a language model sorts by length at a time
_TOKENIZED = 256  # texts that it tokenizes at a time, on all threads
_WHITE_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class MaskResult:
    """The success of the mask attack at one eps.

    eps: the budget per word.
    r_mask, standard_error: the share of all words that are guessed correctly, 0 to 1, and its standard error.
    privacy: the share of words that are not guessed, 1 - r_mask.
    r_mask_replaced: the share guessed correctly among words replaced by a draw; None if there is no such word.
    mechanism: "custext", or "custext+" if stopwords are kept. mapping: its name.
    model: the name or folder of the model that guesses, or "ngram". rows: the number of texts attacked.
    """

    eps: float
    r_mask: float
    standard_error: float
    privacy: float
    r_mask_replaced: float | None
    mechanism: str
    mapping: str
    model: str
    rows: int


@dataclass(frozen=True)
class MaskAttack:
    """The success of the mask attack on some texts.

    mapping: its name. mechanism: "custext", or "custext+" if stopwords are kept.
    policy: "paper" or "strict"; for any other Policy, how it differs from "strict".
    model: the name or folder of the model that guesses, or "ngram". rows: the number of texts attacked.
    skipped: by the name of the texts, how many were skipped because they are empty. results: one per eps.
    """

    mapping: str
    mechanism: str
    policy: str
    model: str
    rows: int
    skipped: dict[str, int]
    results: tuple[MaskResult, ...]


class Guesser(Protocol):
    """A guesser of words from the words around them."""

    def guess(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[str]]:
        """Yield a list per text with a folded guess for each of its words, made only from the new words around it."""
        ...


# A vocabulary, and whether stopwords are kept, decide how texts are split into words.
OpenGuesser = Callable[[Vocabulary, bool], Guesser]


@dataclass(frozen=True)
class GuessCounts:
    """How many words were attacked and guessed, and how many of those were replaced by a draw."""

    words: int
    guessed: int
    replaced: int
    replaced_guessed: int

    @property
    def r_mask(self) -> float:
        """The share of words guessed correctly, 0 to 1."""
        return self.guessed / self.words

    @property
    def standard_error(self) -> float:
        """The standard error of r_mask, as if words were guessed independently of each other."""
        return math.sqrt(self.r_mask * (1 - self.r_mask) / self.words)

    @property
    def r_mask_replaced(self) -> float | None:
        """The share guessed correctly among the words replaced by a draw; None if there is no such word."""
        return self.replaced_guessed / self.replaced if self.replaced else None


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

    All other arguments are those of `attack_context`.

    Returns a MaskAttack.

    SettingError if a setting is invalid, the model cannot be loaded or there is no word to attack; SourceError if a
    file cannot be read; MappingError if the mapping does not exist.
    """
    epsilons = list_epsilons(eps)
    if rows is not None:
        check_at_least(rows, 1, "rows")
    check_at_least(seed, 0, "seed")
    under_test = MappingUnderTest(database, mapping=mapping, policy=policy, calibration=calibration)
    given = list_texts(data, column, rows)
    texts = [text for text in given if text and text.strip()]
    skipped = {name_texts(data): len(given) - len(texts)}
    learned = None
    if public is not None:
        learned, skipped[name_texts(public)] = list_public(public, find_public_column(public, public_column, column))
    model = os.fspath(model)
    open_guesser = choose_guesser(model, public=learned, batch_size=batch_size)
    name, mechanism = under_test.mapping.info.name, CUSTEXT_PLUS if plus else CUSTEXT
    results = []
    for number, epsilon in enumerate(epsilons):
        trial = Trial(under_test, mechanism, epsilon, seed)
        counts = attack_trial(trial, texts, open_guesser, part_of(progress, number, len(epsilons)))
        shares = counts.r_mask, counts.standard_error, 1.0 - counts.r_mask, counts.r_mask_replaced
        results.append(MaskResult(epsilon, *shares, mechanism, name, model, len(texts)))
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


def attack_trial(trial: Trial, texts: Sequence[str], open_guesser: OpenGuesser, progress: ShareDone) -> GuessCounts:
    """Return how many words are guessed in a trial."""
    progress(0.0)
    mechanism = trial.open()
    guesser = open_guesser(trial.under_test.vocabulary, mechanism.plus)
    return count_guesses(mechanism.compare(texts, trial.epsilon, trial.seed), guesser, progress)


def count_guesses(
    texts: Sequence[Sequence[Piece]], guesser: Guesser, progress: ShareDone = lambda share: None
) -> GuessCounts:
    """Mask each word of each sanitized text in turn, and count the guesses that equal the original word.

    texts: as `Sanitizer.compare` returns them. progress: called with the share of texts done. SettingError if the texts
    contain no words.
    """
    if not any(piece.kind is not None for pieces in texts for piece in pieces):
        raise SettingError(f"found no words to attack in {count_of(len(texts), 'text')}; use other texts")
    words = guessed = replaced = replaced_guessed = 0
    for done, (pieces, guesses) in enumerate(zip(texts, guesser.guess(texts), strict=True), start=1):
        attacked = [piece for piece in pieces if piece.kind is not None]
        for piece, guess in zip(attacked, guesses, strict=True):
            right = guess == fold_word(piece.before)
            words += 1
            guessed += right
            replaced += piece.kind == Kind.REPLACED
            replaced_guessed += right and piece.kind == Kind.REPLACED
        progress(done / len(texts))
    return GuessCounts(words, guessed, replaced, replaced_guessed)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The distinct pairs of a neighbor on one side and a word, sorted, and how often each occurs."""

    width: int  # larger than any number of a word
    codes: Numbers  # neighbor * width + word
    counts: Numbers
    firsts: Numbers  # where the pairs of each neighbor start, and the end
    favorites: Numbers  # the most frequent word next to each neighbor; -1 if there is none

    @classmethod
    def count(cls, neighbors: Numbers, words: Numbers, width: int) -> "_Pairs":
        """Return the pairs that occur."""
        codes, counts = np.unique(neighbors * width + words, return_counts=True)
        rows = codes // width
        favorites = np.full(width, -1, dtype=np.int64)
        best = _find_best(rows, counts)
        favorites[rows[best]] = codes[best] % width
        return cls(width, codes, counts, rows.searchsorted(np.arange(width + 1)), favorites)

    def sizes(self, neighbors: Numbers) -> Numbers:
        """Return how many distinct words occur next to each neighbor."""
        found: Numbers = self.firsts[neighbors + 1] - self.firsts[neighbors]
        return found

    def find(self, neighbors: Numbers, words: Numbers) -> Numbers:
        """Return how often each pair occurs."""
        codes = neighbors * self.width + words
        places = np.minimum(self.codes.searchsorted(codes), len(self.codes) - 1)
        return np.where(self.codes[places] == codes, self.counts[places], 0)


class NgramGuesser:
    """A guesser of a word from its two neighbors, by counts of public texts. Made by `learn_ngrams`.

    The guess is the most frequent word between the neighbors. If there is none, it is the word with the largest
    count(left, word) * count(word, right) / count(word), among words seen both after the left and before the right
    neighbor; then the most frequent word after the left one, before the right one, or of all. Ties go to the word that
    occurred first. The ends of a text count as neighbors.
    """

    def __init__(self, words: Sequence[str], numbers: Numbers, texts: Numbers) -> None:
        """Take the distinct folded words in order of first occurrence, and the word and the text of each occurrence."""
        self._words = words
        self._index = {word: number for number, word in enumerate(words)}
        self._end, self._unknown = len(words), len(words) + 1
        width = len(words) + 2
        lefts, rights = self._find_neighbors(numbers, texts)
        self._behind = _Pairs.count(lefts, numbers, width)
        self._before = _Pairs.count(rights, numbers, width)
        self._around, places = np.unique(lefts * width + rights, return_inverse=True)  # the pairs of neighbors
        triples, counts = np.unique(places * width + numbers, return_counts=True)
        self._between = triples[_find_best(triples // width, counts)] % width  # the most frequent word of each pair
        self._counts = np.bincount(numbers, minlength=len(words))
        self._commonest = int(self._counts.argmax())

    def guess(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[str]]:
        """Yield a list per text with a guess for each of its words."""
        for start in range(0, len(texts), _TEXTS):
            block = texts[start : start + _TEXTS]
            words = [[fold_word(piece.after) for piece in pieces if piece.kind is not None] for pieces in block]
            numbers = np.array(
                [self._index.get(word, self._unknown) for text in words for word in text], dtype=np.int64
            )
            rows = np.arange(len(words)).repeat([len(text) for text in words])
            found = iter(self._guess_between(*self._find_neighbors(numbers, rows)).tolist())
            for text in words:
                yield [self._words[number] for number in islice(found, len(text))]

    def _find_neighbors(self, numbers: Numbers, texts: Numbers) -> tuple[Numbers, Numbers]:
        """Return the neighbors left and right of each word, within its text."""
        lefts, rights = np.full(len(numbers), self._end), np.full(len(numbers), self._end)
        together = (texts[1:] == texts[:-1]).nonzero()[0]
        lefts[together + 1], rights[together] = numbers[together], numbers[together + 1]
        return lefts, rights

    def _guess_between(self, lefts: Numbers, rights: Numbers) -> Numbers:
        width = self._behind.width
        asked, places = np.unique(lefts * width + rights, return_inverse=True)
        lefts, rights = asked // width, asked % width
        known = np.minimum(self._around.searchsorted(asked), len(self._around) - 1)
        guesses = np.where(self._around[known] == asked, self._between[known], -1)
        rest = (guesses < 0).nonzero()[0]
        sizes = np.minimum(self._behind.sizes(lefts[rest]), self._before.sizes(rights[rest]))
        for part in cut(sizes, _CANDIDATES):
            guesses[rest[part]] = self._weigh(lefts[rest[part]], rights[rest[part]])
        for fallback in (self._behind.favorites[lefts], self._before.favorites[rights], self._commonest):
            guesses = np.where(guesses < 0, fallback, guesses)
        return guesses[places]

    def _weigh(self, lefts: Numbers, rights: Numbers) -> Numbers:
        """Return the most likely of the words seen next to both neighbors; -1 if there is none."""
        guesses = np.full(len(lefts), -1)
        left_is_rarer = self._behind.sizes(lefts) <= self._before.sizes(rights)
        for chosen, pairs, others, near, far in (
            (left_is_rarer, self._behind, self._before, lefts, rights),
            (~left_is_rarer, self._before, self._behind, rights, lefts),
        ):
            asked = chosen.nonzero()[0]
            sizes = pairs.sizes(near[asked])
            candidates = spread_out(pairs.firsts[near[asked]], sizes)
            words, asked = pairs.codes[candidates] % pairs.width, asked.repeat(sizes)
            counts = others.find(far[asked], words)
            both = counts.nonzero()[0]
            words, asked = words[both], asked[both]
            scores = pairs.counts[candidates[both]] * counts[both] / self._counts[words]
            best = _find_best(asked, scores)
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


@dataclass(frozen=True)
class _Tokenized:
    """A text and its tokens, without special tokens at its ends."""

    text: str
    tokens: list[int]
    starts: list[int]
    ends: list[int]


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
        encoded = self._tokenizer("a", return_special_tokens_mask=True)
        added, tokens = encoded["special_tokens_mask"], encoded["input_ids"]
        self._before, self._after = tokens[: added.index(0)], tokens[len(added) - added[::-1].index(0) :]
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
        while block := list(islice(contexts, _CONTEXTS)):
            guesses = [0] * len(block)
            order = sorted(range(len(block)), key=lambda number: len(block[number]))
            for start in range(0, len(order), self._batch_size):
                batch = order[start : start + self._batch_size]
                for number, token in zip(batch, self._fill_masks([block[number] for number in batch]), strict=True):
                    guesses[number] = token
            yield from map(self._spell, guesses)

    def _find_contexts(self, texts: Sequence[Sequence[Piece]]) -> Iterator[list[int]]:
        """Yield the tokens that the model sees for each word of each text, with one mask among them."""
        for start in range(0, len(texts), _TOKENIZED):
            joined = [join_pieces(pieces) for pieces in texts[start : start + _TOKENIZED]]
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

    def _mask_word(self, text: _Tokenized, begin: int, end: int) -> list[int]:
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
        masked = [*before[first:left], self._tokenizer.mask_token_id, *after[right : right + behind]]
        return [*self._before, *masked, *self._after]

    def _fill_masks(self, rows: Sequence[list[int]]) -> list[int]:
        """Return the most likely token at the mask of each row of tokens."""
        torch = import_library("torch")
        tokens = pad_rows(rows, self._tokenizer.pad_token_id or 0).to(self._device)
        attention = pad_rows([[1] * len(row) for row in rows], 0).to(self._device)
        masks = torch.tensor([row.index(self._tokenizer.mask_token_id) for row in rows], device=self._device)
        texts = torch.arange(len(rows), device=self._device)

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
