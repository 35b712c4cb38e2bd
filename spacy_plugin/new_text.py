"""The new text of a Doc, with the position of each original token's replacement."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NewText:
    """A text in UTF-8, with the start and end, in bytes, of the replacement of each original token."""

    content: npt.NDArray[np.uint8]
    starts: Places
    ends: Places

    def to_bytes(self) -> bytes:
        return self.content.tobytes()

    def decode(self) -> str:
        return self.to_bytes().decode()

    def words(self) -> list[str]:
        """Return the replacement of each token."""
        text = self.to_bytes()
        return [text[start:end].decode() for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)]

    def in_characters(self) -> tuple[Places, Places]:
        """Return the start and end of each replacement, in characters of the decoded text."""
        begins_character = (self.content & 0xC0) != 0x80
        if begins_character.all():
            return self.starts, self.ends
        before = np.concatenate([[0], np.cumsum(begins_character)])
        return before[self.starts], before[self.ends]
