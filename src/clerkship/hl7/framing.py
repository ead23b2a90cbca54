"""MLLP, the minimal lower layer protocol: where a message begins and ends on a connection (HL7 v2.5.1, appendix C)."""

import re
from typing import Literal, NamedTuple

START = b"\x0b"
END = b"\x1c\r"
KEPT = 65536
"""What is kept of a frame that is too large: enough to read its MSH, and answer."""
_MARKS = re.compile(rb"[\x0b\x1c]")
_START = START[0]

Fault = Literal["too_large", "unfinished"]


class Frame(NamedTuple):
    """What stood between a start and an end. With a flaw, there was more of it, or it was not ended."""

    data: bytes
    flaw: Fault | None = None


def frame(data: bytes) -> bytes:
    """A message as it goes over the line. The two bytes that mark frames may not be in it: they become spaces."""
    return START + _MARKS.sub(b" ", data) + END


class Deframer:
    """Frames out of bytes, however these are cut into pieces; never more than the limit and one piece in memory."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.ignored = 0
        """Bytes that stood outside of any frame, but for the carriage return that ends one."""
        self._held = bytearray()
        self._inside = False
        self._large = False
        self._ended = False

    @property
    def open(self) -> bool:
        """Whether a frame has begun and not ended."""
        return self._inside

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete. A frame ends at FS; the carriage return after it may be missing."""
        found: list[Frame] = []
        at = 0
        for mark in _MARKS.finditer(data):
            self._take(data[at : mark.start()])
            at = mark.end()
            if data[mark.start()] == _START:
                if self._inside:  # the sender broke off and began anew
                    found.append(self._close("unfinished"))
                self._inside = True
            elif self._inside:
                found.append(self._close(None))
                self._ended = True
            else:
                self.ignored += 1
        self._take(data[at:])
        return found

    def _take(self, data: bytes) -> None:
        if not data:
            return
        if not self._inside:
            self.ignored += len(data) - (self._ended and data[0] == END[1])
            self._ended = False
        elif not self._large:
            self._held += data
            if len(self._held) > self.limit:
                self._large = True
                del self._held[min(self.limit, KEPT) :]

    def _close(self, flaw: Fault | None) -> Frame:
        whole = Frame(bytes(self._held), "too_large" if self._large else flaw)
        self._held = bytearray()
        self._inside = self._large = self._ended = False
        return whole
