"""What an attacker guesses in one text, and how often, compared with plain loops and simulations; and the verdict."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from custext_sql import CusTextError, Kind, Policy, Receipt, Sanitizer, make_key
from custext_sql.errors import MappingError, SettingError
from custext_sql.experiments import TextAttacker, attack_context, attack_query, judge_text, one_text
from custext_sql.experiments.one_text import WordChances
from custext_sql.experiments.verdict import Figures, Verdict, judge, vary
from custext_sql.mapping.mapping import Mapping
from custext_sql.sanitizer.settings import Settings
from custext_sql.sanitizer.traced_text import TracedText
from tests.experiments.test_verdict import COUNTS, GREEN, NONE, list_sentences
from tests.small_mapping import small_mapping

WORDS = ["the", "alice", "bob", "and", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "straße"]
STOPWORDS = frozenset({"the", "and", "or"})
TEXT = "The alice and BOB, carol's dave. Erin 12 zyzzyva or frank grace; heidi the ivan Straße a@b.org ALICE GRACE "
ZIPF = 100.0  # added to the rank of a word
PUBLIC = [
    "alice met bob and the carol saw dave",
    "erin or frank saw grace. alice met bob",
    "heidi saw ivan 12 times and dave met erin",
    "",
    "frank, grace and heidi met the alice",
]


def make_mapping() -> Mapping:
    """Return a mapping of a few words, some of which are far more frequent than others."""
    mapping = small_mapping(WORDS, k=4)
    return replace(mapping, ranks=mapping.ranks**3)


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    return make_mapping()


def open_sanitizer(mapping: Mapping, **settings: object) -> Sanitizer:
    return Sanitizer(mapping, STOPWORDS, Settings.settle(**settings))  # type: ignore[arg-type]


def list_group(mapping: Mapping, word: str) -> tuple[str, ...]:
    return mapping.find_row(word)[0]


def weigh(sanitizer: Sanitizer, output: str, eps: float, plus: bool) -> dict[str, float]:
    """Return for each word that an output may stand for how likely it is, by Zipf's law and the probabilities."""
    mapping, kept = sanitizer.mapping, sanitizer.policy.keep_words
    found = {}
    for word in list_group(mapping, output):
        if word in kept or (plus and word in STOPWORDS):
            chance = float(word == output)
        else:
            group = sanitizer.inspect(word, eps, plus).group
            chance = next(one.probability for one in group if one.output == output)
        found[word] = chance / (int(mapping.ranks[mapping.index[word]]) + ZIPF)
    return found


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("eps", [0.0, 3.0])
@pytest.mark.parametrize(
    ("policy", "calibration"),
    [
        (Policy(), "tight"),
        (Policy(keep_words=["dave"], case="match"), "paper"),
        (Policy(unknown="random", numbers="shape"), "paper"),
    ],
)
def test_single_guesses_are_the_most_likely_words(
    mapping: Mapping, eps: float, plus: bool, policy: Policy, calibration: str
) -> None:
    sanitizer, text = open_sanitizer(mapping, policy=policy, calibration=calibration), TEXT * 5
    attacker = TextAttacker(sanitizer, plus=plus)
    weights: dict[str, dict[str, float]] = {}
    traced = sanitizer.trace(text, eps, plus)
    outputs = traced.list_outputs()
    found = attacker.guess(text, outputs, eps)
    assert list(found.places) == (traced.kinds == Kind.REPLACED).nonzero()[0].tolist()
    assert not found.with_context and found.share == pytest.approx(np.mean(found.right))
    for place, guess, right, certainty in zip(found.places, found.guesses, found.right, found.certainties, strict=True):
        output = "straße" if outputs[place] == "STRASSE" else outputs[place].lower()
        chances = weights.get(output) or weights.setdefault(output, weigh(sanitizer, output, eps, plus))
        assert guess == max(chances, key=chances.__getitem__)
        assert certainty == pytest.approx(chances[guess] / sum(chances.values()), rel=1e-12)
        before = traced.before[traced.starts[place] : traced.ends[place]]
        assert right == (guess == before.lower())
        again = attacker.guess_word(outputs[place], eps)
        assert again == (guess, again[1]) and again[1] == pytest.approx(certainty, rel=1e-12)


@pytest.mark.filterwarnings("ignore::custext_sql.errors.PrivacyWarning")
@pytest.mark.parametrize("plus, eps", [(False, 0.0), (True, 2.0)])
def test_with_public_texts_the_guesses_are_those_of_the_context_attack(few_db: Path, plus: bool, eps: float) -> None:
    sentence = "the doctor said that his car was late and the music in town was very good for a man of his age"
    words = sentence.split()
    draw = np.random.default_rng(0)
    public = [" ".join(draw.choice(words, 12)) for _ in range(60)]
    text = " ".join(draw.choice(words, 200)).replace("late", "late 12, zyzzyva.")
    for seed, known in enumerate(([*public], [*public, f"  {text.upper()} "])):  # the text itself is left out
        expected = attack_context(few_db, public=known, data=[text], eps=eps, plus=plus, seed=seed)
        sanitizer = Sanitizer.load(few_db, policy="paper", seed=seed)
        attacker = TextAttacker(sanitizer, plus=plus, public=known)
        found = attacker.guess(text, sanitizer.trace(text, eps, plus).list_outputs(), eps)
        assert (len(found.places), found.with_context) == (expected.words, True)
        assert found.share == pytest.approx(expected.results[0].success, abs=1e-12)
        assert 0.0 < expected.results[0].success < 1.0
        assert all(0.0 < certainty <= 1.0 for certainty in found.certainties)
        for where in (text, "other words"):  # and is learned again for the next text
            attacker.expect(where, eps)
        assert attacker.guess(text, sanitizer.trace(text, 0.0, plus).list_outputs(), 0.0).share is not None


def test_a_text_that_is_public_is_not_known_from_there(mapping: Mapping) -> None:
    """The attacker knows every public text but this one and its lines, whatever was attacked before."""
    sanitizer = open_sanitizer(mapping)
    others = TextAttacker(sanitizer, public=PUBLIC[1:])
    attacker = TextAttacker(sanitizer, public=PUBLIC)
    outputs = sanitizer.trace(PUBLIC[0], 0.0).list_outputs()
    for text in (PUBLIC[0], PUBLIC[1], f" {PUBLIC[0].upper()}\n", f"Bob.\r\n{PUBLIC[0]}\nbob", f"bob {PUBLIC[0]}"):
        some = sanitizer.trace(text, 0.0).list_outputs()
        is_left_out = text not in (PUBLIC[1], f"bob {PUBLIC[0]}")
        assert (attacker.guess(text, some, 0.0) == others.guess(text, some, 0.0)) == is_left_out
    for place in (1, 0):
        without = TextAttacker(sanitizer, public=[text for text in PUBLIC if text != PUBLIC[place]])
        some = sanitizer.trace(PUBLIC[place], 0.0).list_outputs()
        assert attacker.guess(PUBLIC[place], some, 0.0) == without.guess(PUBLIC[place], some, 0.0)
    assert attacker.expect(PUBLIC[0], 1.0) == others.expect(PUBLIC[0], 1.0)
    assert attacker.expect_context(PUBLIC[0], 1.0) == others.expect_context(PUBLIC[0], 1.0)
    with pytest.raises(SettingError, match="of 1 text, all are also among the attacked texts"):
        TextAttacker(sanitizer, public=PUBLIC[:1]).guess(PUBLIC[0], outputs, 0.0)


def test_a_key_of_the_sanitizer_changes_nothing(mapped_db: Path, tmp_path: Path) -> None:
    make_key(tmp_path / "key", mapped_db, eps=2.0, plus=True)
    keyed, fresh = Sanitizer.load(mapped_db, key_file=tmp_path / "key"), Sanitizer.load(mapped_db, eps=2.0, plus=True)
    text = "alice met bob and carol saw dave"
    outputs = keyed.trace(text, record="1").list_outputs()
    assert TextAttacker(keyed).guess(text, outputs) == TextAttacker(fresh).guess(text, outputs)
    with pytest.raises(CusTextError, match="this key is for plus"):
        TextAttacker(keyed, plus=False)


def guess_drawn(attacker: TextAttacker) -> object:
    """Guess at eps = 0 what was drawn at another eps."""
    word, other = list_group(attacker.sanitizer.mapping, "alice")[:2]
    representative = attacker.sanitizer.sanitize(word, 0.0)
    return attacker.guess(word, [other if representative == word else word], 0.0)


def guess_word_drawn(attacker: TextAttacker) -> object:
    group = list_group(attacker.sanitizer.mapping, "alice")
    return attacker.guess_word(next(word for word in group if word != attacker.sanitizer.sanitize(word, 0.0)), 0.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda it: it.guess("alice bob", ["carol"]), SettingError, "outputs must be what became of each word"),
        (lambda it: it.guess("alice", "x"), SettingError, "outputs must be"),
        (lambda it: it.guess("alice", [None]), SettingError, "outputs must be"),
        (lambda it: it.guess("alice", ["<unk>"]), SettingError, "outputs must be"),
        (lambda it: it.guess("alice", ["bob"]), SettingError, "outputs must be"),  # of another group
        (guess_drawn, SettingError, "outputs must be"),
        (guess_word_drawn, SettingError, "no word becomes this one at these settings"),
        (lambda it: it.guess(b"alice", ["bob"]), SettingError, "the text must be a string; found bytes"),
        (lambda it: it.guess("alice", ["alice"], -1.0), SettingError, "eps must be 0, or between"),
        (lambda it: it.guess_word("zyzzyva"), MappingError, "the word is not in mapping"),
        (lambda it: it.guess_word(5), SettingError, "the word must be a string; found int"),
        (lambda it: it.find_chances("zyzzyva"), MappingError, "the word is not in mapping"),
        (lambda it: it.count_draws("zyzzyva"), MappingError, "the word is not in mapping"),
        (lambda it: it.expect(None), SettingError, "the text must be a string; found NoneType"),
        (lambda it: it.expect_context(5), SettingError, "the text must be a string; found int"),
    ],
)
def test_what_cannot_be_is_refused(
    mapping: Mapping,
    call: Callable[[TextAttacker], object],
    error: type[CusTextError],
    message: str,
) -> None:
    assert "bob" not in list_group(mapping, "alice")
    with pytest.raises(error, match=message) as raised:
        call(TextAttacker(open_sanitizer(mapping), public=PUBLIC))
    assert "zyzzyva" not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"public": []}, "texts: the context attack learns from public texts, but all of them are empty"),
        ({"public": ["", None, " \n"]}, "all of them are empty"),
        ({"public": 5}, "expected the path of a file"),
        ({"public_column": "body"}, "names a column of texts, but no texts were given"),
        ({"public": ["alice"], "public_column": "body"}, "leave out public_column"),
        ({"public": "no/such/file.txt"}, "no/such/file.txt"),
        ({"plus": "yes"}, "plus must be a bool"),
    ],
)
def test_wrong_settings_are_refused(mapping: Mapping, given: dict[str, object], message: str) -> None:
    with pytest.raises(CusTextError, match=message):
        TextAttacker(open_sanitizer(mapping), **given)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="sanitizer must be a Sanitizer; found str"):
        TextAttacker("starter")  # type: ignore[arg-type]


CERTAIN = 0.9


def find_naively(sanitizer: Sanitizer, word: str, eps: float, plus: bool) -> WordChances:
    """Return the chances of a word, from the best guess for each of its outputs."""
    right = certain = unchanged = 0.0
    for one in sanitizer.inspect(word, eps, plus).group:
        if one.probability:
            weights = weigh(sanitizer, one.output, eps, plus)
            best = max(weights, key=weights.__getitem__)
            right += one.probability * (best == word)
            certain += one.probability * (weights[best] >= CERTAIN * sum(weights.values()))
            unchanged += one.probability * (one.output == word)
    return WordChances(right, certain, unchanged)


def list_values(chances: WordChances | None) -> list[float]:
    assert chances is not None
    return [chances.right, chances.certain, chances.unchanged]


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("eps", [0.0, 3.0])
def test_chances_are_those_of_the_best_guess_for_each_output(
    mapping: Mapping, eps: float, plus: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_text, "_CELLS", 40)  # some groups at a time
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings(eps=eps, plus=plus))
    attacker = TextAttacker(sanitizer)
    naive = {word: find_naively(sanitizer, word, eps, plus) for word in WORDS if not (plus and word in STOPWORDS)}
    for word, expected in naive.items():
        assert list_values(attacker.find_chances(word.upper().replace("SS", "ß"))) == pytest.approx(
            list_values(expected)
        )
    assert {value for one in naive.values() for value in list_values(one)} - {0.0, 1.0} or not eps
    drawn = [*(word for word in WORDS if word not in STOPWORDS), "alice", "grace"]
    drawn += [] if plus else ["the", "and", "the"]
    expected = np.mean([list_values(naive[word]) for word in drawn], axis=0)
    assert list_values(attacker.expect(TEXT)) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore::custext_sql.errors.PrivacyWarning")
@pytest.mark.parametrize("eps", [0.0, 4.0])
def test_the_chances_with_context_are_the_shares_of_guesses_from_the_same_draws(mapping: Mapping, eps: float) -> None:
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings(eps=eps, plus=True), seed=0)
    attacker = TextAttacker(sanitizer, public=PUBLIC)
    text = "alice saw bob and the carol met dave"
    expected = attacker.expect_context(text)
    assert expected is not None and expected.simulations == (500 if eps else 1)  # 4 words are replaced
    guesses = [attacker.guess(text, sanitizer.trace(text).list_outputs()) for _ in range(expected.simulations)]
    assert {len(one.right) for one in guesses} == {4}
    assert expected.right == pytest.approx(float(np.mean([one.right for one in guesses])))
    assert expected.all_right == pytest.approx(float(np.mean([all(one.right) for one in guesses])))
    assert 0.0 < expected.all_right < expected.right < 1.0 or not eps
    assert attacker.expect_context(text) == expected
    assert TextAttacker(sanitizer).expect_context(text) is None


def test_draws_are_counted_as_by_the_query_attack(mapped_db: Path) -> None:
    attack = attack_query(mapped_db, ["alice", "bob"], eps=[0.0, 2.0, 8.0], trials=1000, calibration="tight")
    attacker = TextAttacker(Sanitizer.load(mapped_db, calibration="tight"))
    assert {found.n_ml is None for found in attack.words} == {True, False}
    for found in attack.words:
        expected = found.n_mode, found.n_ml
        assert attacker.count_draws(found.word.upper(), found.eps) == expected


def test_at_eps_0_draws_are_those_of_the_representative_that_is_not_kept(mapping: Mapping) -> None:
    group = list_group(mapping, "alice")
    representative = Sanitizer(mapping).sanitize("alice", 0.0)
    sanitizer = Sanitizer(mapping, frozenset({representative}), Settings(eps=0.0, plus=True))
    other = sanitizer.sanitize(next(word for word in group if word != representative))
    assert other != representative
    attacker = TextAttacker(sanitizer)
    assert attacker.count_draws(other) == (1, None)
    assert TextAttacker(sanitizer, plus=False).count_draws(other) == (None, None)


def test_nothing_is_stored(mapped_db: Path, tmp_path: Path, own_home: Path) -> None:
    """Neither in the database nor elsewhere: all of this may be done with private texts."""
    text = "alice told bob about the zyzzyva of carol"
    before = mapped_db.read_bytes()
    sanitizer = Sanitizer.load(mapped_db)
    for public in (None, PUBLIC, [*PUBLIC, text]):
        attacker = TextAttacker(sanitizer, public=public)
        traced = sanitizer.trace(text, 2.0)
        attacker.guess(text, traced.list_outputs(), 2.0)
        attacker.guess_word(traced.list_outputs()[0], 2.0)
        attacker.find_chances("alice", 2.0)
        attacker.expect(text, 2.0)
        attacker.expect_context(text, 2.0)
        attacker.count_draws("alice", 2.0)
        sanitizer.inspect("alice", 2.0)
        judge_text(attacker, text, sanitizer.receipt(traced.tally, 2.0))
    assert mapped_db.read_bytes() == before
    assert [path for path in [*tmp_path.rglob("*"), *own_home.rglob("*")] if path.is_file()] == [mapped_db]


def trace(sanitizer: Sanitizer, text: str) -> tuple[TracedText, Receipt]:
    traced = sanitizer.trace(text)
    return traced, sanitizer.receipt(traced.tally)


@pytest.mark.parametrize("public", [None, PUBLIC])
@pytest.mark.parametrize("eps", [0.0, 3.0])
@pytest.mark.parametrize("policy", ["strict", "paper"])
def test_the_verdict_is_that_of_the_attackers_figures(
    mapping: Mapping, eps: float, policy: str, public: list[str] | None
) -> None:
    settings = Settings.settle(eps=eps, plus=True, policy=policy, calibration="tight")
    sanitizer = Sanitizer(mapping, STOPWORDS, settings)
    attacker, (_, receipt) = TextAttacker(sanitizer, public=public), trace(sanitizer, TEXT)
    chances, floor = attacker.expect(TEXT, eps), attacker.expect(TEXT, 0.0)
    context, context_at_0 = attacker.expect_context(TEXT, eps), attacker.expect_context(TEXT, 0.0)
    assert chances is not None and floor is not None and (context is None) == (public is None)
    is_strict = policy == "strict"
    figures = Figures(
        mapping="small",
        k=4,
        eps=eps,
        plus=True,
        hides_among=receipt.hides_among,
        prior="texts in general (by Zipf's law)" if public is None else "texts",
        guess=chances.right,
        guess_at_0=floor.right,
        certain=chances.certain,
        context=None if context is None else context.right,
        context_at_0=None if context_at_0 is None else context_at_0.right,
        texts_guessed=None if context is None else context.all_right,
        dataset="your text",
        counts={  # of TEXT, counted by hand
            **NONE,
            "rows": 1,
            "words": 20 if is_strict else 22,
            "replaced": 12,
            "stopwords": 4,
            "endings": 1,
            "numbers": 1,
            "unknown_masked": 1 if is_strict else 0,
            "unknown_kept": 0 if is_strict else 4,  # without units, the address is three words
            "units": 1 if is_strict else 0,
            "median_replaced": 12,
            "largest_replaced": 12,
        },
        numbers="mask" if is_strict else "shape",
        unchanged=chances.unchanged,
    )
    at_0 = vary(figures, eps=0.0, guess=floor.right, context=None if context_at_0 is None else context_at_0.right)
    assert judge_text(attacker, TEXT, receipt) == judge(figures, [at_0] if eps else [])


def write(verdict: Verdict) -> str:
    return " ".join(sentence.text for sentence in list_sentences(verdict))


def test_a_verdict_on_one_text_speaks_of_one_row(mapping: Mapping) -> None:
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings(eps=0.25))
    found = write(judge_text(TextAttacker(sanitizer, public=PUBLIC), TEXT, trace(sanitizer, TEXT)[1]))
    assert "This is one row. If its author wrote others, their eps adds up." in found
    assert "The row spends eps once per replaced word: 3.75 in total." in found and "of the draws" in found
    assert "median row" not in found and "of the texts" not in found
    assert "Whether this text was released before" in found and "these texts" not in found
    generalized = Sanitizer(mapping, STOPWORDS, Settings(eps=0.0))
    found = write(judge_text(TextAttacker(generalized, public=PUBLIC), TEXT, trace(generalized, TEXT)[1]))
    assert "a row of any length" in found.lower() and "of the draws" not in found and "of the texts" not in found
    several = write(judge(replace(GREEN, counts={**COUNTS, "rows": 2})))
    assert "Keep them as private as the texts." in several
    assert "in the median row" in several and "of the texts" in several and "The 2 rows are counted" in several


@pytest.mark.parametrize("public", [None, PUBLIC])
@pytest.mark.parametrize("text", ["", "the and", "zyzzyva qwerty"])
def test_without_replaced_words_only_what_stays_is_judged(
    mapping: Mapping, text: str, public: list[str] | None
) -> None:
    sanitizer = Sanitizer(mapping, STOPWORDS, Settings(plus=True, policy=Policy(unknown="keep", units="keep")))
    verdict = judge_text(TextAttacker(sanitizer, public=public), text, trace(sanitizer, text)[1])
    assert verdict.word[0].text == "No word is replaced, so there is nothing to guess."
    assert verdict.word[0].color is None
    assert verdict.row[1].text == "No word is replaced, so a whole text shows no more than its words."
    assert "not measured" not in write(replace(verdict, dataset=(), advice=()))
    if text == "zyzzyva qwerty":
        assert verdict.color == "red" and "reads 100% of all words correctly: 100% because they stay" in write(verdict)
        assert verdict.advice[0].text.startswith("Mask unknown words: --unknown mask")


def test_a_receipt_of_something_else_is_refused(mapping: Mapping) -> None:
    sanitizer = Sanitizer(mapping)
    attacker, (_, receipt) = TextAttacker(sanitizer), trace(sanitizer, TEXT)
    _, two = sanitizer.release([TEXT, TEXT])
    mixed = replace(receipt, eps=2.0, budgets=(1.0, 2.0))
    other = Sanitizer(small_mapping(WORDS, k=4, seed=1))
    for wrong in (two, mixed, trace(other, TEXT)[1]):
        with pytest.raises(SettingError, match="receipt must be that of the one text"):
            judge_text(attacker, TEXT, wrong)
    with pytest.raises(SettingError, match="receipt must be a Receipt; found float"):
        judge_text(attacker, TEXT, 1.0)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="attacker must be a TextAttacker; found Sanitizer"):
        judge_text(sanitizer, TEXT, receipt)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="the text must be a string"):
        judge_text(attacker, None, receipt)  # type: ignore[arg-type]
