"""Real language models that are small enough to train in a test, and the sentences they are trained on."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="needs the extra models")
transformers: Any = pytest.importorskip("transformers", reason="needs the extra models")
tokenizers: Any = pytest.importorskip("tokenizers", reason="needs the extra evaluation")

torch.set_num_threads(1)  # on a busy machine, several threads take ten times as long

SCENES = [  # who, does what, to what, where: any three determine the fourth
    ("cat", "hunts", "mouse", "kitchen"),
    ("dog", "buries", "bone", "garden"),
    ("horse", "pulls", "cart", "street"),
    ("bear", "steals", "honey", "forest"),
    ("whale", "swallows", "plankton", "ocean"),
    ("monkey", "peels", "banana", "jungle"),
    ("spider", "weaves", "web", "corner"),
    ("farmer", "sows", "wheat", "field"),
]
MOODS = ["old", "young", "quiet", "hungry", "clever"]
WORDS = sorted({word for scene in SCENES for word in scene} | set(MOODS) | {"the", "in"})
POSITIONS = 128


def write_sentences(count: int, *, seed: int) -> list[str]:
    """Return sentences about random scenes, each with a random mood."""
    random = np.random.default_rng(seed)
    choices = random.integers([len(MOODS), len(SCENES)], size=(count, 2)).tolist()
    return ["The {} {} {} the {}, in the {}.".format(MOODS[mood], *SCENES[scene]) for mood, scene in choices]


@cache
def train_bert() -> tuple[Any, Any]:
    """Return a BERT and its WordPiece tokenizer, which keeps the words of the sentences whole and spells out others."""
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {piece: number for number, piece in enumerate([*pieces, *".,'()-!"])}
    tokenizer = transformers.BertTokenizer(vocab=vocabulary)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
        config = transformers.BertConfig(vocab_size=len(vocabulary), max_position_embeddings=POSITIONS, **sizes)
        model = transformers.BertForMaskedLM(config)
        _train(model, tokenizer)
    return model, tokenizer


@cache
def train_roberta() -> tuple[Any, Any]:
    """Return a RoBERTa and its byte-level BPE tokenizer."""
    bpe = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    # Also single words, for tokens without a space before them, and apostrophes, for tokens such as 't in roberta-base.
    sentences = [*write_sentences(400, seed=1), *WORDS * 20, *["don't, the spider's web_, "] * 20]
    bpe.train_from_iterator(sentences, vocab_size=600, min_frequency=2, special_tokens=special, show_progress=False)
    merges = [tuple(merge) for merge in _read_merges(bpe)]
    mask = transformers.AddedToken("<mask>", lstrip=True, special=True)  # as in roberta-base
    tokenizer = transformers.RobertaTokenizer(vocab=bpe.get_vocab(), merges=merges, mask_token=mask)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
        config = transformers.RobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=POSITIONS + 2, **sizes)
        model = transformers.RobertaForMaskedLM(config)
        _train(model, tokenizer)
    return model, tokenizer


def save_model(folder: Path, model: Any, tokenizer: Any = None) -> Path:
    """Save the model, and the tokenizer if given, in the folder; return the folder."""
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    transformers.utils.logging.enable_progress_bar()
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return folder


def _read_merges(bpe: Any) -> Sequence[Sequence[str]]:
    import json

    merges: Sequence[Sequence[str]] = json.loads(bpe.to_str())["model"]["merges"]
    return merges


def _train(model: Any, tokenizer: Any, steps: int = 250) -> None:
    """Train on masked language modeling, with one mask per sentence."""
    rows = [tokenizer(sentence)["input_ids"] for sentence in write_sentences(400, seed=2)]
    width = max(map(len, rows))
    tokens = torch.tensor([row + [tokenizer.pad_token_id] * (width - len(row)) for row in rows])
    sizes = torch.tensor([len(row) for row in rows])
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    model.train()
    for _ in range(steps):
        chosen = torch.randint(len(tokens), (32,))
        masks = 1 + (torch.rand(32) * (sizes[chosen] - 2)).long()  # neither the first token nor the last
        seen = tokens[chosen].clone()
        wanted = seen[torch.arange(32), masks]
        seen[torch.arange(32), masks] = tokenizer.mask_token_id
        attention = (seen != tokenizer.pad_token_id).long()
        scores = model(input_ids=seen, attention_mask=attention).logits[torch.arange(32), masks]
        torch.nn.functional.cross_entropy(scores, wanted).backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
