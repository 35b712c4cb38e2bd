"""What share of all words an attacker reads correctly: those in the clear, and those that are guessed."""

from dataclasses import dataclass, replace

from custext_sql.experiments.verdict.figures import Alternative, Figures


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


def settle(figures: Figures, other: Alternative) -> Figures:
    """Return the figures at other settings."""
    fates = figures.fates
    if fates is not None:
        moved = fates.stopwords if figures.plus and not other.plus else 0
        replaced = fates.replaced + moved if other.replaced is None else round(other.replaced * fates.words)
        fates = replace(fates, replaced=replaced, stopwords=fates.stopwords - moved)
    return replace(
        figures,
        mapping=other.mapping,
        k=other.k,
        eps=other.eps,
        plus=other.plus,
        guess=other.guess,
        context=other.context,
        fates=fates,
        alternatives=(),
    )
