"""What a verdict is based on: settings, attacks, what becomes of words, and how many of them an attacker reads."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fates:
    """What becomes of the words of some texts. The counts after `words` add up to it.

    rows: texts. words: all their words. replaced: words replaced from their group.
    stopwords: kept because of `plus`. public: kept because they are on the list of public words. endings: English
        endings such as 's, kept.
    unknown_kept, numbers_kept: not in the vocabulary, and in the clear.
    unknown_masked, numbers_masked, units_masked, others_masked: masked; a unit is an e-mail address, a date and so on;
        others are alone in their groups.
    altered: unknown words replaced at random, and numbers with changed digits.
    symbols: characters in the clear that are neither words, spaces nor punctuation.
    unchanged: how many of the replaced words are expected to be replaced by themselves; None: unknown.
    median_replaced, largest_replaced: replaced words per row, the median and the largest number; None: unknown.
    """

    rows: int
    words: int
    replaced: int
    stopwords: int = 0
    public: int = 0
    endings: int = 0
    unknown_kept: int = 0
    numbers_kept: int = 0
    unknown_masked: int = 0
    numbers_masked: int = 0
    units_masked: int = 0
    others_masked: int = 0
    altered: int = 0
    symbols: int = 0
    unchanged: float | None = None
    median_replaced: float | None = None
    largest_replaced: int | None = None

    @property
    def exposed(self) -> int:
        """Words outside the vocabulary that pass unchanged."""
        return self.unknown_kept + self.numbers_kept

    @property
    def kept(self) -> int:
        """Words that stay on purpose."""
        return self.stopwords + self.public + self.endings

    @property
    def masked(self) -> int:
        """Words that are masked."""
        return self.unknown_masked + self.numbers_masked + self.units_masked + self.others_masked

    def share(self, words: float) -> float:
        """Return a number of words as a share of all words."""
        return words / max(self.words, 1)


@dataclass(frozen=True)
class Alternative:
    """Other settings on the same texts, and how often words would then be guessed.

    What is not said is as in the figures that the alternative belongs to.

    mapping, k, eps, plus: the settings. guess, context: as in `Figures`; None: not measured.
    replaced: the share of all words, 0 to 1, that would be replaced; None: as before. (For `plus=False`, the kept
        stopwords are then replaced too.)
    estimated: whether there is no such mapping yet, and the figures are an estimate.
    """

    mapping: str
    k: int
    eps: float
    plus: bool
    guess: float | None
    context: float | None = None
    replaced: float | None = None
    estimated: bool = False


@dataclass(frozen=True)
class Figures:
    """Everything that a verdict depends on. None: unknown, and the verdict says so. Shares are 0 to 1.

    mapping, k, eps, plus: the settings.
    hides_among: each replaced word hides among at least this many words of its group, including itself.
    prior: where the frequencies come from that the attacker knows: the name of your texts or of a file, or "uniform".
    guess: how often the best single guess of a replaced word is right. guess_at_0: the same at eps = 0.
    certain: the share of replaced words of which that attacker can be at least 90% certain.
    context: how often the context attack guesses a replaced word. context_at_0: the same at eps = 0.
    texts_guessed: the share of texts in which the context attack guesses every replaced word.
    draws: how many draws of the same word identify it, for half of the vocabulary (the query attack).
    draws_measured: whether that attack was made; then None in `draws` means that no number is enough.
    fates: what becomes of the words of your texts.
    dataset: the name of your texts.
    spent: the largest eps of a row in all earlier releases of these texts, by the ledger; infinite if one was not
        protected.
    releases: how many earlier releases of these texts the ledger has.
    released_under: the other mapping that they used, so that everyone would see a second group of every word; None:
        they used this one, or there are none.
    least_left, median_left: how many words share both groups with a word, itself included: the fewest, and the median
        over words; 0 if the mappings have no word in common.
    alternatives: other settings that were measured.
    """

    mapping: str
    k: int
    eps: float
    plus: bool
    hides_among: int | None = None
    prior: str = "uniform"
    guess: float | None = None
    guess_at_0: float | None = None
    certain: float | None = None
    context: float | None = None
    context_at_0: float | None = None
    texts_guessed: float | None = None
    draws: float | None = None
    draws_measured: bool = False
    fates: Fates | None = None
    dataset: str | None = None
    spent: float | None = None
    releases: int | None = None
    released_under: str | None = None
    least_left: int | None = None
    median_left: int | None = None
    alternatives: tuple[Alternative, ...] = ()

    @property
    def is_one_text(self) -> bool:
        """Whether the figures are those of a single text."""
        return self.fates is not None and self.fates.rows == 1

    @property
    def replaces_nothing(self) -> bool:
        """Whether the texts were counted, and no word of them is replaced."""
        return self.fates is not None and not self.fates.replaced


@dataclass(frozen=True)
class Sentence:
    """One or two sentences of a verdict.

    color: "red", "amber" or "green"; None for what is neither good nor bad.
    numbers: the figures behind the text, by name; those that are unknown are left out.
    """

    text: str
    color: str | None
    numbers: dict[str, float]


def say(text: str, color: str | None = None, /, **numbers: float) -> Sentence:
    """Return a sentence with the figures behind it."""
    return Sentence(text, color, numbers)


@dataclass(frozen=True)
class Verdict:
    """What an attacker can and cannot do at some settings, on some texts, in plain words.

    color: "red", "amber" or "green": the worst color of all sentences.
    summary: what the color means here, in two or three sentences.
    word, row, dataset: what is promised, and what an attacker can do, for a word, a row and the whole dataset.
    in_clear: what passes in the clear. advice: what would help most, the best first.
    limits: what no color says.
    """

    color: str
    summary: tuple[Sentence, ...]
    word: tuple[Sentence, ...]
    row: tuple[Sentence, ...]
    dataset: tuple[Sentence, ...]
    in_clear: tuple[Sentence, ...]
    advice: tuple[Sentence, ...]
    limits: tuple[Sentence, ...]


@dataclass(frozen=True)
class Known:
    """Shares of all words, 0 to 1; of the replaced words, if the texts were not counted.

    in_clear: words that stay. guessed: replaced words that are guessed. masked: neither. counted: whether texts were
    counted.
    """

    in_clear: float
    guessed: float
    masked: float
    counted: bool

    @property
    def share(self) -> float:
        """Words that an attacker reads correctly."""
        return self.in_clear + self.guessed


def find_known(figures: Figures, *, context: bool | None = None) -> Known | None:
    """Return what an attacker knows by the strongest attack that was measured, or by one of them; None if by none.

    context: by the context attack, or by the best single guess; None: by the stronger one.
    """
    measured = [
        guess
        for guess, of_context in ((figures.guess, False), (figures.context, True))
        if guess is not None and context in (None, of_context)
    ]
    fates = figures.fates
    if not measured and (fates is None or fates.replaced):
        return None
    guess = max(measured, default=0.0)  # nothing to guess if no word is replaced
    if fates is None:
        return Known(0.0, guess, 0.0, counted=False)
    shares = (fates.share(words) for words in (fates.exposed + fates.kept, fates.replaced, fates.masked))
    in_clear, replaced, masked = shares
    return Known(in_clear, guess * replaced, masked, counted=True)
