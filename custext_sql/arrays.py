"""The array types that modules share."""

from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]  # texts in UTF-8, end to end
Places = npt.NDArray[np.int64]  # positions: of bytes in a text, rows in a table, words in a list
Flags = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]  # code points
Hashes = npt.NDArray[np.uint64]
Kinds = npt.NDArray[np.uint8]  # members of Kind
WordNumbers = npt.NDArray[np.int32]  # words, by their number in a lexicon
Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Draws = npt.NDArray[np.uint64]  # uniform 64-bit integers
Weights = npt.NDArray[np.uint64]  # rows that sum to 2**64
Scores = npt.NDArray[np.int32]  # in steps of 2**-20
Sizes = npt.NDArray[np.int64]  # the number of words in each group
Vectors = npt.NDArray[np.floating[Any]]  # one row per word
Points = npt.NDArray[np.float32]  # vectors in the precision in which they are stored
