"""One text: what an attacker guesses in it, with public texts or without any, how often rightly, and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from custext_sql.arrays import Floats, Numbers
from custext_sql.errors import SettingError
from custext_sql.experiments.bayes_attack import CERTAINTY
from custext_sql.experiments.context_attack import (
    Alphabet,
    BigramModel,
    OutputLikelihoods,
    SymbolText,
    count_context_guesses,
    find_success,
    guess_hidden,
    guess_singly,
    learn_bigrams,
    leave_out,
    normalize_text,
)
from custext_sql.experiments.query_attack import SAMPLE_SIMULATIONS, measure_queries
from custext_sql.experiments.report import list_counts
from custext_sql.experiments.texts import check_column_use, list_public
from custext_sql.experiments.verdict import Figures, Verdict, judge, vary
from custext_sql.files.inputs.texts import Texts, name_texts
from custext_sql.kinds import Kind
from custext_sql.mechanism.weights import check_epsilon
from custext_sql.parameters import check_type
from custext_sql.sanitizer.receipt import Receipt
from custext_sql.sanitizer.sanitizer import Sanitizer
from custext_sql.sanitizer.words import SPELLINGS
from custext_sql.text.columns import open_column
from custext_sql.text.encoded_text import spread_out
from custext_sql.text.word_boundaries import fold_word

_WORDS = 2_000  # to guess, so that the share is precise to about 1 percentage point
_CELLS = 1 << 20  # outputs times words of a group, worked on at a time
_ELSEWHERE = "texts in general (by Zipf's law)"  # from the ranks of words in the vector file
_YOURS = "your text"


@dataclass(frozen=True)
class WordChances:
    """How often an attacker guesses a replaced word from its replacement alone, over all possible draws."""

    right: float  # the probability that the best guess is right
    certain: float  # the probability of a replacement after which the attacker is at least 90% certain of that guess
    unchanged: float  # the probability that the word is replaced by itself


@dataclass(frozen=True)
class ContextChances:
    """How often an attacker guesses the replaced words of a text from the whole text, over simulated draws."""

    right: float  # the share of the replaced words that are guessed correctly
    all_right: float  # the share of the simulations in which every one of them is
    simulations: int


@dataclass(frozen=True)
class TextGuesses:
    """What an attacker guesses for the replaced words of one text."""

    places: tuple[int, ...]  # which words of the text were replaced, as places in the list of its words
    guesses: tuple[str, ...]  # the guess for each
    right: tuple[bool, ...]  # whether it is the original word
    certainties: tuple[float, ...]  # how certain the attacker is of it, 0 to 1
    with_context: bool  # whether the attacker looked at the whole text; if not, at each replacement alone

    @property
    def share(self) -> float | None:
        """The share of the replaced words that are guessed correctly; None if no word was replaced."""
        return sum(self.right) / len(self.right) if self.right else None


class TextAttacker:
    """An attacker of single texts, who knows the mapping, eps, the stopwords and the policy.

    With public texts, the attacker also knows which words follow each other there, and guesses from the whole text.
    Public texts that equal the attacked one or a line of it, apart from case and spaces, are left out. Without public
    texts, the attacker takes words for as frequent as their ranks in the vector file suggest (Zipf's law), and guesses
    each word from its replacement alone. Either way, the attacker is told which words are unknown words or numbers,
    even if the policy replaces them at random. Nothing is saved. Threads may share an attacker.

    sanitizer: the one that is attacked. plus: whether stopwords are kept; by default as the sanitizer does. public: the
    public texts: the path of a file, a DataTable, or a sequence of texts; the attribute is their name. public_column:
    their column.

    Methods take eps as the sanitizer does; by default it is the sanitizer's. SettingError if a setting is invalid or
    all public texts are empty; SourceError if a file cannot be read.
    """

    def __init__(
        self,
        sanitizer: Sanitizer,
        *,
        plus: bool | None = None,
        public: Texts | None = None,
        public_column: str | None = None,
    ) -> None:
        check_type(sanitizer, Sanitizer, "sanitizer must be a Sanitizer")
        check_column_use(public, public_column, public=True)
        self.sanitizer, self.plus = sanitizer, bool(sanitizer.settle_rows(None, plus, 1).plus)
        self.public = None if public is None else name_texts(public)
        self._mapping, self._replacer = sanitizer.mapping, sanitizer.replacer
        self._alphabet = Alphabet(self._mapping, self._replacer, plus=self.plus)
        self._texts = [] if public is None else leave_out(name_texts(public), list_public(public, public_column)[0], ())
        self._known = frozenset(map(normalize_text, self._texts))
        self._model = self._learn(self._texts)
        self._latest: tuple[frozenset[str], BigramModel] | None = None  # public texts, and the model without them

    def guess(self, text: str, outputs: Sequence[str], eps: float | None = None) -> TextGuesses:
        """Return the guesses for a text, from what is visible after it was sanitized.

        text: the original. Only what is visible of it is used for the guesses; the rest tells which are right. outputs:
        what became of each word, as `TracedText.list_outputs` returns it. SettingError if they do not belong together.
        """
        read = self._read(text)
        replaced = read.words.at(Kind.REPLACED)
        places = read.places[replaced]
        hidden, model = read.symbols[places], self._find_model(text)
        likelihoods = self._find_likelihoods(eps, read.symbols)
        visible = read.symbols.copy()
        visible[places] = self._find_outputs(read, outputs)
        if not likelihoods.find(visible[places])[np.arange(len(places)), self._alphabet.columns[hidden]].all():
            raise _mismatch()
        if self.public is None:
            guesses, certainties = guess_singly(model, likelihoods, visible[places])
        else:
            guesses, certainties = guess_hidden(model, likelihoods, visible)
            guesses, certainties = guesses[places], certainties[places]
        return TextGuesses(
            places=tuple(replaced.tolist()),
            guesses=tuple(self._mapping.words[number] for number in guesses.tolist()),
            right=tuple((guesses == hidden).tolist()),
            certainties=tuple(certainties.tolist()),
            with_context=self.public is not None,
        )

    def guess_word(self, output: str, eps: float | None = None) -> tuple[str, float]:
        """Return the best guess at a word from its replacement alone, and how certain it is, 0 to 1.

        MappingError if the mapping does not have the replacement; SettingError if no word becomes it at these settings.
        """
        visible = np.array([self._find(output)])
        likelihoods = self._find_likelihoods(eps, visible)
        if self._find_kind(int(visible[0])) == Kind.ALONE or not likelihoods.find(visible).any():
            raise SettingError("no word becomes this one at these settings")
        [guess], [certainty] = guess_singly(self._model, likelihoods, visible)
        return self._mapping.words[guess], float(certainty)

    def find_chances(self, word: str, eps: float | None = None) -> WordChances:
        """Return how often the attacker guesses a word from its replacement alone.

        MappingError if the mapping does not have the word; SettingError if it is kept or masked at these settings.
        """
        number = np.array([self._find(word)])
        if self._find_kind(int(number[0])) != Kind.REPLACED:
            raise SettingError("this word is not replaced at these settings, so there is nothing to guess")
        found = find_chances(self._model, self._find_likelihoods(eps, number), number)
        return WordChances(*(float(value) for [value] in found))

    def expect(self, text: str, eps: float | None = None) -> WordChances | None:
        """Return the same, averaged over the words of a text that are replaced; None if there are none."""
        read = self._read(text)
        words = read.symbols[read.places[read.words.at(Kind.REPLACED)]]
        if not len(words):
            return None
        found = find_chances(self._find_model(text), self._find_likelihoods(eps, words), words)
        return WordChances(*(float(values.mean()) for values in found))

    def expect_context(self, text: str, eps: float | None = None) -> ContextChances | None:
        """Return how often words are guessed from the whole text, in so many simulations that it is precise.

        None without public texts, and if no word is replaced.
        """
        words, epsilon = len(self._read(text).words.at(Kind.REPLACED)), self._settle(eps)
        if self.public is None or not words:
            return None
        simulations = -(-_WORDS // words) if epsilon else 1  # at eps = 0, all would be the same
        model, sampler, copies = self._find_model(text), self._replacer.mechanism, open_column([text] * simulations)[0]
        counts = count_context_guesses(model, sampler, copies, epsilon, seed=0)
        return ContextChances(find_success(counts), counts["texts_complete"] / counts["texts"], simulations)

    def count_draws(self, word: str, eps: float | None = None) -> tuple[int | None, int | None]:
        """Return how many draws of a word identify it, as `n_mode` and `n_ml` of `QueryResult`; None: no number does.

        The numbers come from 1,000 simulations. MappingError if the mapping does not have the word.
        """
        [found] = measure_queries(
            self._mapping,
            [self._mapping.words[self._find(word)]],
            [self._settle(eps)],
            calibration=self.sanitizer.settings.calibration,
            simulations=SAMPLE_SIMULATIONS,
            representatives=self._replacer.vocabulary.representatives(self.plus),
        )
        return found.n_mode, found.n_ml

    def _settle(self, eps: float | None) -> float:
        return self.sanitizer.settings.eps if eps is None else check_epsilon(eps)

    def _read(self, text: str) -> SymbolText:
        check_type(text, str, "the text must be a string")
        return self._alphabet.read(open_column([text])[0])

    def _find(self, word: str) -> int:
        """Return the number of a word, in any spelling that texts or outputs have."""
        check_type(word, str, "the word must be a string")
        number = self._replacer.find_number(word)
        number = self._unusual.get(fold_word(word)) if number is None else number
        return self._mapping.find(word) if number is None else number

    def _find_kind(self, number: int) -> Kind:
        return Kind(self._replacer.vocabulary.find_kinds(np.array([number], dtype=np.int32), self.plus)[0])

    def _find_likelihoods(self, eps: float | None, symbols: Numbers) -> OutputLikelihoods:
        """Return how likely outputs are, for the classes of these symbols."""
        classes = self._alphabet.classes[symbols]
        return OutputLikelihoods(self._alphabet, self._settle(eps), self.sanitizer.settings.calibration, classes)

    def _find_outputs(self, read: SymbolText, outputs: Sequence[str]) -> Numbers:
        """Return the replacements of the replaced words of a text, by number."""
        given, replaced = list(outputs), read.words.at(Kind.REPLACED).tolist()
        if len(given) != len(read.words.kinds) or not all(isinstance(given[place], str) for place in replaced):
            raise _mismatch()
        folded, classes = [fold_word(given[place]) for place in replaced], self._alphabet.classes
        found = np.array([self._mapping.index.get(word, -1) for word in folded], dtype=np.int64)
        groups = classes[read.symbols[read.places[replaced]]]
        for place in ((found < 0) | (classes[found] != groups)).nonzero()[0].tolist():
            found[place] = self._unusual.get(folded[place], -1)
        if (found < 0).any() or (classes[found] != groups).any():
            raise _mismatch()
        return found

    @cached_property
    def _unusual(self) -> dict[str, int]:
        """The words that are spelled differently after their case was changed there and back, in that spelling."""
        words = [(number, word) for number, word in enumerate(self._mapping.words) if not word.isascii()]
        spelled = {fold_word(spell(word)): number for spell in SPELLINGS.values() for number, word in words}
        return {word: number for word, number in spelled.items() if word != self._mapping.words[number]}

    def _find_model(self, text: str) -> BigramModel:
        """Return what the attacker of a text knows: from all public texts but this one and its lines."""
        own = [text, *text.splitlines()]
        names = self._known.intersection(map(normalize_text, own))
        if not names:
            return self._model
        latest = self._latest
        if latest is None or latest[0] != names:
            assert self.public is not None
            latest = self._latest = names, self._learn(leave_out(self.public, self._texts, own))
        return latest[1]

    def _learn(self, texts: list[str]) -> BigramModel:
        return learn_bigrams(self._alphabet, open_column(texts)[0])


def _mismatch() -> SettingError:
    return SettingError("outputs must be what became of each word of the text, at the same settings")


def find_chances(model: BigramModel, likelihoods: OutputLikelihoods, words: Numbers) -> tuple[Floats, Floats, Floats]:
    """Return for each of some words, by number, what `WordChances` says of one, in its order. All must be replaced."""
    alphabet = model.alphabet
    right, certain, unchanged = np.zeros((3, alphabet.size + 1))  # filled up, as rows of symbols are
    classes = np.unique(alphabet.classes[words])
    for some in np.array_split(classes, 1 + int(alphabet.sizes[classes].sum()) * alphabet.width // _CELLS):
        outputs = spread_out(alphabet.firsts[some], alphabet.sizes[some])
        rows, own = np.arange(len(outputs)), alphabet.classes[outputs]
        chances, hidden = likelihoods.find(outputs), alphabet.list_symbols(own)
        together = chances * model.find_chances(own)
        best = together.argmax(axis=1)
        np.add.at(right, hidden[rows, best], chances[rows, best])
        sure = together[rows, best] >= CERTAINTY * together.sum(axis=1)
        np.add.at(certain, hidden[sure], chances[sure])
        unchanged[outputs] = chances[rows, alphabet.columns[outputs]]
    return right[words], certain[words], unchanged[words]


def judge_text(attacker: TextAttacker, text: str, receipt: Receipt) -> Verdict:
    """Return the verdict on a text: what its receipt counts, and what the attacker guesses. Nothing is saved.

    text: the original. receipt: that of the text, from the attacked sanitizer; it says which eps. The best single guess
    is averaged over all possible draws, and the guesses with context over simulated ones. SettingError if the receipt
    is of several texts, or of another mapping.
    """
    check_type(attacker, TextAttacker, "attacker must be a TextAttacker")
    check_type(receipt, Receipt, "receipt must be a Receipt")
    sanitizer, eps, plus = attacker.sanitizer, receipt.eps, attacker.plus
    info = sanitizer.mapping.info
    if (receipt.rows, receipt.budgets, receipt.fingerprint) != (1, (eps,), info.fingerprint):
        raise SettingError("receipt must be that of the one text, made by the attacked sanitizer at one eps")
    now, at_zero = attacker.expect(text, eps), attacker.expect(text, 0.0)
    by_context, context_at_0 = attacker.expect_context(text, eps), attacker.expect_context(text, 0.0)
    figures = Figures(
        mapping=info.name,
        k=info.k,
        eps=eps,
        plus=plus,
        hides_among=receipt.hides_among or None,
        prior=attacker.public or _ELSEWHERE,
        guess=None if now is None else now.right,
        guess_at_0=None if at_zero is None else at_zero.right,
        certain=None if now is None else now.certain,
        context=None if by_context is None else by_context.right,
        context_at_0=None if context_at_0 is None else context_at_0.right,
        texts_guessed=None if by_context is None else by_context.all_right,
        dataset=_YOURS,
        counts=list_counts(receipt, receipt.replaced, receipt.replaced),
        numbers=sanitizer.policy.numbers,
        unchanged=None if now is None else now.unchanged,
    )
    if at_zero is None or eps == 0.0:
        return judge(figures)
    return judge(figures, [vary(figures, eps=0.0, guess=figures.guess_at_0, context=figures.context_at_0)])
