"""Parts of a file that are written over what is there, and how much may be."""

from typing import NamedTuple


class Space(NamedTuple):
    """What may be written at a path."""

    size: int | None
    """Bytes that are there; None if there is no file."""
    most: int
    """Bytes that the file may have."""
    room: int
    """Bytes that are free, with those of the file itself."""


class Patch(NamedTuple):
    """Where the parts of a body go, one after the other."""

    kept: int
    parts: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """Bytes the file has at least."""
        return max((start + length for start, length in self.parts), default=0)

    def lay(self, kept: bytes, body: bytes) -> bytes:
        """The file as it is then, with zeros where nothing is."""
        data = bytearray(kept)
        data.extend(bytes(max(0, self.size - len(data))))
        at = 0
        for start, length in self.parts:
            data[start : start + length] = body[at : at + length]
            at += length
        return bytes(data)
