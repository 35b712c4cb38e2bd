"""Makes new Docs for output="replace": the new text and, from the original, only what `carry` names."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from custext_sql import CusTextError, Policy
from custext_sql.errors import SettingError
from custext_sql.parameters import check_type
from spacy_plugin.factory import KEY, RECORD_KEY, REPLACED

Tokenizer = Callable[[str], Doc]
Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


# What a new Doc may take over, the attributes that it sets, and what it reveals about the original. Lemmas and tensors
# are not here: they reveal the words themselves.
CARRIED: dict[str, tuple[str, ...]] = {
    "sentences": ("SENT_START",),  # where sentences begin: a sentencizer sees one in "Mr. Li" and two in "Sir. Li"
    "entities": ("ENT_IOB", "ENT_TYPE"),  # where entities are, and their labels
    "tokens": (),  # the boundaries of tokens, except in units and replaced words: "Mr." is one token, but "Sir." is two
    "pos": ("POS",),  # the part of speech of the original word
    "tag": ("TAG",),  # its fine-grained tag
    "morph": ("MORPH",),  # its number, tense and other features
    "dep": ("HEAD", "DEP"),  # the parse of the original sentences: heads, labels, and where sentences begin
    "ent_id": ("ENT_ID",),  # the ID of an entity's pattern or cluster
    "ent_kb_id": ("ENT_KB_ID",),  # the ID of the entity itself in a knowledge base
    "cats": (),  # categories predicted from the original text
    "spans": (),  # span groups with their labels and IDs
    "user_data": (),  # extension attributes, and whatever else components left in doc.user_data
}
_OF_TOKENS = {"pos", "tag", "morph", "dep", "ent_id", "ent_kb_id", "user_data"}  # these imply "tokens"
DEFAULT = ("sentences", "entities")
_OF_ENTITIES = {"ENT_IOB", "ENT_TYPE", "ENT_ID", "ENT_KB_ID"}
_SET_BY_TOKENIZERS = ("NORM", "TAG", "POS", "LEMMA", "MORPH")
_INSIDE, _OUTSIDE, _BEGIN = 1, 2, 3  # values of ENT_IOB
# Tokenizers split masks at their brackets. A word and a number of the same length, put in their place, are split as the
# masked word and number would have been.
_STAND_INS = {f"<{name}>": f"x{name}x" for name in (mask[1:-1] for mask in (Policy.UNKNOWN_MASK, *Policy.UNIT_MASKS))}
_STAND_INS[Policy.NUMBER_MASK] = "00000"
_MASKS = re.compile("|".join(map(re.escape, _STAND_INS)))


@dataclass(frozen=True, eq=False)
class NewText:
    """The new text of a Doc in UTF-8, with the kind of each original token and, in bytes, where its replacement is.

    begins: the same as starts, but where a word or unit spans several tokens, the start of its output for all of them.
    """

    content: bytes
    starts: Places
    ends: Places
    begins: Places
    kinds: npt.NDArray[np.uint8]

    @property
    def joined(self) -> Flags:
        """Which tokens begin within a replaced word or unit that began in an earlier token."""
        joined: Flags = self.begins < self.starts
        return joined


def check_carry(carry: Iterable[str] | None) -> frozenset[str]:
    """Return what to carry: the default for None; "tokens" is added if an entry belongs to tokens."""
    if isinstance(carry, str) or not isinstance(carry, Iterable | None):
        raise SettingError(f'carry must be a list, as in ["pos"]; found {type(carry).__name__}')
    chosen = list(DEFAULT if carry is None else carry)
    for name in chosen:
        check_type(name, str, "carry must be a list of names")
        if name not in CARRIED:
            raise SettingError(f"carry: {name!r} cannot be carried; possible entries: {', '.join(CARRIED)}")
    return frozenset(chosen) | ({"tokens"} if _OF_TOKENS.intersection(chosen) else set())


@dataclass(frozen=True, eq=False)
class Alignment:
    """Moves annotations from original tokens to new ones.

    firsts, lasts: the first new token of each original one, and the one after the last. origins: an original token of
    each new one. joined: which original tokens begin within a replaced word or unit.
    """

    firsts: Places
    lasts: Places
    origins: Places
    joined: Flags

    @classmethod
    def by_characters(cls, text: NewText, new: Doc) -> "Alignment":
        """Return the alignment in which tokens that share characters belong together, as do those of a word."""
        begins, ends = text.begins, text.ends
        if not text.content.isascii():
            before = np.append(0, np.cumsum((np.frombuffer(text.content, dtype=np.uint8) & 0xC0) != 0x80))
            begins, ends = before[begins], before[ends]  # in characters instead of bytes
        new_starts, lengths = new.to_array(["IDX", "LENGTH"]).astype(np.int64).T
        return cls(
            firsts=(new_starts + lengths).searchsorted(begins, side="right"),
            lasts=new_starts.searchsorted(ends, side="left"),
            origins=ends.searchsorted(new_starts, side="right").clip(max=len(ends) - 1),
            joined=text.joined,
        )

    @classmethod
    def by_words(cls, text: NewText) -> "Alignment":
        """Return the alignment in which the tokens of a replaced word are one new token, and any other token is one."""
        joined = text.joined
        places = np.cumsum(~joined) - 1
        return cls(firsts=places, lasts=places + 1, origins=np.flatnonzero(~joined), joined=joined)

    def find_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and end, among the new tokens, of the original tokens from start to end."""
        if start == end:
            place = int(self.firsts[start]) if start < len(self.firsts) else len(self.origins)
            return place, place
        return int(self.firsts[start]), int(self.lasts[end - 1])

    def move_sentences(self, starts: Places) -> Places:
        """Return for each new token whether it begins a sentence outside a unit: 1 for yes, -1 for no, 0: unknown."""
        moved = np.full(len(self.origins), -1 if starts.all() else 0)
        for value in (-1, 1):
            places = self.firsts[(starts == value) & ~self.joined]
            moved[places[places < len(moved)]] = value  # the last one may be a space, which is no longer a token
        return moved

    def find_highest(self, heads: Places) -> Places:
        """Return for each new token its original one nearest to a root, or the first; their heads are a tree."""
        above, depth = heads, (heads != np.arange(len(heads))).astype(np.int64)
        for _ in range(len(heads).bit_length()):  # each step doubles the distance to `above`
            above, depth = above[above], depth + depth[above]
        in_order: Places = np.lexsort((depth, self.firsts))
        return in_order[self.origins]

    def move_entities(self, tags: Places, labels: Places) -> tuple[Places, Places, Places]:
        """Return ENT_IOB and ENT_TYPE of the new tokens, and their original tokens. Of two, the first entity counts."""
        moved = np.where((tags == _INSIDE) | (tags == _BEGIN), _OUTSIDE, tags)[self.origins]
        moved_labels, sources = np.zeros_like(labels, shape=len(moved)), self.origins.copy()
        begins = np.flatnonzero(tags == _BEGIN)
        others = np.append(np.flatnonzero(tags != _INSIDE), len(tags))
        ends = others[others.searchsorted(begins, side="right")]
        free = 0
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            first, last = self.find_span(begin, end)
            first = max(first, free)
            if first < last:
                moved[first:last] = _INSIDE if labels[begin] else _BEGIN  # no label: a token blocked from entities
                moved[first] = _BEGIN
                moved_labels[first:last], sources[first:last] = labels[begin], begin
                free = last
        return moved, moved_labels, sources


def write_doc(
    doc: Doc, text: NewText, carry: frozenset[str], tokenizer: Tokenizer | None = None, finds_sentences: bool = False
) -> Doc:
    """Return a Doc with the new text and, from the original Doc, what is carried and nothing else.

    tokenizer: splits the new text, unless tokens are carried. finds_sentences: whether a component before does.
    """
    if tokenizer is None:
        new, alignment = _merge_tokens(doc, text), Alignment.by_words(text)
    else:
        new = _tokenize(text.content.decode(), tokenizer, doc.vocab)
        alignment = Alignment.by_characters(text, new)
        # SpaCy marks the first token of every Doc, so one of a single token does not show whether a component looked
        # for sentences. A new Doc without sentences would then reveal that the original had only one token.
        if not (doc.to_array("SENT_START")[1:].any() if len(doc) > 1 else finds_sentences):
            carry -= {"sentences"}
    _move_attributes(doc, new, carry, alignment)
    new.cats = dict(doc.cats) if "cats" in carry else {}
    if "spans" in carry:
        for key, group in doc.spans.items():
            new.spans[key] = [
                Span(new, *alignment.find_span(span.start, span.end), span.label, kb_id=span.kb_id, span_id=span.id)
                for span in group
            ]
    if "user_data" in carry:
        new.user_data.update(_move_user_data(doc, new, alignment))
    new.user_data[KEY] = REPLACED  # type: ignore[index]
    new._context = doc._context  # passed on by `nlp.pipe(..., as_tuples=True)`; it belongs to the caller
    return new


def _merge_tokens(doc: Doc, text: NewText) -> Doc:
    """Return a Doc with the new text and the token boundaries of the original, except within replaced words."""
    first = np.flatnonzero(~text.joined)
    last = np.append(first[1:], len(doc))[: len(first)] - 1
    bounds = zip(text.starts[first].tolist(), text.ends[last].tolist(), strict=True)
    words = [text.content[start:end].decode() or " " for start, end in bounds]  # spaCy allows no empty tokens
    spaces = np.append(text.starts[first[1:]], len(text.content)) > text.ends[last]
    return Doc(doc.vocab, words=words, spaces=spaces.tolist())


def _move_attributes(doc: Doc, new: Doc, carry: frozenset[str], alignment: Alignment) -> None:
    """Set the carried attributes of the new tokens; of several tokens, those of the highest in the parse."""
    names = carry
    if not doc.has_annotation("ENT_IOB"):
        names -= {"entities"}
    if "dep" in names:  # a parse includes sentence boundaries
        names -= {"sentences"} if doc.has_annotation("DEP") else {"dep"}
    attributes: list[int | str] = [name for entry in CARRIED if entry in names for name in CARRIED[entry]]
    if not attributes or not len(new):
        return
    moved = dict(zip(attributes, doc.to_array(attributes).reshape(len(doc), -1).astype(np.int64).T, strict=True))
    if "SENT_START" in moved:
        moved["SENT_START"] = alignment.move_sentences(moved["SENT_START"])
    if _OF_ENTITIES & moved.keys():
        tags, labels, sources = alignment.move_entities(*doc.to_array(["ENT_IOB", "ENT_TYPE"]).astype(np.int64).T)
        moved |= {"ENT_IOB": tags, "ENT_TYPE": labels} if "ENT_IOB" in moved else {}
        moved |= {attribute: moved[attribute][sources] for attribute in ("ENT_ID", "ENT_KB_ID") if attribute in moved}
    if of_words := moved.keys() - _OF_ENTITIES - {"SENT_START"}:
        heads = np.arange(len(doc)) + doc.to_array("HEAD").astype(np.int64)
        highest = alignment.find_highest(heads)
        moved |= {attribute: moved[attribute][highest] for attribute in of_words}
        if "HEAD" in moved:
            moved["HEAD"] = alignment.firsts[heads[highest]] - np.arange(len(highest))
    new.from_array(attributes, np.stack(list(moved.values()), axis=1).astype(np.uint64))  # type: ignore[arg-type]


def _move_user_data(doc: Doc, new: Doc, alignment: Alignment) -> dict[Any, Any]:
    """Return the user data for a new Doc, in which tokens and spans begin and end at other characters.

    Where several tokens or spans become the same one, it has the data that were stored first.
    """
    tokens = [new[place] for place in alignment.firsts.tolist()]
    starts = {None: None} | {token.idx: tokens[token.i].idx for token in doc}
    ends = {None: None} | {token.idx + len(token): tokens[token.i].idx + len(tokens[token.i]) for token in doc}
    moved: dict[Any, Any] = {}
    data: dict[Any, Any] = doc.user_data
    for key, value in data.items():
        if key == RECORD_KEY:  # keyed draws depend on it, and readers do not need it
            continue
        if not (isinstance(key, tuple) and len(key) == 4 and key[0] == "._."):
            moved[key] = value
        elif key[2] in starts and key[3] in ends:
            moved.setdefault((*key[:2], starts[key[2]], ends[key[3]]), value)
    return moved


def _tokenize(text: str, tokenizer: Tokenizer, vocab: Vocab) -> Doc:
    """Return a Doc of the text in which no mask is split, and each mask of a unit is a token."""
    plain, masks = _MASKS.subn(lambda mask: _STAND_INS[mask[0]], text)
    doc = tokenizer(plain)
    if (doc[-1].idx + len(doc[-1].text_with_ws) if len(doc) else 0) != len(text):
        raise CusTextError(
            "the pipeline's tokenizer changes the text, so it cannot make a new Doc; use a tokenizer that keeps every "
            'character, or add "tokens" to "carry"'
        )
    if doc.vocab is not vocab:
        doc = Doc(vocab).from_dict(doc.to_dict())
    return _restore_masks(doc, text) if masks else doc


def _restore_masks(doc: Doc, text: str) -> Doc:
    """Return the Doc with masks instead of their stand-ins; the other attributes of tokens with masks are cleared."""
    values = doc.to_array(["LENGTH", "SPACY", *_SET_BY_TOKENIZERS])
    lengths, spaces = values[:, 0].astype(np.int64), values[:, 1] != 0
    stops = np.cumsum(lengths + spaces)
    row_of = {stop: row for row, stop in enumerate(stops.tolist())}  # the token that ends there, with its space
    ends, cuts = set((stops - spaces).tolist()), {0, *row_of}  # a space after an end is not a token
    plain = np.ones(len(values), dtype=bool)
    for mask in _MASKS.finditer(text):
        first, last = stops.searchsorted([mask.start(), mask.end() - 1], side="right").tolist()
        plain[first : last + 1] = False
        cuts.difference_update(range(mask.start() + 1, mask.end()))  # some tokenizers split every character
        if mask[0] in Policy.UNIT_MASKS:
            cuts.update({mask.start(), mask.end()} - ends)
    places = sorted(cuts)
    rows = [row_of.get(stop, -1) for stop in places[1:]]
    has_space = [row >= 0 and bool(spaces[row]) for row in rows]
    words = [text[start : stop - space] for (start, stop), space in zip(pairwise(places), has_space, strict=True)]
    new = Doc(doc.vocab, words=words, spaces=has_space, user_data=doc.user_data)
    kept = np.where([row >= 0 and bool(plain[row]) for row in rows], rows, -1)
    for column, attribute in enumerate(_SET_BY_TOKENIZERS, start=2):
        moved = np.append(values[:, column], np.uint64(0))[kept]
        if moved.any():
            new.from_array([attribute], moved)  # type: ignore[arg-type]
    return new
