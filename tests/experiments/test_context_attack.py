"""The context attack, compared with all possible sequences of hidden words, and its model with counts by hand."""

from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from custext_sql import Sanitizer, load_mapping
from custext_sql.arrays import Numbers
from custext_sql.errors import CusTextError
from custext_sql.experiments import attack_context
from custext_sql.experiments.context_attack import (
    Alphabet,
    BigramModel,
    OutputLikelihoods,
    count_context_guesses,
    find_posteriors,
    guess_hidden,
    learn_bigrams,
)
from custext_sql.experiments.mechanisms import MappingUnderTest, Trial
from custext_sql.kinds import Kind
from custext_sql.sanitizer.words import Vocabulary
from custext_sql.text.columns import open_column

PUBLIC = [
    "alice met bob. carol saw dave and alice",
    "bob met alice, erin met frank",
    "grace saw heidi 12 times; ivan saw judy",
    "mallory met niaj and olivia met peggy",
    "rupert met sybil and alice met bob",
    "",
    "alice alice bob zyzzyva carol, dave's erin",
    "frank met grace and heidi met ivan",
    "judy saw mallory, niaj saw olivia",
    "peggy met rupert. sybil saw alice",
    "bob saw carol and dave saw erin",
    "alice met sybil, bob met rupert",
]
TEXTS = [
    "alice met bob and carol, dave",
    "erin frank grace heidi",
    "",
    "ivan",
    "and the zyzzyva 12",
    "judy's olivia bob",
]
KEPT = frozenset({"alice", "dave", "erin", "frank", "and", "the"})  # stopwords inside and outside the mapping


def open_under_test(database: Path) -> MappingUnderTest:
    """Return a mapping whose words are partly stopwords."""
    under_test = MappingUnderTest(database)
    assert 0 < len(KEPT.intersection(under_test.mapping.words)) < len(KEPT)
    under_test.stopwords = KEPT
    under_test.vocabulary = Vocabulary(under_test.mapping, KEPT)
    return under_test


def make_alphabet(under_test: MappingUnderTest, plus: bool = False) -> Alphabet:
    return Alphabet(under_test.mapping, under_test.open("custext+" if plus else "custext"), plus=plus)


def learn(under_test: MappingUnderTest, plus: bool) -> BigramModel:
    return learn_bigrams(make_alphabet(under_test, plus), open_column(PUBLIC)[0])


def open_trial(under_test: MappingUnderTest, plus: bool, epsilon: float, seed: int) -> Trial:
    return Trial(under_test, "custext+" if plus else "custext", epsilon, seed)


def find_step(model: BigramModel, left: int, right: int) -> float:
    """Return the probability of one symbol after another."""
    classes, columns = model.alphabet.classes, model.alphabet.columns
    steps = model.find_steps(classes[[left]], classes[[right]])
    found = steps.spare[0, columns[left]] * steps.novel[0, columns[right]]
    for place in range(int(steps.firsts[0]), int(steps.firsts[0] + steps.counts[0])):
        if (model.lefts[place], model.rights[place]) == (columns[left], columns[right]):
            found += model.values[place]
    return float(found)


def list_hidden(under_test: MappingUnderTest, model: BigramModel, symbol: int, epsilon: float) -> dict[int, float]:
    """Return the hidden symbols that a visible one may stand for, and the probability of the visible one for each."""
    mapping, words = under_test.mapping, under_test.mapping.words
    drawn = set(model.alphabet.drawn.nonzero()[0].tolist())
    found = {} if symbol in drawn else {symbol: 1.0}
    if symbol >= len(words):
        return found
    group = int(np.searchsorted(mapping.word_starts, symbol, "right")) - 1
    members = range(int(mapping.word_starts[group]), int(mapping.word_starts[group] + mapping.sizes[group]))
    members_drawn = [word for word in members if word in drawn]
    if epsilon == 0.0:
        representative = min(members_drawn, key=lambda word: mapping.ranks[word], default=None)
        return found | {word: 1.0 for word in members_drawn if symbol == representative}
    sanitizer = Sanitizer(mapping, frozenset())
    return found | {word: sanitizer.distribution(words[word], epsilon)[words[symbol]] for word in members_drawn}


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 3.0])
def test_posteriors_are_those_of_all_sequences(mapped_db: Path, plus: bool, epsilon: float) -> None:
    under_test = open_under_test(mapped_db)
    model = learn(under_test, plus)
    likelihoods = OutputLikelihoods(model.alphabet, epsilon)
    for seed, text in enumerate(TEXTS):
        visible = sanitize_symbols(model, open_trial(under_test, plus, epsilon, seed), text)
        found = {
            int(place): row
            for places, rows in find_posteriors(model, likelihoods, visible)
            for place, row in zip(places, rows, strict=True)
        }
        choices = [list_hidden(under_test, model, int(symbol), epsilon) for symbol in visible]
        expected = [dict.fromkeys(some, 0.0) for some in choices]
        for path in product(*choices):
            weight = float(np.prod([some[symbol] for some, symbol in zip(choices, path, strict=True)]))
            for left, right in pairwise(path):
                weight *= find_step(model, left, right)
            for some, symbol in zip(expected, path, strict=True):
                some[symbol] += weight
        for place, some in enumerate(expected):
            total = sum(some.values())
            if place not in found:  # a certain symbol
                assert list(some) == [visible[place]]
                continue
            first = model.alphabet.firsts[model.alphabet.classes[visible[place]]]
            assert found[place].sum() == pytest.approx(1.0)
            for column, probability in enumerate(found[place]):
                assert probability == pytest.approx(some.get(int(first) + column, 0.0) / total, abs=1e-9)


def sanitize_symbols(model: BigramModel, trial: Trial, text: str) -> Numbers:
    """Return the symbols of a sanitized text, read from what the mechanism wrote."""
    read = model.alphabet.read(open_column([text])[0])
    [pieces] = trial.compare([text])
    outputs = [piece.after for piece in pieces if piece.kind == Kind.REPLACED]
    visible = read.symbols.copy()
    visible[read.places[read.words.at(Kind.REPLACED)]] = [model.alphabet.mapping.index[word] for word in outputs]
    return visible


@pytest.mark.parametrize("plus", [False, True])
def test_guesses_are_counted_as_they_are_made(mapped_db: Path, plus: bool) -> None:
    under_test = open_under_test(mapped_db)
    model, column = learn(under_test, plus), open_column(TEXTS)[0]
    for epsilon in (0.0, 2.0):
        trial = open_trial(under_test, plus, epsilon, 7)
        counts = count_context_guesses(model, trial.replacer.mechanism, column, epsilon, 7)
        likelihoods = OutputLikelihoods(model.alphabet, epsilon)
        read = model.alphabet.read(column)
        replaced = read.words.at(Kind.REPLACED)
        pieces = [piece for row in trial.compare(TEXTS) for piece in row]
        outputs = [model.alphabet.mapping.index[one.after] for one in pieces if one.kind == Kind.REPLACED]
        visible = read.symbols.copy()
        visible[read.places[replaced]] = outputs
        right = guess_hidden(model, likelihoods, visible)[0][read.places] == read.symbols[read.places]
        rows = read.words.rows
        complete = [right[replaced[rows[replaced] == row]].all() for row in sorted(set(rows[replaced]))]
        assert (counts["replaced"], counts["guessed"]) == (len(replaced), int(right[replaced].sum()))
        assert (counts["texts"], counts["texts_complete"]) == (len(complete), sum(complete))
        assert counts["in_clear"] == sum(piece.in_clear for piece in pieces)


def test_runs_of_all_lengths_in_one_block_or_in_many(mapped_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    under_test = open_under_test(mapped_db)
    model, sampler = learn(under_test, plus=True), under_test.open("custext+").mechanism
    column = open_column(TEXTS * 3)[0]
    together = count_context_guesses(model, sampler, column, 1.0, 0)
    monkeypatch.setattr("custext_sql.experiments.context_attack._CELLS", 1)
    assert count_context_guesses(model, sampler, column, 1.0, 0) == together


def test_context_helps_and_eps_helps(few_db: Path) -> None:
    words = load_mapping(few_db).words
    draw = np.random.default_rng(0)
    texts = [" ".join(words[place * 7 + step] for step in range(6)) for place in draw.integers(0, 300, 400)]
    attack = attack_context(few_db, public=texts[:200], data=[f"{text}." for text in texts[200:]], eps=[0.0, 1.0, 30.0])
    assert attack.left_out == 0 and attack.words == 1200
    first, second, last = attack.results
    assert first.success == first.success_at_0 == second.success_at_0
    assert first.success > first.single + 0.1
    assert last.success > max(second.success, 0.9)
    assert 0.0 <= first.texts_guessed <= first.success


def test_texts_in_both_files_are_left_out(few_db: Path, tmp_path: Path) -> None:
    public, data = tmp_path / "public.txt", tmp_path / "data.txt"
    public.write_text("The  doctor said that\nthe nurse was late\n\n")
    data.write_text("the doctor SAID that \n")
    attack = attack_context(few_db, public=public, data=data, eps=1.0)
    assert (attack.public_texts, attack.left_out, attack.texts) == (1, 1, 1)
    with pytest.raises(CusTextError, match="of 1 text, all are also among the attacked texts") as raised:
        attack_context(few_db, public=data, data=data)
    assert "doctor" not in str(raised.value)
    with pytest.raises(CusTextError, match="all of them are empty"):
        attack_context(few_db, public=[""], data=data)
    with pytest.raises(CusTextError, match="found no words that the mapping would replace"):
        attack_context(few_db, public=public, data=["zyzzyva 12345"])


def spell(alphabet: Alphabet, texts: list[str]) -> str:
    """Return the symbols of texts: words of the mapping, and a letter for each other kind."""
    others = {
        symbol: sign
        for sign, text in {"N": "4711", "U": "zyzzyva", ".": "!", ",": ";", "(": "(", "-": "/"}.items()
        for symbol in alphabet.read(open_column([text])[0]).symbols.tolist()
    } | {alphabet.end: "|"}
    symbols = alphabet.read(open_column(texts)[0]).symbols.tolist()
    return " ".join(
        alphabet.mapping.words[symbol] if symbol < len(alphabet.mapping.words) else others.get(symbol, "?")
        for symbol in symbols
    )


def test_texts_become_words_punctuation_and_ends(mapped_db: Path) -> None:
    alphabet = make_alphabet(open_under_test(mapped_db))
    assert spell(alphabet, ["Alice met BOB."]) == "| alice U bob . |"
    assert spell(alphabet, ["", "alice", "", ""]) == "| | alice | | |"
    assert spell(alphabet, ["bob, (carol) ... 12-13!", ". ."]) == "| bob , carol . N - N . | . |"
    assert spell(alphabet, ["bob's ivan"]) == "| bob ? ivan |"  # an ending has a symbol of its own
    assert spell(alphabet, []) == "|"


@pytest.mark.parametrize("plus", [False, True])
def test_probabilities_are_those_of_kneser_and_ney(mapped_db: Path, plus: bool) -> None:
    alphabet = make_alphabet(open_under_test(mapped_db), plus)
    symbols = alphabet.read(open_column(PUBLIC)[0]).symbols
    model = BigramModel(alphabet, symbols)
    first, second, more = model.discounts
    sequence = symbols.tolist()
    pairs, before = Counter(pairwise(sequence)), Counter(sequence[:-1])
    variety = Counter(right for _, right in pairs)
    zipf = 1.0 / (alphabet.ranks + 100.0)
    zipf /= zipf.sum()
    share = model.novelty

    def take(count: int) -> float:
        return float((first, second, more)[min(count, 3) - 1]) if count else 0.0

    for left in sorted({*sequence[:-1], 11, 12}):
        spare = (
            sum(take(count) for (one, _), count in pairs.items() if one == left) / before[left] if before[left] else 1.0
        )
        for right in range(alphabet.size):
            novel = share * zipf[right] + (1.0 - share) * variety[right] / len(pairs)
            count = pairs[left, right]
            expected = spare * novel + ((count - take(count)) / before[left] if count else 0.0)
            assert find_step(model, left, right) == pytest.approx(expected, rel=1e-9)


def test_the_smoothing_is_fitted_on_texts_that_are_held_out(mapped_db: Path) -> None:
    """Texts that repeat need little smoothing, and texts of random words need much."""
    alphabet = make_alphabet(open_under_test(mapped_db))
    draw = np.random.default_rng(0)
    words = alphabet.mapping.words
    repeated = ["alice bob carol dave", "erin frank grace heidi"] * 30
    random = [" ".join(draw.choice(words, 6)) for _ in range(60)]
    few, many = (
        BigramModel(alphabet, alphabet.read(open_column(texts)[0]).symbols).discounts for texts in (repeated, random)
    )
    assert few[2] < many[2]
    one = BigramModel(alphabet, alphabet.read(open_column([" ".join(repeated)])[0]).symbols)
    assert one.discounts[2] < many[2]  # of one text, the last part is held out
