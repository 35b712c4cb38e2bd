"""Masked language models as attackers."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from custext_sql.errors import SettingError
from custext_sql.experiments import mask_attack
from custext_sql.experiments.extras import import_library
from custext_sql.experiments.mask_attack import LanguageModelGuesser, join_pieces
from custext_sql.kinds import Kind
from custext_sql.sanitizer.traced_text import Piece
from tests.tiny_bert import save_model, torch, train_bert, train_roberta, transformers, write_sentences

pytestmark = [pytest.mark.slow, pytest.mark.models]

Folders = dict[str, Path]

TEXTS = [
    "The old cat hunts the mouse, in the kitchen.",
    "  Horse\n\n pulls the\tcart ",
    "(the bear) steals - honey! 'dog' don't, the spider's web",
    "whale",
    "?!",
    "",
    "Zyx qqq the 2024 Müller ’tis the naïve_bear 日本 _. farmer_, sows ...wheat web_, web",
    " ".join(write_sentences(9, seed=5)),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """A tiny BERT and a tiny RoBERTa, trained."""
    made: dict[str, Callable[[], tuple[Any, Any]]] = {"bert": train_bert, "roberta": train_roberta}
    return {name: save_model(tmp_path_factory.mktemp(name), *train()) for name, train in made.items()}


def to_pieces(text: str, *, apart: bool = False) -> list[Piece]:
    """Return the pieces of an unchanged text. apart: split words at apostrophes, as sanitizing sometimes does."""
    word = r"\w+" if apart else r"\w+(?:['’]\w+)*"
    found = re.finditer(rf"(?P<word>{word})|(?s:.)", text)
    return [Piece(match[0], match[0], find_kind(match[0]) if match["word"] else None) for match in found]


def find_kind(word: str) -> Kind:
    return Kind.STOPWORD if word.lower() in ("the", "in") else Kind.REPLACED


def guess_one_by_one(folder: Path, pieces: Sequence[Piece], length: int) -> list[tuple[list[int], str]]:
    """Return tokens and guesses by plain transformers, with each masked text tokenized and run by itself."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    guesses = []
    for number, piece in enumerate(pieces):
        if piece.kind is None:
            continue
        shown = [tokenizer.mask_token if place == number else other.after for place, other in enumerate(pieces)]
        first, *inner, last = tokenizer(" ".join("".join(shown).split()))["input_ids"]
        while len(inner) > length - 2:  # drop the token that is farther from the mask
            mask = inner.index(tokenizer.mask_token_id)
            inner.pop(0 if mask > len(inner) - 1 - mask else -1)
        tokens = [first, *inner, last]
        with torch.inference_mode():
            scores = model(input_ids=torch.tensor([tokens])).logits[0, tokens.index(tokenizer.mask_token_id)]
        guesses.append((tokens, tokenizer.decode([int(scores.argmax())]).strip().lower()))
    return guesses


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("length", [9, 16, 128])
@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_batches_give_what_single_texts_give(folders: Folders, name: str, length: int, apart: bool) -> None:
    texts = [to_pieces(text, apart=apart) for text in TEXTS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_attack, "_CONTEXTS", 40)
        patch.setattr(mask_attack, "_TOKENIZED", 3)
        guesser = LanguageModelGuesser(folders[name], batch_size=7, length=length)
        found = list(guesser.guess(texts))
        seen = list(guesser._find_contexts(texts))
    expected = [guess_one_by_one(folders[name], pieces, length) for pieces in texts]
    assert seen == [tokens for text in expected for tokens, _ in text]
    assert found == [[guess for _, guess in text] for text in expected]


def test_guesses_come_from_the_new_words_alone(folders: Folders) -> None:
    guesser = LanguageModelGuesser(folders["bert"])
    shown = to_pieces("the old dog buries the bone, in the garden")
    hidden = [piece if piece.kind is None else replace(piece, before="secret") for piece in shown]
    assert list(guesser.guess([hidden])) == list(guesser.guess([shown]))


def test_a_text_that_contains_mask_has_one_mask(folders: Folders) -> None:
    guesser = LanguageModelGuesser(folders["bert"])
    seen = []
    guesser._model.register_forward_pre_hook(
        lambda module, arguments, named: seen.append(named["input_ids"]), with_kwargs=True
    )
    list(guesser.guess([to_pieces("the [MASK] hunts [SEP] the mouse")]))
    [tokens] = seen
    special = [guesser._tokenizer.mask_token_id, guesser._tokenizer.sep_token_id]
    assert [(tokens == token).sum(dim=1).unique().tolist() for token in special] == [[1], [1]]


def test_a_run_of_white_space_is_one_space() -> None:
    pieces = [
        Piece(" \n", " \n"),
        Piece("a", "one", Kind.REPLACED),
        Piece("\t ", "\t "),
        Piece(" , ", " , "),
        Piece("b", "two", Kind.REPLACED),
    ]
    assert join_pieces([*pieces, Piece("  ", "  ")]) == ("one , two", [(0, 3), (6, 9)])


def test_loading_prints_nothing(folders: Folders, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    LanguageModelGuesser(str(folders["bert"]))
    assert capfd.readouterr() == ("", "")
    assert transformers.utils.logging.is_progress_bar_enabled()


def test_a_model_that_does_not_exist_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hub = import_library("huggingface_hub")
    asked = []

    def refuse(self: Any, name: str, **options: Any) -> None:
        asked.append((name, options["timeout"]))
        raise ConnectionError

    monkeypatch.setattr(hub.HfApi, "model_info", refuse)
    expected = (
        "cannot load the model nobody/nothing: it is neither a folder nor in the Hugging Face cache, and could not be "
        "fetched; give the path of a masked language model, or use the model ngram with "
        'public texts: --model ngram --public FILE (in Python: model="ngram", public=...)'
    )
    with pytest.raises(SettingError, match=f"^{re.escape(expected)}$"):
        LanguageModelGuesser("nobody/nothing")
    assert asked == [("nobody/nothing", 10.0)]
    assert capfd.readouterr() == ("", "")


def save_gpt2(folder: Path) -> None:
    config = transformers.GPT2Config(vocab_size=103, n_embd=8, n_layer=1, n_head=2, n_positions=128)
    save_model(folder, transformers.GPT2LMHeadModel(config), train_bert()[1])


def save_without_mask(folder: Path) -> None:
    model, tokenizer = train_bert()
    backend = tokenizer.backend_tokenizer
    plain = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]")
    save_model(folder, model, plain)


def save_damaged(folder: Path) -> None:
    save_model(folder, *train_bert())
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])


@pytest.mark.parametrize(
    ("save", "message"),
    [
        (lambda folder: None, "cannot load the model .*: expected .* found .*; give the path"),
        (lambda folder: save_model(folder, train_bert()[0]), "expected its tokenizer beside it, found none"),
        (save_damaged, "cannot load the model .* found SafetensorError"),
        (
            lambda folder: save_model(folder, train_bert()[0].base_model, train_bert()[1]),
            "cannot guess masked words: its files lack 6 weights .*; give the path",
        ),
        (save_gpt2, "found ValueError: Unrecognized configuration class .*AutoModelForMaskedLM"),
        (save_without_mask, "cannot guess masked words: its tokenizer has no mask token"),
    ],
    ids=["no model", "no tokenizer", "damaged weights", "no head", "another kind", "no mask"],
)
def test_a_folder_without_a_masked_language_model_is_an_error(
    tmp_path: Path, save: Callable[[Path], object], message: str
) -> None:
    save(tmp_path)
    with pytest.raises(SettingError, match=message):
        LanguageModelGuesser(tmp_path)


def test_invalid_lengths_and_batch_sizes_are_errors(folders: Folders) -> None:
    for name, length in (("bert", 129), ("roberta", 129), ("bert", 2)):
        with pytest.raises(SettingError, match=f"length must be 3 to 128 tokens for the model .*; found {length}"):
            LanguageModelGuesser(folders[name], length=length)
    with pytest.raises(SettingError, match="batch_size. must be at least 1; found 0"):
        LanguageModelGuesser(folders["bert"], batch_size=0)
