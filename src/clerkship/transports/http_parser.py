"""HTTP messages: bytes parsed into requests with httptools, within limits, and replies rendered as bytes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qsl, unquote

import httptools

from clerkship.kit.wall import monotonic
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.request import MAX_BODY, ByteStream, QueryParams, Refusal, Reply, Request
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.loop_thread import WorkerPool
from clerkship.transports.network import LOCAL_NETWORK, SandboxNetwork
from clerkship.transports.websocket_handshake import is_handshake, read_token

CHALLENGE = 'Bearer realm="clerkship"'
MAX_PARAMETERS = 2000
_NO_QUERY = QueryParams()
_NO_BODY = (101, 204, 304)
"""Statuses of replies without a body (RFC 9110 §15.3.5, §15.4.5)."""
_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(?::\d{1,5})?|\[[0-9a-fA-F:.]{2,45}\](?::\d{1,5})?")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}" for status in HTTPStatus}
MAX_URL = 1_000_000
"""Enough for a search with ten thousand values of a hundred bytes each."""
MAX_HEAD = 2_000_000
MAX_HEADERS = 200


@dataclass(slots=True)
class IncomingRequest:
    """A parsed HTTP request, with the playground and the sandbox that it addresses."""

    playground_id: str
    sandbox_name: str
    request: Request
    base: str = ""
    """The address of the sandbox as the client wrote it; absolute links start with it."""
    objection: Refusal | None = None
    """What is wrong with the request. It is refused only after the client is authenticated."""


class PendingRequest(Protocol):
    """A request that the application has accepted and not answered yet."""

    def try_answer(self) -> Reply | None:
        """Answer on the event loop if that is quick; return None if a worker thread must call `answer`."""

    def answer(self) -> Reply:
        """Answer in a worker thread. If the application fails, the reply says so."""

    def read(self, stream: ByteStream) -> bytes | None:
        """Return the next chunk of a reply's body, or None at its end. Runs in a worker thread.

        Raise PlatformError if the stream failed; the application has recorded the failure.
        """

    def open_websocket(self, workers: WorkerPool) -> SandboxClient:
        """Return the client through which a WebSocket calls the sandbox."""

    @property
    def queue(self) -> str:
        """The name of the request's worker queue; requests of one queue are answered in order."""

    @property
    def waits(self) -> bool:
        """Whether answering mostly waits for a model rather than for the processor."""


class HttpApplication(Protocol):
    """The application that answers the requests of an HTTP server."""

    def receive(self, incoming: IncomingRequest) -> PendingRequest:
        """Accept one request."""

    def refuse(self, playground_id: str, sandbox: str, refusal: Refusal) -> Reply:
        """Render a refusal in the protocol of this sandbox."""

    def refuse_unreadable(self, playground_id: str, sandbox: str, refusal: Refusal) -> Reply:
        """Render a refusal of bytes that are not an HTTP request, and list it in the sidecar."""


def parse_request(
    method: str, url: bytes, headers: Mapping[str, str], body: bytes, network: SandboxNetwork = LOCAL_NETWORK
) -> IncomingRequest:
    """Parse a request to `/{playground}/{sandbox}/…`. Malformed parts are reported as the objection of the result."""
    raw_path, _, raw_query = url.partition(b"?")
    playground, sandbox, path_in_sandbox = split_path(raw_path)
    objection: Refusal | None = None
    path, query = "/", _NO_QUERY
    try:
        text = path_in_sandbox.decode()
        path += unquote(text, errors="strict") if "%" in text else text
    except UnicodeDecodeError:
        objection = Refusal(400, "bad_path", "the path is not UTF-8")
    if raw_query:
        try:
            query = _parse_query(raw_query.decode())
        except UnicodeDecodeError:
            objection = Refusal(400, "bad_query", "the query is not UTF-8")
        except ValueError:
            objection = Refusal(400, "bad_query", f"the query has more than {MAX_PARAMETERS} parameters")
    request = Request(method, path, query, headers, body)
    base = f"{network.build_url(_get_client_host(headers))}/{playground}/{sandbox}"
    return IncomingRequest(playground, sandbox, request, base, objection)


def _parse_query(text: str) -> QueryParams:
    """Parse a query string; raise ValueError if it has too many parameters."""
    pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS)
    return QueryParams(tuple(pairs))


def _get_client_host(headers: Mapping[str, str]) -> str:
    """Return the host under which the client reached the server, for use in links."""
    host = headers.get("host", "")
    return host if _HOST.fullmatch(host) else "localhost"


def split_path(raw: bytes) -> tuple[str, str, bytes]:
    """Return the playground, the sandbox, and the path below it, which is not decoded.

    A complete URL, as a proxy sends it, is accepted too (RFC 9112 §3.2.2).
    """
    if not raw.startswith(b"/"):
        raw = raw.partition(b"://")[2].partition(b"/")[2]
    playground, _, rest = raw.lstrip(b"/").partition(b"/")
    sandbox, _, path = rest.partition(b"/")
    return playground.decode("latin-1"), sandbox.decode("latin-1"), path


def render_head(reply: Reply, *, keep_alive: bool, method: str = "GET", chunked: bool = True, base: str = "") -> bytes:
    """Render the status line and the headers, with `connection: close` if the connection is not kept alive.

    `base` is the address of the sandbox; it is put in front of a Location header that is a path.
    """
    length = len(reply.body) if reply.delivery.promised is None else reply.delivery.promised
    headers: dict[str, str] = {}
    if reply.stream is not None:
        headers = _stream_headers(reply, chunked=chunked)
    elif reply.status not in _NO_BODY and (length or method != "HEAD"):
        # A simulator may answer HEAD without a body; its length is not that of GET's body (RFC 9110 §8.6).
        headers["content-length"] = str(length)
        if length:
            headers["content-type"] = reply.media
    if reply.status == 401:
        headers["www-authenticate"] = CHALLENGE
    for name, value in reply.headers.items():
        # Text of an agent must not start another header.
        headers[name.lower()] = value if value.isprintable() else _CONTROL_CHARACTERS.sub(" ", value)
    if "location" in headers and headers["location"].startswith("/"):
        headers["location"] = base + headers["location"]
    if not keep_alive:
        headers["connection"] = "close"
    head = _STATUS_LINES.get(reply.status) or f"HTTP/1.1 {reply.status} "
    for name, value in headers.items():
        head += f"\r\n{name}: {value}"
    return f"{head}\r\n\r\n".encode()


def _stream_headers(reply: Reply, *, chunked: bool) -> dict[str, str]:
    headers = {"content-type": reply.media}
    return {"transfer-encoding": "chunked", **headers} if chunked and reply.status not in _NO_BODY else headers


def has_body(method: str, reply: Reply) -> bool:
    """Return whether a body follows the head (RFC 9112 §6.3)."""
    return method != "HEAD" and reply.status not in _NO_BODY


def render_chunk(data: bytes) -> bytes:
    """Render one chunk of a body (RFC 9112 §7.1); an empty chunk ends the body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def get_sent_body(method: str, reply: Reply) -> bytes:
    """Return the body that follows the head; empty where HTTP allows none."""
    return b"" if method == "HEAD" or reply.status in _NO_BODY else reply.body


class RequestSink(Protocol):
    """The connection that receives parsed requests."""

    def request_received(self, incoming: IncomingRequest, *, keep_alive: bool, version: str, upgrade: bool) -> None:
        """Queue a complete request of this HTTP version; `upgrade` marks a WebSocket handshake."""

    def request_broken(self, data: bytes, refusal: Refusal) -> None:
        """Refuse bytes that are not a valid request. `data` starts with the part of the first line that was received.

        The parser reads nothing more of this connection.
        """

    def body_expected(self) -> None:
        """Send `100 Continue` to a client that waits for it before it sends the body."""


class HttpParser:
    """Parser for the requests of one connection."""

    def __init__(self, sink: RequestSink, network: SandboxNetwork = LOCAL_NETWORK) -> None:
        self._sink, self._network = sink, network
        self._parser = httptools.HttpRequestParser(self)
        self._head_size = 0
        self._version = ""
        self.suspended, self._rest = False, b""
        """Whether a handshake waits for its answer, and the bytes that followed it."""
        self.stopped = False
        """Whether further bytes are ignored."""
        self.began: float | None = None
        """When the first byte of the incomplete request was received."""
        self.last_byte = monotonic()
        self._begin()

    def _begin(self) -> None:
        self.url, self._headers, self._header_count = b"", dict[str, str](), 0
        self._body: list[bytes] = []
        self._size = 0
        self.in_head = True
        self.expecting = False
        """Whether the client waits for `100 Continue` before it sends the body."""
        self._objection: Refusal | None = None

    def feed(self, data: bytes) -> None:
        """Parse the bytes of one or more requests."""
        self.last_byte = monotonic()
        if self.suspended:
            self._rest += data
            return
        if self.in_head:
            self._head_size += len(data)
        try:
            self._read(data)
        except httptools.HttpParserInvalidMethodError:
            self._break(data, Refusal(501, "unknown_method", "unknown HTTP method"))
        except httptools.HttpParserError as error:
            self._break(data, Refusal(400, "bad_request", f"the request is not valid HTTP: {error}"))
        if self._head_size > MAX_HEAD:
            too_long = Refusal(431, "head_too_large", f"address and headers may have at most {MAX_HEAD} bytes")
            self.stop(self._objection or too_long)

    def take_rest(self) -> bytes:
        """Return and remove the bytes that followed a handshake."""
        rest, self._rest = self._rest, b""
        return rest

    def resume(self) -> None:
        """Continue with HTTP after a refused handshake."""
        self.suspended, self._parser = False, httptools.HttpRequestParser(self)
        if rest := self.take_rest():
            self.feed(rest)

    def restart_clock(self, now: float) -> None:
        """Count the timeouts of an incomplete request from now, because the server was busy and not the client slow."""
        if self.began is not None:
            self.began = self.last_byte = now

    def stop(self, refusal: Refusal) -> None:
        """Refuse the incomplete request, and ignore all further bytes."""
        self._break(b" " + self.url, refusal)

    def lateness(self, now: float, limits: ConnectionLimits) -> str | None:
        """Return which timeout the incomplete request has exceeded, or None."""
        began = now if self.began is None else self.began
        if self.in_head and now - began > limits.head:
            return f"the headers did not arrive within {limits.head:g} s"
        if not self.in_head and now - self.last_byte > limits.body:
            return f"nothing of the body arrived for {limits.body:g} s"
        return f"the request did not arrive within {limits.request:g} s" if now - began > limits.request else None

    def _break(self, data: bytes, refusal: Refusal) -> None:
        if not self.stopped:
            self.stopped, self.expecting = True, False
            self._sink.request_broken(data, refusal)

    def _read(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if is_handshake(self._parser.get_method().decode(), self._headers) and not self.stopped:
                self.suspended, self._rest = True, data[upgrade.args[0] :]
                self._complete(keep_alive=True, upgrade=True)
                return
            # Other upgrades may be ignored (RFC 9110 §7.8). The parser stopped before the body, so parse it again.
            head = self._head_without_upgrade()
            self._parser = httptools.HttpRequestParser(self)
            self._read(head + data[upgrade.args[0] :])

    def _head_without_upgrade(self) -> bytes:
        if self._parser.get_method() == b"CONNECT":
            raise httptools.HttpParserError("CONNECT is not supported") from None
        headers = [f"{key}: {text}\r\n" for key, text in self._headers.items() if key not in ("connection", "upgrade")]
        return b"%s %s HTTP/1.1\r\n%s\r\n" % (self._parser.get_method(), self.url, "".join(headers).encode("latin-1"))

    # Callbacks of httptools.

    def on_message_begin(self) -> None:
        """Start a request."""
        self._begin()
        self.began = self.last_byte

    def on_url(self, url: bytes) -> None:
        """Add a piece of the address."""
        if len(self.url) + len(url) > MAX_URL:
            reason = f"an address may have at most {MAX_URL} bytes; send the query with POST"
            self._objection = Refusal(414, "uri_too_long", reason)
        else:
            self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header. Values of the same name are joined (RFC 9110 §5.3); trailers are ignored (RFC 9110 §6.5.1)."""
        if not self.in_head:
            return
        self._header_count += 1
        if self._header_count > MAX_HEADERS:
            self._objection = self._objection or Refusal(431, "too_many_headers", f"at most {MAX_HEADERS} headers")
            return
        headers, key, text = self._headers, name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text

    def on_headers_complete(self) -> None:
        """Check the headers, and answer `Expect: 100-continue`."""
        self.in_head, self._head_size = False, 0
        self._version = self._parser.get_http_version()
        modern = self._version != "1.0"
        if modern and "," in self._headers.get("host", ","):  # missing, or a list
            reason = "a request must have exactly one Host header (RFC 9112 §3.2)"
            self._objection = self._objection or Refusal(400, "bad_request", reason)
        if "expect" not in self._headers or self._headers["expect"].lower() != "100-continue":
            return
        if self.stopped or not modern:
            return
        if self._objection is None and int(self._headers.get("content-length", 0)) <= MAX_BODY:
            self.expecting = True
            self._sink.body_expected()
        else:  # refuse the request before the client sends the body
            self._objection = self._objection or _build_too_large_refusal()
            self._complete(keep_alive=False)
            self.stopped = True

    def on_body(self, body: bytes) -> None:
        """Add a piece of the body. A too large one is read and discarded: most clients read no reply before."""
        self._size += len(body)
        if self._size > MAX_BODY:
            self._objection = self._objection or _build_too_large_refusal()
            self._body.clear()
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """Pass the complete request to the connection."""
        if not self.stopped and not self._parser.should_upgrade():
            self._complete(keep_alive=self._parser.should_keep_alive())

    def _complete(self, *, keep_alive: bool, upgrade: bool = False) -> None:
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        incoming = parse_request(self._parser.get_method().decode(), self.url, self._headers, body, self._network)
        incoming.objection = self._objection or incoming.objection
        self.in_head, self._head_size, self.expecting, self.began = True, 0, False, None
        if upgrade and "authorization" not in self._headers and (token := read_token(incoming.request)):
            headers = {**self._headers, "authorization": f"Bearer {token}"}
            incoming.request = replace(incoming.request, headers=headers)
        self._sink.request_received(incoming, keep_alive=keep_alive, version=self._version, upgrade=upgrade)


def _build_too_large_refusal() -> Refusal:
    return Refusal(413, "too_large", f"a body may have at most {MAX_BODY} bytes")
