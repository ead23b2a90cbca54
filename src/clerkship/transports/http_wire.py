"""Parse the address and headers of an HTTP request; render the head of a reply."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qsl, unquote

from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.request import ByteStream, QueryParams, Refusal, Reply, Request
from clerkship.transports.loop_thread import WorkerPool

CHALLENGE = 'Bearer realm="clerkship"'
MAX_PARAMETERS = 2000
_NO_QUERY = QueryParams()
_NO_BODY = (101, 204, 304)
"""Statuses of replies without a body (RFC 9110 §15.3.5, §15.4.5)."""
_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(?::\d{1,5})?|\[[0-9a-fA-F:.]{2,45}\](?::\d{1,5})?")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}" for status in HTTPStatus}


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


def parse_request(method: str, url: bytes, headers: Mapping[str, str], body: bytes) -> IncomingRequest:
    """Parse a request to `/{playground}/{sandbox}/…`. Malformed parts are reported as the objection of the result."""
    raw_path, _, raw_query = url.partition(b"?")
    playground, sandbox, path_in_sandbox = split_path(raw_path)
    objection: Refusal | None = None
    path, query = "/", _NO_QUERY
    try:
        path += unquote(path_in_sandbox.decode(), errors="strict")
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
    base = f"http://{_get_client_host(headers)}/{playground}/{sandbox}"
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
        headers[name.lower()] = _CONTROL_CHARACTERS.sub(" ", value)  # text of an agent must not start another header
    if "location" in headers and headers["location"].startswith("/"):
        headers["location"] = base + headers["location"]
    if not keep_alive:
        headers["connection"] = "close"
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    status = _STATUS_LINES.get(reply.status) or f"HTTP/1.1 {reply.status} "
    return f"{status}\r\n{''.join(lines)}\r\n".encode()


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
