"""A request and its reply, whichever door they come through."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import orjson

JSON = "application/json"
REDIRECTS = (301, 302, 303, 307, 308)
_LOCATION_SAFE = "%/?#[]@!$&'()*+,;=:~"
"""Characters of an address that are not percent-encoded (RFC 3986 §2)."""
MAX_BODY = 20_000_000
"""Bytes of the body of a request, unless its route says otherwise."""


class QueryParams(Mapping[str, str]):
    """What stands behind the `?`: by name the last of each, and all of them in order."""

    __slots__ = ("_last", "pairs")

    def __init__(self, pairs: tuple[tuple[str, str], ...] = ()) -> None:
        self.pairs = pairs
        self._last = dict(pairs)

    def __getitem__(self, name: str) -> str:
        """The last of this name."""
        return self._last[name]

    def get(self, name: str, default: Any = None, /) -> Any:
        """Return the last value of this name, or the default."""
        return self._last.get(name, default)

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._last)

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._last)

    def __eq__(self, other: object) -> bool:
        """The same in the same order; or, beside a plain mapping, by name."""
        return self.pairs == other.pairs if isinstance(other, QueryParams) else self._last == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """All of it."""
        return f"Query({self.pairs!r})"


QueryInput = Mapping[str, str] | Sequence[tuple[str, str]]
"""A query as somebody writes it: by name, or as pairs where a name is said more than once."""


def to_query(asking: QueryInput | None) -> Mapping[str, str]:
    """As a request has it."""
    if asking is None:
        return {}
    return asking if isinstance(asking, Mapping) else QueryParams(tuple((name, value) for name, value in asking))


@dataclass(frozen=True, slots=True)
class Request:
    """What an agent asks of a sandbox. The path is the sandbox's own, and decoded; names of headers are lower case."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The query in order, with names that are said more than once."""
        return self.query.pairs if isinstance(self.query, QueryParams) else tuple(self.query.items())


def check_request(request: Request) -> Request:
    """Return the request with the names of its headers in lower case.

    Raises TypeError or ValueError for what is no request: the agent's mistake, not a simulator's.
    """
    named = (("method", request.method), ("path", request.path), *request.pairs, *request.headers.items())
    for name, value in named:
        for text, what in ((name, "a name"), (value, f"`{name}`")):
            if not isinstance(text, str):
                raise TypeError(f"{what} must be text, not {type(text).__name__}")
            text.encode()  # a lone surrogate is no text
    if not isinstance(request.body, bytes):
        raise TypeError(f"the body must be bytes, not {type(request.body).__name__}")
    return replace(request, headers={name.lower(): value for name, value in request.headers.items()})


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a reply meets on its way to the agent, for its door to carry out. Seconds are the wall's."""

    delay: float = 0.0
    """Before it sets out."""
    promised: int | None = None
    """The length its head states, where the body is cut short of it; of a stream, a length that it has at least."""
    pieces: int = 1
    over: float = 0.0
    """How long the pieces take, all together."""

    def divide(self, body: bytes) -> list[bytes]:
        """The body in its pieces, none of them empty unless it is."""
        count = min(self.pieces, len(body)) or 1
        return [body[len(body) * n // count : len(body) * (n + 1) // count] for n in range(count)]


IMMEDIATE = Delivery()


class ByteStream(Iterator[bytes]):
    """The chunks of a body, made as they are sent. They are made after the request is recorded and without the lock of
    the playground, so making them must not read the state of the sandbox."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._start = b""

    def __next__(self) -> bytes:
        start, self._start = self._start, b""
        return start or next(self._chunks)

    def peek(self, size: int) -> bytes:
        """Return the first bytes, at least `size` if there are as many; they are still to be read."""
        while len(self._start) < size and (chunk := next(self._chunks, None)) is not None:
            self._start += chunk
        return self._start


class Upgrade:
    """A protocol that takes over an HTTP connection, such as WebSocket."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the sandbox answers, and how it gets there."""

    status: int
    body: bytes = b""
    media: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    delivery: Delivery = IMMEDIATE
    stream: ByteStream | None = None
    """The body in chunks, in place of `body`: it is never whole in memory over HTTP."""
    upgrade: Upgrade | None = None
    """What takes over the connection after this reply."""
    answer: str = ""
    """The answer in the terms of the protocol, for the log, where the status does not say it: `AA`."""
    result: Any = None
    """The result of the operation, in protocols other than HTTP."""
    refusal: "Refusal | None" = None
    """Why it was refused, in protocols other than HTTP."""

    @property
    def ok(self) -> bool:
        """Whether it is a yes."""
        return 0 < self.status < 400

    @property
    def lost(self) -> bool:
        """Whether it never arrives: the connection breaks instead."""
        return self.status == 0

    def joined(self) -> "Reply":
        """Return the reply with its body in one piece."""
        return self if self.stream is None else replace(self, body=b"".join(self.stream), stream=None)


NO_REPLY = Reply(0)
"""No status, because there is no answer: a door breaks the connection."""


def json_reply(status: int, data: Any) -> Reply:
    """A reply with a JSON body."""
    return Reply(status, orjson.dumps(data))


def redirect(location: str, status: int = 303) -> Reply:
    """A reply that sends the client elsewhere.

    A location that begins with a slash is a path of the sandbox, as in a Request: over HTTP the address of the sandbox
    is put before it. Any other location is sent as it is.
    """
    if status not in REDIRECTS:
        raise ValueError(f"{status} is not the status of a redirect (expected one of {', '.join(map(str, REDIRECTS))})")
    return Reply(status, headers={"Location": quote(location, safe=_LOCATION_SAFE)})


class Refusal(Exception):
    """A sandbox says no; it carries the words its protocol has for that."""

    def __init__(self, status: int, code: str, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.code, self.reason = status, code, reason
        self.headers = headers or {}
        """What HTTP wants said with it, such as `Allow`; added to the reply whatever words that has."""


def refuse_as_json(refusal: Refusal) -> Reply:
    """The plain form of a refusal, for protocols that have none of their own."""
    return json_reply(refusal.status, {"error": {"code": refusal.code, "message": refusal.reason}})
