"""Forward MCP messages to an endpoint over HTTP, for clients that start a server as a program (`clerkship mcp`)."""

from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

import orjson

from clerkship.mcp.messages import (
    INTERNAL_ERROR,
    MAX_MESSAGE_BYTES,
    BrokenMessage,
    McpMessage,
    ProtocolError,
    parse_message,
    render_error,
)
from clerkship.mcp.versions import build_headers

TIMEOUT_SECONDS = 600.0
"""A call may wait for a model that plays a person, or for a phone call."""


class BadEndpoint(ValueError):
    """The address of the endpoint is not one; the message says what is expected."""


class Forwarder:
    """Sends each message in a request of its own, so that a broken connection never repeats a call."""

    def __init__(self, url: str, token: str) -> None:
        try:
            parts = urlsplit(url)
            self._has_tls, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        except ValueError:
            raise BadEndpoint(f"{url!r} is not an address") from None
        if parts.scheme not in ("http", "https") or not self._host:
            raise BadEndpoint(f"{url!r} is not an address (expected http://host/path)")
        self._path = parts.path or "/"
        self._headers = {
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "connection": "close",
        }

    def answer(self, line: bytes) -> bytes:
        """Return the response to a message; empty for a notification. A failure is an error response."""
        message = parse_message(line)
        try:
            status, body = self._send(line, build_headers(message) if isinstance(message, McpMessage) else {})
        except (OSError, HTTPException) as error:
            return _fail(message, f"cannot reach {self._host}: {error}; is the playground still up?")
        if isinstance(message, McpMessage) and message.kind != "request":
            return b""
        return _complete(message, status, body)

    def _send(self, line: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        kind = HTTPSConnection if self._has_tls else HTTPConnection
        connection = kind(self._host or "", self._port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("POST", self._path, line, self._headers | headers)
            response = connection.getresponse()
            return response.status, response.read(MAX_MESSAGE_BYTES)
        finally:
            connection.close()


def _complete(message: McpMessage | BrokenMessage, status: int, body: bytes) -> bytes:
    """Return a response in one line, with the id of its request: refusals over HTTP have none."""
    try:
        response = orjson.loads(body)
    except orjson.JSONDecodeError:
        response = None
    if not isinstance(response, dict) or "jsonrpc" not in response:
        return _fail(message, f"the endpoint answered with status {status} and no MCP message")
    if message.id is not None:
        response.setdefault("id", message.id)
    return orjson.dumps(response)


def _fail(message: McpMessage | BrokenMessage, reason: str) -> bytes:
    if isinstance(message, McpMessage) and message.kind != "request":
        return b""
    return render_error(message.id, ProtocolError(INTERNAL_ERROR, reason))
