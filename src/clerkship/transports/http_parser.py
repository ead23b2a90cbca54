"""Parse the bytes of an HTTP connection into requests with httptools, within the limits of a request."""

from dataclasses import replace
from typing import Protocol

import httptools

from clerkship.kit.wall import monotonic
from clerkship.sandbox.request import MAX_BODY, Refusal
from clerkship.transports.http_wire import IncomingRequest, parse_request
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.websocket_handshake import is_handshake, read_token

MAX_URL = 1_000_000
"""Enough for a search with ten thousand values of a hundred bytes each."""
MAX_HEAD = 2_000_000
MAX_SKIPPED = 10 * MAX_BODY
"""Bytes of a too large body that are read and discarded: most clients read the refusal only after sending the body."""
MAX_HEADERS = 200


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

    def __init__(self, sink: RequestSink) -> None:
        self._sink = sink
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
        kept = [f"{key}: {text}\r\n" for key, text in self._headers.items() if key not in ("connection", "upgrade")]
        return b"%s %s HTTP/1.1\r\n%s\r\n" % (self._parser.get_method(), self.url, "".join(kept).encode("latin-1"))

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
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._header_count += 1
        if self._header_count > MAX_HEADERS:
            self._objection = self._objection or Refusal(431, "too_many_headers", f"at most {MAX_HEADERS} headers")
            return
        before = self._headers.get(key)
        self._headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        """Check the headers, and answer `Expect: 100-continue`."""
        self.in_head, self._head_size = False, 0
        self._version = self._parser.get_http_version()
        modern = self._version != "1.0"
        if modern and "," in self._headers.get("host", ","):  # missing, or a list
            reason = "a request must have exactly one Host header (RFC 9112 §3.2)"
            self._objection = self._objection or Refusal(400, "bad_request", reason)
        if self.stopped or not modern or self._headers.get("expect", "").lower() != "100-continue":
            return
        if self._objection is None and int(self._headers.get("content-length", 0)) <= MAX_BODY:
            self.expecting = True
            self._sink.body_expected()
        else:  # refuse the request before the client sends the body
            self._objection = self._objection or _build_too_large_refusal()
            self._complete(keep_alive=False)
            self.stopped = True

    def on_body(self, body: bytes) -> None:
        """Add a piece of the body. A body that is too large is discarded."""
        self._size += len(body)
        if self._size > MAX_BODY:
            self._objection = self._objection or _build_too_large_refusal()
            self._body.clear()
            if self._size > MAX_SKIPPED:
                self.stop(self._objection)
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """Pass the complete request to the connection."""
        if not self.stopped and not self._parser.should_upgrade():
            self._complete(keep_alive=self._parser.should_keep_alive())

    def _complete(self, *, keep_alive: bool, upgrade: bool = False) -> None:
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        incoming = parse_request(self._parser.get_method().decode(), self.url, self._headers, body)
        incoming.objection = self._objection or incoming.objection
        self.in_head, self._head_size, self.expecting, self.began = True, 0, False, None
        if upgrade and "authorization" not in self._headers and (token := read_token(incoming.request)):
            headers = {**self._headers, "authorization": f"Bearer {token}"}
            incoming.request = replace(incoming.request, headers=headers)
        self._sink.request_received(incoming, keep_alive=keep_alive, version=self._version, upgrade=upgrade)


def _build_too_large_refusal() -> Refusal:
    return Refusal(413, "too_large", f"a body may have at most {MAX_BODY} bytes")
