"""Exact posterior probabilities of hidden words, given the sequence of their groups and a bigram model."""

from collections.abc import Callable, Iterator

import numpy as np

from custext_sql.arrays import Flags, Floats, Numbers, Places
from custext_sql.experiments.attacks.bigram_model import BigramModel
from custext_sql.text.encoded_text import spread_out

_CELLS = 1 << 20  # places times words of a group, worked on at a time


def find_posteriors(
    model: BigramModel, symbols: Numbers, certain: Flags, find_likelihoods: Callable[[Numbers], Floats]
) -> Iterator[tuple[Places, Floats]]:
    """Yield places of a sequence, and the posterior probability of each word of the class at each of these places.

    This is the forward-backward algorithm. A certain symbol separates what is before it from what is behind it, so the
    runs between two of them are independent. Runs of similar lengths are worked on together, step by step.

    symbols: the visible sequence. certain: which symbols are hidden symbols themselves; the first and the last must be.
    find_likelihoods: returns a row for each of some visible symbols: the probability of this symbol for each word of
    its class.
    """
    begins = (certain[:-1] & ~certain[1:]).nonzero()[0]
    lengths = (~certain[:-1] & certain[1:]).nonzero()[0] - begins
    order = np.argsort(-lengths, kind="stable")
    begins, lengths = begins[order], lengths[order]
    sizes = np.cumsum((lengths + 1) * model.width)
    start = 0
    while start < len(begins):
        end = max(start + 1, int(sizes.searchsorted((sizes[start - 1] if start else 0) + _CELLS, "right")))
        runs = _Runs(model, symbols, begins[start:end], lengths[start:end], find_likelihoods)
        yield runs.places, runs.find_posteriors()
        start = end


class _Runs:
    """Runs of hidden words between certain symbols, the longest first."""

    def __init__(
        self,
        model: BigramModel,
        symbols: Numbers,
        begins: Places,
        lengths: Places,
        find_likelihoods: Callable[[Numbers], Floats],
    ) -> None:
        self._model, self._lengths = model, lengths
        self.places = spread_out(begins + 1, lengths)
        self._likelihoods = find_likelihoods(symbols[self.places])
        self._firsts = np.cumsum(lengths) - lengths  # the first place of each run
        self._first_steps = self._firsts + np.arange(len(lengths))  # a run has one step more than places
        before = spread_out(begins, lengths + 1)
        classes = model.alphabet.classes
        self._steps = model.find_steps(classes[symbols[before]], classes[symbols[before + 1]])
        self._before = model.columns[symbols[begins]]
        self._behind = model.columns[symbols[begins + lengths + 1]]

    def find_posteriors(self) -> Floats:
        """Return the posterior probabilities, a row per place."""
        found = np.empty_like(self._likelihoods)
        longest = int(self._lengths[0])
        active = np.searchsorted(-self._lengths, -np.arange(longest + 1), "right")  # runs of at least each length
        state = self._mark(self._before)
        for step in range(longest):
            count = int(active[step + 1])
            places = self._firsts[:count] + step
            state = self._go_on(state[:count], self._first_steps[:count] + step) * self._likelihoods[places]
            state /= state.sum(axis=1, keepdims=True)
            found[places] = state
        state = state[:0]
        for step in range(longest, 0, -1):
            count = int(active[step])
            ending = self._mark(self._behind[len(state) : count])
            state = self._go_back(np.append(state, ending, axis=0), self._first_steps[:count] + step)
            places = self._firsts[:count] + step - 1
            found[places] *= state
            state *= self._likelihoods[places]
            state /= state.sum(axis=1, keepdims=True)
        found /= found.sum(axis=1, keepdims=True)
        return found

    def _mark(self, columns: Numbers) -> Floats:
        """Return a row for each certain symbol, with a 1 in its column."""
        marked = np.zeros((len(columns), self._model.width))
        marked[np.arange(len(columns)), columns] = 1.0
        return marked

    def _go_on(self, state: Floats, steps: Places) -> Floats:
        """Return the weights of the words after a step, from those before it."""
        known, entries = self._steps, self._model.entries
        novel: Floats = np.einsum("ij,ij->i", state, known.spare[steps])[:, None] * known.novel[steps]
        novel += self._move(state, steps, entries.lefts, entries.rights)
        return novel

    def _go_back(self, state: Floats, steps: Places) -> Floats:
        """Return the weights of the words before a step, from those after it."""
        known, entries = self._steps, self._model.entries
        novel: Floats = np.einsum("ij,ij->i", state, known.novel[steps])[:, None] * known.spare[steps]
        novel += self._move(state, steps, entries.rights, entries.lefts)
        return novel

    def _move(self, state: Floats, steps: Places, sources: Numbers, targets: Numbers) -> Floats:
        """Return what the entries of some steps carry from their sources to their targets."""
        counts = self._steps.counts[steps]
        entries = spread_out(self._steps.firsts[steps], counts)
        rows = np.arange(0, state.size, state.shape[1]).repeat(counts)
        carried = state.take(rows + sources[entries]) * self._model.entries.values[entries]
        moved: Floats = np.bincount(rows + targets[entries], carried, state.size).astype(np.float64)
        return moved.reshape(state.shape)
