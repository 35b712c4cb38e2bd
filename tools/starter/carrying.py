"""Carries word vectors from one space into another, by the words that both have.

Least squares alone gives vectors that are too short and too close to all words. It cannot know the part of a vector
that is no linear function of the other space. Similar words have a similar part, so a carried vector gets the mean
error of least squares at the shared words most similar to it. Then all carried vectors are moved away from the center
of the present words by one factor, so that on average they lie as far from it as present words do.
"""

from dataclasses import dataclass

import numpy as np

from custext_sql.arrays import Floats

NEIGHBORS = 20  # shared words whose errors are averaged
SHARPNESS = 10  # a shared word counts exp(SHARPNESS * cosine)
_ROWS = 500  # carried at a time


@dataclass(frozen=True)
class Carrier:
    """What carrying needs to know. Rows of `shared` and `errors` belong together; `shared` has unit length.

    matrix: of least squares; its last row is the constant. mean, spread: of each coordinate of the shared words in the
    space they come from. center, distance: the mean of the present words, and their average distance from it.
    """

    matrix: Floats
    mean: Floats
    spread: Floats
    shared: Floats
    errors: Floats
    center: Floats
    distance: float

    @classmethod
    def fit(cls, given: Floats, wanted: Floats, present: Floats) -> "Carrier":
        """Learn from shared words how to carry `given` vectors to `wanted` ones. present: all vectors of the target."""
        matrix = np.linalg.lstsq(_add_constant(given), wanted, rcond=None)[0].astype(np.float64)
        mean, spread, center = given.mean(axis=0), given.std(axis=0), present.mean(axis=0)
        return cls(
            matrix=matrix,
            mean=mean,
            spread=spread,
            shared=_directions((given - mean) / spread),
            errors=wanted - _add_constant(given) @ matrix,
            center=center,
            distance=float(np.linalg.norm(present - center, axis=1).mean()),
        )

    def carry(self, vectors: Floats) -> Floats:
        """Return the vectors in the space into which they are carried."""
        parts = [self._carry_part(vectors[start : start + _ROWS]) for start in range(0, len(vectors), _ROWS)]
        found = np.concatenate(parts) - self.center
        factor = self.distance / float(np.linalg.norm(found, axis=1).mean())
        return self.center + factor * found

    def carry_linearly(self, vectors: Floats) -> Floats:
        """Return what least squares alone gives."""
        found: Floats = _add_constant(vectors) @ self.matrix
        return found

    def _carry_part(self, vectors: Floats) -> Floats:
        cosines = _directions((vectors - self.mean) / self.spread) @ self.shared.T
        nearest = np.argpartition(-cosines, NEIGHBORS - 1, axis=1)[:, :NEIGHBORS]
        weights = np.exp(SHARPNESS * np.take_along_axis(cosines, nearest, axis=1))
        weights /= weights.sum(axis=1, keepdims=True)
        found: Floats = self.carry_linearly(vectors) + (weights[:, None, :] @ self.errors[nearest])[:, 0]
        return found


def _add_constant(vectors: Floats) -> Floats:
    return np.column_stack([vectors, np.ones(len(vectors))])


def _directions(vectors: Floats) -> Floats:
    found: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found
