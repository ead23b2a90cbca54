"""JSON-RPC 2.0 messages as MCP uses them: bytes parsed into requests and notifications, and responses rendered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import orjson

from clerkship.kit.depth import MAX_DEPTH, is_deeper_than

MAX_MESSAGE_BYTES = 20_000_000
MAX_ID_LENGTH = 200
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022
RESOURCE_NOT_FOUND = -32002
"""The code of the handshake versions; later ones use INVALID_PARAMS."""
MessageId = str | int


class ProtocolError(Exception):
    """A message that cannot be answered with a result; `code` and the text are those of the JSON-RPC error."""

    def __init__(self, code: int, text: str, data: Mapping[str, Any] | None = None, *, status: int = 400) -> None:
        super().__init__(text)
        self.code, self.data = code, data
        self.status = status
        """The status over HTTP, where the version of the protocol has one for errors."""


@dataclass(frozen=True, slots=True)
class McpMessage:
    """A request or a notification of a client, or a response, which a server has no use for."""

    kind: Literal["request", "notification", "response"]
    id: MessageId | None = None
    method: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def meta(self) -> Any:
        """The metadata of the request, as the client wrote it."""
        return self.params.get("_meta")


class BrokenMessage(NamedTuple):
    """A message that is not valid JSON-RPC, with its id where that can be read."""

    error: ProtocolError
    id: MessageId | None = None


def parse_message(data: bytes) -> McpMessage | BrokenMessage:
    """Parse one message, within limits of size and depth."""
    if len(data) > MAX_MESSAGE_BYTES:
        text = f"the message has {len(data):,} bytes (expected at most {MAX_MESSAGE_BYTES:,})"
        return BrokenMessage(ProtocolError(INVALID_REQUEST, text, status=413))
    try:
        message = orjson.loads(data)
    except orjson.JSONDecodeError:
        return BrokenMessage(ProtocolError(PARSE_ERROR, "the message is not JSON"))
    if isinstance(message, list):
        text = "batches are not supported (expected one JSON-RPC message); send each message by itself"
        return BrokenMessage(ProtocolError(INVALID_REQUEST, text))
    if not isinstance(message, dict):
        return BrokenMessage(ProtocolError(INVALID_REQUEST, "the message is not a JSON object"))
    id = message.get("id")
    try:
        return _read_message(message)
    except ProtocolError as error:
        return BrokenMessage(error, id if _is_id(id) else None)


def _read_message(message: dict[str, Any]) -> McpMessage:
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, '`jsonrpc` is missing or wrong (expected "2.0")')
    if is_deeper_than(params, MAX_DEPTH):
        raise ProtocolError(INVALID_REQUEST, f"`params` is nested more than {MAX_DEPTH} levels deep")
    if "method" not in message and ("result" in message or "error" in message):
        return McpMessage("response", id if _is_id(id) else None)
    if not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, "`method` is missing or not text")
    if "id" in message and not _is_id(id):
        raise ProtocolError(INVALID_REQUEST, f"`id` is not a text of up to {MAX_ID_LENGTH} characters or an integer")
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "`params` is not an object")
    return McpMessage("request" if "id" in message else "notification", id, method, params)


def _is_id(value: Any) -> bool:
    """Return whether a value can be the id of a request; an id of null is not allowed."""
    if isinstance(value, str):
        return len(value) <= MAX_ID_LENGTH
    return isinstance(value, int) and not isinstance(value, bool)


def render_result(id: MessageId | None, result: Mapping[str, Any]) -> bytes:
    """Return the response to a request."""
    return orjson.dumps({"jsonrpc": "2.0", "id": id, "result": result})


def render_error(id: MessageId | None, error: ProtocolError) -> bytes:
    """Return the error response to a request; its id is left out where it could not be read."""
    described: dict[str, Any] = {"code": error.code, "message": str(error)}
    if error.data is not None:
        described["data"] = error.data
    given = {} if id is None else {"id": id}
    return orjson.dumps({"jsonrpc": "2.0", **given, "error": described})
