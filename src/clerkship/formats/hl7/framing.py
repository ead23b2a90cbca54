"""MLLP framing: finds messages in the bytes of a connection (HL7 v2.5.1, appendix C)."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

START_BLOCK = b"\x0b"
END_BLOCK = b"\x1c\r"
MAX_TRUNCATED_BYTES = 65536
"""Bytes kept of a frame that is too large: enough to parse its MSH and answer."""
_FRAMING_BYTES = re.compile(rb"[\x0b\x1c]")
_START_BYTE = START_BLOCK[0]

FrameFlaw = Literal["too_large", "unfinished"]


class Frame(NamedTuple):
    """The content of one MLLP frame. If `flaw` is set, the content is incomplete."""

    data: bytes
    flaw: FrameFlaw | None = None
    dropped_bytes: int = 0
    """Bytes received and not kept."""

    @property
    def size(self) -> int:
        """The number of bytes received, including the dropped ones."""
        return len(self.data) + self.dropped_bytes


def frame_message(data: bytes) -> bytes:
    """Wrap a message in an MLLP frame. Framing bytes inside the message are replaced by spaces."""
    return START_BLOCK + _FRAMING_BYTES.sub(b" ", data) + END_BLOCK


def _is_one_frame(data: bytes) -> bool:
    """Return whether data that starts with a start block is exactly one frame (the usual case)."""
    return data.endswith(END_BLOCK) and data.find(END_BLOCK[:1]) == len(data) - 2 and data.find(START_BLOCK, 1) < 0


class Deframer:
    """Incremental parser of MLLP frames. Memory is bounded by the limit plus one chunk.

    If the limit depends on the receiver, `limit_for` is called with the start of a message once it exceeds the
    default limit.
    """

    def __init__(self, limit: int, limit_for: Callable[[bytes], int] | None = None) -> None:
        self.limit = limit
        self._limit_for = limit_for
        self._limit = limit
        self._size = 0
        self.ignored_bytes = 0
        """Bytes received outside any frame, except the carriage return that ends one."""
        self._buffer = bytearray()
        self._in_frame = False
        self._is_too_large = False
        self._after_end_block = False

    @property
    def is_open(self) -> bool:
        """Whether a frame has started and not ended."""
        return self._in_frame

    @property
    def buffered(self) -> int:
        """The number of bytes buffered for the open frame."""
        return len(self._buffer)

    def truncate(self) -> None:
        """Keep only the start of the open frame, because memory is short. The frame is then reported as too large."""
        if len(self._buffer) > MAX_TRUNCATED_BYTES:
            self._is_too_large = True
            self._buffer = self._buffer[:MAX_TRUNCATED_BYTES]

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete.

        A frame ends at FS (0x1C); the carriage return after it may be missing.
        """
        if not self._in_frame and len(data) <= self.limit and data[:1] == START_BLOCK and _is_one_frame(data):
            self._after_end_block = False
            return [Frame(data[1:-2])]
        frames: list[Frame] = []
        if _FRAMING_BYTES.search(data) is None:
            self._append(data)
            return frames
        start = 0
        for mark in _FRAMING_BYTES.finditer(data):
            self._append(data[start : mark.start()])
            start = mark.end()
            if data[mark.start()] == _START_BYTE:
                if self._in_frame:  # the sender abandoned one frame and started another
                    frames.append(self._close("unfinished"))
                self._in_frame = True
            elif self._in_frame:
                frames.append(self._close(None))
                self._after_end_block = True
            else:
                self.ignored_bytes += 1
        self._append(data[start:])
        return frames

    def _append(self, data: bytes) -> None:
        if not data:
            return
        if not self._in_frame:
            self.ignored_bytes += len(data) - (self._after_end_block and data[0] == END_BLOCK[1])
            self._after_end_block = False
            return
        self._size += len(data)
        if not self._is_too_large:
            self._buffer += data
            if len(self._buffer) > self._limit:
                self._enforce_limit()

    def _enforce_limit(self) -> None:
        if self._limit_for is not None and self._limit == self.limit:
            self._limit = max(self._limit_for(bytes(self._buffer[:MAX_TRUNCATED_BYTES])), self.limit)
        if len(self._buffer) > self._limit:
            self._is_too_large = True
            self._buffer = self._buffer[: min(self._limit, MAX_TRUNCATED_BYTES)]

    def _close(self, flaw: FrameFlaw | None) -> Frame:
        frame = Frame(bytes(self._buffer), "too_large" if self._is_too_large else flaw, self._size - len(self._buffer))
        self._buffer, self._size, self._limit = bytearray(), 0, self.limit
        self._in_frame = self._is_too_large = self._after_end_block = False
        return frame

    def finish(self) -> Frame | None:
        """Handle the end of input: return the frame that was not ended, if there is one."""
        return self._close("unfinished") if self._in_frame else None
