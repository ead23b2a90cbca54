"""Requests to a sandbox and its replies, the same over HTTP and in process."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar
from urllib.parse import quote

import orjson

ConnectionInfo = Mapping[str, str | int]
"""How an agent connects: host, port, user. Never logged, because it differs between machines."""
T = TypeVar("T")
JSON = "application/json"
REDIRECTS = (301, 302, 303, 307, 308)
_LOCATION_SAFE = "%/?#[]@!$&'()*+,;=:~"
"""Characters of an address that are not percent-encoded (RFC 3986 §2)."""
MAX_BODY = 20_000_000
"""The default limit on the body of a request, in bytes."""


class QueryParams(dict[str, str]):
    """The parameters of a query string: by name the last value of each, and all of them in order."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    def __eq__(self, other: object) -> bool:
        """Compare pairs in order with another QueryParams, and values by name with any other mapping."""
        return self.pairs == other.pairs if isinstance(other, QueryParams) else super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        return f"QueryParams({self.pairs!r})"


QueryInput = Mapping[str, str] | Sequence[tuple[str, str]]
"""A query as a mapping, or as pairs where a name occurs more than once."""


def to_query(query: QueryInput | None) -> Mapping[str, str]:
    """Return a query as `Request` has it."""
    if query is None:
        return {}
    return query if isinstance(query, Mapping) else QueryParams(tuple((name, value) for name, value in query))


@dataclass(slots=True)
class Request:
    """A request of an agent. The path is relative to the sandbox and decoded; header names are lower case.

    It is not changed after it was made: use `dataclasses.replace`. To enforce that would take longer than to make it.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The query in order, including repeated names."""
        return self.query.pairs if isinstance(self.query, QueryParams) else tuple(self.query.items())


def check_request(request: Request) -> Request:
    """Return the request with header names in lower case.

    Raises TypeError or ValueError if it is not a valid request, which is a mistake of the agent and not of the
    simulator.
    """
    pairs = (("method", request.method), ("path", request.path), *request.pairs, *request.headers.items())
    try:
        "".join(chain.from_iterable(pairs)).encode()  # all at once, because nearly every request is valid
    except (TypeError, ValueError):
        _check_texts(pairs)
    if not isinstance(request.body, bytes):
        raise TypeError(f"the body must be bytes, not {type(request.body).__name__}")
    headers = {name.lower(): value for name, value in request.headers.items()}
    return Request(request.method, request.path, request.query, headers, request.body)


def _check_texts(pairs: Iterable[tuple[object, object]]) -> None:
    """Raise an error for the first name or value that is not text, or has a lone surrogate."""
    for name, value in pairs:
        for text, label in ((name, "a name"), (value, f"`{name}`")):
            if not isinstance(text, str):
                raise TypeError(f"{label} must be text, not {type(text).__name__}")
            text.encode()


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a transport delivers a reply: late, in pieces, or cut short. Seconds are wall time."""

    delay: float = 0.0
    """Seconds before it is sent."""
    promised: int | None = None
    """The declared length of a body that is cut short; for a stream, a lower bound of it."""
    pieces: int = 1
    over: float = 0.0
    """Seconds over which the pieces are sent."""

    def divide(self, body: bytes) -> list[bytes]:
        """Return the body in pieces; none is empty unless the body is."""
        count = min(self.pieces, len(body)) or 1
        return [body[len(body) * n // count : len(body) * (n + 1) // count] for n in range(count)]


IMMEDIATE = Delivery()


class ByteStream(Iterator[bytes]):
    """The chunks of a body, produced while it is sent.

    They are produced after the request is recorded and without the lock of the playground, so producing them must
    not read the state of the sandbox.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._start = b""

    def __next__(self) -> bytes:
        start, self._start = self._start, b""
        return start or next(self._chunks)

    def peek(self, size: int) -> bytes:
        """Return the first bytes without consuming them: at least `size`, if there are as many."""
        while len(self._start) < size and (chunk := next(self._chunks, None)) is not None:
            self._start += chunk
        return self._start


class Upgrade:
    """A protocol that takes over an HTTP connection, such as WebSocket."""


@dataclass(slots=True)
class Reply:
    """The reply of a sandbox, and how it is delivered. Like a Request, it is not changed after it was made."""

    status: int
    body: bytes = b""
    media: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    delivery: Delivery = IMMEDIATE
    stream: ByteStream | None = None
    """The body in chunks, instead of `body`; over HTTP it is never held in memory as a whole."""
    upgrade: Upgrade | None = None
    """The protocol that takes over the connection after this reply."""
    answer: str = ""
    """The answer in terms of the protocol, such as `AA`, for the log; empty if the status is enough."""
    result: Any = None
    """The result of the operation, in protocols other than HTTP."""
    refusal: "Refusal | None" = None
    """The refusal, in protocols other than HTTP."""

    @property
    def ok(self) -> bool:
        """Whether the request succeeded."""
        return 0 < self.status < 400

    @property
    def lost(self) -> bool:
        """Whether the reply never arrives because the connection breaks."""
        return self.status == 0

    def join_stream(self) -> "Reply":
        """Return the reply with its body in one piece."""
        return self if self.stream is None else replace(self, body=b"".join(self.stream), stream=None)


NO_REPLY = Reply(0)
"""No reply: the transport breaks the connection."""


def json_reply(status: int, data: Any) -> Reply:
    """Return a reply with a JSON body."""
    return Reply(status, orjson.dumps(data))


def redirect(location: str, status: int = 303) -> Reply:
    """Return a reply that redirects the client.

    A location that begins with a slash is a path of the sandbox, as in a Request: over HTTP the address of the
    sandbox is put before it. Any other location is sent as it is.
    """
    if status not in REDIRECTS:
        raise ValueError(f"{status} is not the status of a redirect (expected one of {', '.join(map(str, REDIRECTS))})")
    return Reply(status, headers={"Location": quote(location, safe=_LOCATION_SAFE)})


class Refusal(Exception):
    """Raised by a simulator to refuse a request, with the status, code and reason of its protocol."""

    def __init__(self, status: int, code: str, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status, self.code, self.reason = status, code, reason
        self.headers = headers or {}
        """HTTP headers of the refusal, such as `Allow`; added to the reply."""


def refuse_as_json(refusal: Refusal) -> Reply:
    """Render a refusal as JSON, for protocols without a form of their own."""
    return json_reply(refusal.status, {"error": {"code": refusal.code, "message": refusal.reason}})


def find_record(records: Mapping[str, T], name: str, id: str, hint: str = "") -> T:
    """Return a record by its id; refused if there is none."""
    record = records.get(id)
    if record is None:
        raise Refusal(404, f"no_such_{name}", f"there is no {name} {id[:64]}{hint}")
    return record
