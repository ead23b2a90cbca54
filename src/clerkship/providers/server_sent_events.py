"""Split a stream of server-sent events, and keep its bytes (HTML standard, 9.2.6)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
DONE = b"[DONE]"


class StreamEvent(NamedTuple):
    """One event of a stream."""

    raw: bytes
    """All its bytes, with the empty line that ends it."""
    data: Mapping[str, Any] | None
    """The JSON object in it; None if there is none."""
    is_done: bool = False
    """Whether it is OpenAI's last event, `data: [DONE]`."""


class EventSplitter:
    """Splits chunks, which may end anywhere, into events."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0

    def feed(self, chunk: bytes) -> Iterator[StreamEvent]:
        """Yield the events that end in a chunk."""
        self._rest += chunk
        while (end := _END.search(self._rest, max(0, self._searched - 3))) is not None:
            raw = bytes(self._rest[: end.end()])
            del self._rest[: end.end()]
            self._searched = 0
            yield parse_event(raw)
        self._searched = len(self._rest)

    def take_rest(self) -> bytes:
        """Return the bytes after the last complete event."""
        rest, self._rest, self._searched = bytes(self._rest), bytearray(), 0
        return rest


def parse_event(raw: bytes) -> StreamEvent:
    """Parse the lines of one event."""
    lines = [line[5:].removeprefix(b" ") for line in raw.splitlines() if line.startswith(b"data:")]
    data = b"\n".join(lines)
    if data == DONE:
        return StreamEvent(raw, None, is_done=True)
    try:
        value = orjson.loads(data) if data else None
    except orjson.JSONDecodeError:
        value = None
    return StreamEvent(raw, value if isinstance(value, dict) else None)


def split_events(data: bytes) -> Iterator[StreamEvent]:
    """Yield the events of a stream that has ended; the last one may be incomplete or empty."""
    splitter = EventSplitter()
    yield from splitter.feed(data)
    yield parse_event(splitter.take_rest())
