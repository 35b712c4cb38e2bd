"""The types of arrays that travel through the package."""

from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]  # texts in UTF-8, end to end
Places = npt.NDArray[np.int64]  # where something lies: bytes of a text, rows of a table, words of a list
Flags = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]  # code points
Hashes = npt.NDArray[np.uint64]
Kinds = npt.NDArray[np.uint8]  # members of Kind
WordNumbers = npt.NDArray[np.int32]  # words as a lexicon numbers them
Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Draws = npt.NDArray[np.uint64]  # uniform 64-bit integers
Weights = npt.NDArray[np.uint64]  # rows that sum to 2**64
Units = npt.NDArray[np.int32]  # scores in whole numbers of 2**-20
Sizes = npt.NDArray[np.int64]  # words of each group
Vectors = npt.NDArray[np.floating[Any]]  # one row per word
Points = npt.NDArray[np.float32]  # vectors as they are stored
