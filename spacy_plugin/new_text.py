"""The new text of a Doc, with the position of each original token's replacement."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NewText:
    """A text in UTF-8, with the start and end, in bytes, of the replacement of each original token.

    If a word or unit spans several tokens, its output is the replacement of the first. begins: the start of each
    replacement, or of that output, for tokens that begin within such a word.
    """

    content: npt.NDArray[np.uint8]
    starts: Places
    ends: Places
    begins: Places

    @property
    def joined(self) -> Flags:
        """Which tokens begin within a replaced word or unit that began in an earlier token."""
        joined: Flags = self.begins < self.starts
        return joined

    def to_bytes(self) -> bytes:
        return self.content.tobytes()

    def decode(self) -> str:
        return self.to_bytes().decode()

    def cut(self, starts: Places, ends: Places) -> list[str]:
        """Return parts of the text."""
        text = self.to_bytes()
        return [text[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]

    def in_characters(self) -> tuple[Places, Places]:
        """Return the beginning and end of each replacement, in characters of the decoded text."""
        begins_character = (self.content & 0xC0) != 0x80
        if begins_character.all():
            return self.begins, self.ends
        before = np.concatenate([[0], np.cumsum(begins_character)])
        return before[self.begins], before[self.ends]
