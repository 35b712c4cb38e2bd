"""What to do about words that are not in the vocabulary."""

from dataclasses import dataclass

from custext_sql.files.preview.word_counts import NUMBER, OTHER_SCRIPT, SYMBOL, UNKNOWN
from custext_sql.sanitizer.policy import Policy

_ENOUGH_WORDS = 20  # to judge the language of texts
_MANY = 0.02  # of the words that are not kept: worth other vectors
_LOAD = "custext load FILE --name NAME, then: custext map --embedding NAME"


@dataclass(frozen=True)
class LeakFacts:
    """What advice depends on. words: all of them. decided: those that are not kept. counts: of kinds that occur."""

    words: int
    decided: int
    counts: dict[str, int]
    policy: Policy

    def share(self, *kinds: str) -> float:
        """Return the share of some kinds in the words that are not kept."""
        return sum(self.counts.get(kind, 0) for kind in kinds) / max(1, self.decided)


def advise(facts: LeakFacts) -> tuple[str, ...]:
    """Return what to do, as sentences, the most urgent first."""
    found = []
    strange = facts.share(UNKNOWN, OTHER_SCRIPT)
    if strange and facts.policy.unknown == "keep":
        found.append(
            'Unknown words pass in the clear. To mask them: --unknown mask (in Python: Policy(unknown="mask")).'
        )
    if facts.share(NUMBER) and facts.policy.numbers == "keep":
        found.append('Numbers pass in the clear. To mask them: --numbers mask (in Python: Policy(numbers="mask")).')
    if facts.share(NUMBER) and facts.policy.units == "keep":
        found.append(
            "Dates, phone numbers and the like are treated part by part. To mask each as a whole: --units mask (in "
            'Python: Policy(units="mask")).'
        )
    if facts.decided >= _ENOUGH_WORDS and strange > 0.5:
        found.append(
            "Most words are unknown: the texts and the mapping seem to be in different languages. Load vectors for "
            f"their language: {_LOAD}; its stopwords: custext stopwords --language LANGUAGE"
        )
    elif facts.decided >= _ENOUGH_WORDS and facts.share(OTHER_SCRIPT) >= _MANY:
        found.append(f"Some texts are in another script. To replace those words too, load vectors for it: {_LOAD}")
    elif strange >= _MANY:
        found.append(f"With a larger vocabulary, more of the unknown words are replaced: {_LOAD}")
    if strange:
        found.append(
            "Words that are public anyway, such as the labels of speakers, can stay: list them in a file, --keep-words "
            "FILE (in Python: Policy(keep_words=...)). Make that list from public knowledge, not from the words shown "
            "here: a list made from private texts gives some of their words away. For the same reason, never build a "
            "mapping from them."
        )
    if facts.counts.get(SYMBOL):
        found.append("Symbols always pass. If some of them must not, remove them from the texts first.")
    if not facts.counts:
        found.append("Nothing to do: every word is in the vocabulary." if facts.words else "The texts have no words.")
    return tuple(found)
