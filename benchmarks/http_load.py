"""An HTTP client with little overhead: several connections, each sending its next request as soon as it is answered."""

import selectors
import socket
import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit


class Load(NamedTuple):
    """The result of a measurement."""

    requests: int
    seconds: float
    sample: bytes
    """One whole answer."""

    @property
    def rate(self) -> float:
        """Responses per second."""
        return self.requests / self.seconds


def render_request(method: str, url: str, token: str, body: bytes = b"", media: str = "application/fhir+json") -> bytes:
    """Return the bytes of a request, by default of FHIR."""
    place = urlsplit(url)
    target = place.path + (f"?{place.query}" if place.query else "")
    content = f"Content-Type: {media}\r\nContent-Length: {len(body)}\r\n" if body else ""
    head = f"{method} {target} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Accept: {media}\r\nUser-Agent: load\r\n{content}\r\n".encode() + body


def keep_asking(netloc: str, request: bytes | Callable[[], bytes], connections: int, seconds: float, most: int) -> Load:
    """Send a request repeatedly, or requests that a function returns, until the time is over or so many were sent."""
    next_request = (lambda: request) if isinstance(request, bytes) else request
    host, _, port = netloc.partition(":")
    with selectors.DefaultSelector() as waiting:
        for _ in range(connections):
            opened = socket.create_connection((host, int(port)), timeout=60)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            waiting.register(opened, selectors.EVENT_READ)
        lines = [key.fileobj for key in waiting.get_map().values() if isinstance(key.fileobj, socket.socket)]
        try:
            return _ask(waiting, lines, next_request, seconds, most)
        finally:
            for line in lines:
                line.close()


def _ask(
    waiting: selectors.BaseSelector,
    lines: list[socket.socket],
    next_request: Callable[[], bytes],
    seconds: float,
    most: int,
) -> Load:
    asked = done = 0
    sample = b""
    began = time.perf_counter()
    for line in lines[:most]:
        line.sendall(next_request())
        asked += 1
    while done < asked:
        for key, _ in waiting.select(timeout=60):
            answered = key.fileobj
            assert isinstance(answered, socket.socket)
            sample = _read(answered)
            done += 1
            if asked < most and time.perf_counter() - began < seconds:
                answered.sendall(next_request())
                asked += 1
    return Load(done, time.perf_counter() - began, sample)


def _read(line: socket.socket) -> bytes:
    """Read one response."""
    data = line.recv(262_144)
    while b"\r\n\r\n" not in data:
        more = line.recv(262_144)
        if not more:
            raise ConnectionError(f"it hung up after {data[:200]!r}")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 2"):
        raise ConnectionError(data[:1000].decode(errors="replace"))
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)  # 204 has none
    parts, size = [body], len(body)
    while size < length:
        parts.append(line.recv(262_144))
        size += len(parts[-1])
    return b"".join(parts)
