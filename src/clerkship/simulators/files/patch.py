"""Parts of a file that are written over what is there, and how much may be."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from clerkship.sandbox.exchange import Refusal

PARTS, KEPT = "x-clerkship-parts", "x-clerkship-kept"
"""Headers: where each part of the body goes (`0+10,4096+20`), and how many bytes of what was there are kept."""
_PARTS = re.compile(r"(\d{1,12}\+\d{1,12}(,\d{1,12}\+\d{1,12})*)?")


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


def parse_patch(headers: Mapping[str, str], body: bytes) -> Patch | None:
    """What the headers say, if they say anything."""
    if PARTS not in headers:
        return None
    parts, kept = headers[PARTS], headers.get(KEPT, "")
    if _PARTS.fullmatch(parts) is None or not re.fullmatch(r"\d{1,12}", kept):
        raise Refusal(400, "bad_parts", f"{PARTS} is like `0+10,4096+20`, and {KEPT} a number of bytes")
    pairs = tuple(
        (int(start), int(length)) for start, _, length in (part.partition("+") for part in parts.split(",") if part)
    )
    if sum(length for _, length in pairs) != len(body):
        raise Refusal(
            400, "bad_parts", f"the parts have {sum(length for _, length in pairs)} bytes, the body {len(body)}"
        )
    return Patch(int(kept), pairs)
