"""What an attacker guesses in one text, compared with plain loops over the words of each group."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from custext_sql import CusTextError, Kind, Policy, Sanitizer, make_key
from custext_sql.errors import MappingError, SettingError
from custext_sql.experiments import TextAttacker, attack_context
from custext_sql.mapping.mapping import Mapping
from custext_sql.sanitizer.settings import Settings
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
@pytest.mark.parametrize("eps", [0.0, 0.5, 3.0, 20.0])
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
@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("eps", [0.0, 2.0])
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


@pytest.mark.parametrize("text", ["", " \u200b😀", "the 12 zyzzyva or"])
@pytest.mark.parametrize("public", [None, PUBLIC])
def test_without_replaced_words_there_is_nothing_to_guess(
    mapping: Mapping, text: str, public: list[str] | None
) -> None:
    sanitizer = open_sanitizer(mapping, plus=True)
    attacker = TextAttacker(sanitizer, public=public)
    found = attacker.guess(text, sanitizer.trace(text).list_outputs())
    assert (found.places, found.guesses, found.right, found.certainties, found.share) == ((), (), (), (), None)
    assert attacker.expect(text) is None and attacker.expect_context(text) is None


def test_a_word_that_is_alone_in_its_group_is_neither_guessed_nor_an_output(mapping: Mapping) -> None:
    group = list_group(mapping, "alice")
    sanitizer = open_sanitizer(mapping, policy=Policy(keep_words=[word for word in group if word != "alice"]))
    attacker = TextAttacker(sanitizer)
    assert attacker.guess("alice", ["<unk>"]).places == ()
    with pytest.raises(SettingError, match="not replaced at these settings"):
        attacker.find_chances("alice")
    with pytest.raises(SettingError, match="no word becomes this one"):
        attacker.guess_word("alice")


def guess_drawn(attacker: TextAttacker) -> object:
    """Guess at eps = 0 what was drawn at another eps."""
    word, other = list_group(attacker.sanitizer.mapping, "alice")[:2]
    representative = attacker.sanitizer.sanitize(word, 0.0)
    return attacker.guess(word, [other if representative == word else word], 0.0)


def guess_word_drawn(attacker: TextAttacker) -> object:
    group = list_group(attacker.sanitizer.mapping, "alice")
    return attacker.guess_word(next(word for word in group if word != attacker.sanitizer.sanitize(word, 0.0)), 0.0)


@pytest.mark.parametrize("public", [None, PUBLIC])
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
    public: list[str] | None,
    call: Callable[[TextAttacker], object],
    error: type[CusTextError],
    message: str,
) -> None:
    assert "bob" not in list_group(mapping, "alice")
    with pytest.raises(error, match=message) as raised:
        call(TextAttacker(open_sanitizer(mapping), public=public))
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
