"""An MCP server as pure functions: what a server offers, and the answer to one message of a client.

A server is an object with the methods of `ToolServer`. `answer_message` answers a message to it, over any transport;
`mcp.http` and `mcp.stdio` are the two that MCP has.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from clerkship.mcp.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    BrokenMessage,
    McpMessage,
    ProtocolError,
    parse_message,
    render_error,
    render_result,
)
from clerkship.mcp.versions import (
    SERVER_KEY,
    SUPPORTED_VERSIONS,
    check_handshake_version,
    check_stateless_request,
    choose_handshake_version,
    is_stateless,
)

PAGE_SIZE = 100
"""Tools or resources in one response; a cursor leads to the next ones."""
LIST_TTL_MS = 300_000
"""Milliseconds for which a client may keep a list."""
OK, ACCEPTED = 200, 202


@dataclass(frozen=True, kw_only=True)
class McpTool:
    """A tool as clients see it. It has no schema of results: clients reject results that differ in the least."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """The JSON Schema of its arguments, an object."""
    annotations: Mapping[str, Any] = field(default_factory=dict)
    """Hints such as `readOnlyHint`."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Metadata for particular clients, by the keys that they define."""

    def render(self) -> dict[str, Any]:
        """Return the tool as `tools/list` has it."""
        optional = {"annotations": self.annotations, "_meta": self.meta}
        data = {"name": self.name, "description": self.description, "inputSchema": self.parameters}
        return data | {key: value for key, value in optional.items() if value}


@dataclass(frozen=True, kw_only=True)
class McpResource:
    """A text that clients can list and read."""

    uri: str
    name: str
    description: str = ""
    media: str = "text/plain"

    def render(self) -> dict[str, Any]:
        """Return the resource as `resources/list` has it."""
        data = {"uri": self.uri, "name": self.name, "mimeType": self.media}
        return data | ({"description": self.description} if self.description else {})


@dataclass(frozen=True)
class ToolOutcome:
    """The result of a tool call, as text; an error is one that the model should read and act upon."""

    text: str
    is_error: bool = False


class UnknownTool(Exception):
    """Raised by `call_tool` if there is no tool of that name; the message lists those that exist."""


class ToolServer(Protocol):
    """What a server offers. It may raise ProtocolError from any method."""

    name: str
    version: str
    instructions: str
    """What a model should know before it calls a tool; empty for nothing."""

    def list_tools(self) -> Sequence[McpTool]:
        """Return all tools, in an order that does not change."""

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Execute a tool call. Raises UnknownTool; what is wrong with arguments is a result with `is_error`."""

    def list_resources(self) -> Sequence[McpResource]:
        """Return all resources, in an order that does not change."""

    def read_resource(self, uri: str) -> str | None:
        """Return the text of a resource, or None if there is none of that URI."""


@dataclass(frozen=True)
class McpAnswer:
    """The answer to one message."""

    status: int
    """The status over HTTP; other transports ignore it."""
    body: bytes = b""
    """The response; empty for a notification, which has none."""
    message: McpMessage | None = None
    """The message, unless it could not be read."""
    error: ProtocolError | None = None
    """Why there is no result."""


def answer_message(server: ToolServer, data: bytes, headers: Mapping[str, str] | None = None) -> McpAnswer:
    """Answer one message. `headers` are those of an HTTP request in lower case; None where there is no HTTP."""
    message = parse_message(data)
    if isinstance(message, BrokenMessage):
        error = message.error
        return McpAnswer(error.status, render_error(message.id, error), None, error)
    stateless = is_stateless(message, headers)
    try:
        if message.kind != "request":
            return _accept(message, headers, stateless=stateless)
        if stateless:
            check_stateless_request(message, headers)
        elif message.method != "initialize":
            check_handshake_version(headers)
    except ProtocolError as error:
        return McpAnswer(error.status, render_error(message.id, error), message, error)
    try:
        result = _find_method(message.method, stateless=stateless)(server, message.params)
    except ProtocolError as error:
        # Before 2026-07-28, clients take any status but 200 for a broken connection, and 404 for the end of a session.
        return McpAnswer(error.status if stateless else OK, render_error(message.id, error), message, error)
    if stateless:
        result = _add_stateless_fields(server, message.method, result)
    return McpAnswer(OK, render_result(message.id, result), message)


def _accept(message: McpMessage, headers: Mapping[str, str] | None, *, stateless: bool) -> McpAnswer:
    """Accept a notification or response, which needs no answer."""
    if not stateless:
        check_handshake_version(headers)
    return McpAnswer(ACCEPTED, b"", message)


AnswerMethod = Callable[[ToolServer, Mapping[str, Any]], dict[str, Any]]


def _find_method(name: str, *, stateless: bool) -> AnswerMethod:
    methods = STATELESS_METHODS if stateless else HANDSHAKE_METHODS
    if name not in methods:
        text = f"unknown method {name[:100]!r} (expected one of {', '.join(methods)})"
        raise ProtocolError(METHOD_NOT_FOUND, text, status=404)
    return methods[name]


def _describe_server(server: ToolServer) -> dict[str, str]:
    return {"name": server.name, "version": server.version}


def _describe_capabilities(server: ToolServer) -> dict[str, Any]:
    return {"capabilities": {"tools": {}, "resources": {}}} | (
        {"instructions": server.instructions} if server.instructions else {}
    )


def _initialize(server: ToolServer, params: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(params.get("protocolVersion"), str):
        raise ProtocolError(INVALID_PARAMS, "`protocolVersion` is missing or not text")
    version = choose_handshake_version(params["protocolVersion"])
    return {
        "protocolVersion": version,
        "serverInfo": _describe_server(server),
        **_describe_capabilities(server),
    }


def _discover(server: ToolServer, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"supportedVersions": list(SUPPORTED_VERSIONS), **_describe_capabilities(server)}


def _ping(server: ToolServer, params: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _list_tools(server: ToolServer, params: Mapping[str, Any]) -> dict[str, Any]:
    return _cut_page("tools", server.list_tools(), params.get("cursor"))


def _list_resources(server: ToolServer, params: Mapping[str, Any]) -> dict[str, Any]:
    return _cut_page("resources", server.list_resources(), params.get("cursor"))


def _list_templates(server: ToolServer, params: Mapping[str, Any]) -> dict[str, Any]:
    return _cut_page("resourceTemplates", (), params.get("cursor"))


def _cut_page(key: str, entries: Sequence[McpTool | McpResource], cursor: Any) -> dict[str, Any]:
    """Return a page of a list. A cursor is the number of the first entry on its page."""
    start = 0
    if cursor is not None:
        valid = isinstance(cursor, str) and cursor.isascii() and cursor.isdigit() and len(cursor) < 10
        start = int(cursor) if valid else 0
        if not 0 < start < len(entries):
            raise ProtocolError(INVALID_PARAMS, "`cursor` is not one that this server has given")
    end = start + PAGE_SIZE
    page = {key: [entry.render() for entry in entries[start:end]]}
    return page | ({"nextCursor": str(end)} if end < len(entries) else {})


def _call_tool(server: ToolServer, params: Mapping[str, Any]) -> dict[str, Any]:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise ProtocolError(INVALID_PARAMS, "`name` is missing or not text (expected the name of a tool)")
    if not isinstance(arguments, dict | None):
        raise ProtocolError(INVALID_PARAMS, "`arguments` is not an object")
    try:
        outcome = server.call_tool(name, arguments or {})
    except UnknownTool as unknown:
        raise ProtocolError(INVALID_PARAMS, str(unknown)) from None
    content = [{"type": "text", "text": outcome.text}]
    return {"content": content, "isError": outcome.is_error}


def _read_resource(server: ToolServer, params: Mapping[str, Any], *, code: int) -> dict[str, Any]:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise ProtocolError(INVALID_PARAMS, "`uri` is missing or not text")
    text = server.read_resource(uri)
    if text is None:
        raise ProtocolError(code, "no such resource; `resources/list` has those that exist", {"uri": uri[:1000]})
    media = next((each.media for each in server.list_resources() if each.uri == uri), "text/plain")
    return {"contents": [{"uri": uri, "mimeType": media, "text": text}]}


def _read_resource_with_handshake(server: ToolServer, params: Mapping[str, Any]) -> dict[str, Any]:
    return _read_resource(server, params, code=RESOURCE_NOT_FOUND)


def _read_resource_stateless(server: ToolServer, params: Mapping[str, Any]) -> dict[str, Any]:
    return _read_resource(server, params, code=INVALID_PARAMS)


_SHARED_METHODS: Mapping[str, AnswerMethod] = {
    "tools/list": _list_tools,
    "tools/call": _call_tool,
    "resources/list": _list_resources,
    "resources/templates/list": _list_templates,
}
HANDSHAKE_METHODS: Mapping[str, AnswerMethod] = {
    "initialize": _initialize,
    "ping": _ping,
    **_SHARED_METHODS,
    "resources/read": _read_resource_with_handshake,
}
STATELESS_METHODS: Mapping[str, AnswerMethod] = {
    "server/discover": _discover,
    **_SHARED_METHODS,
    "resources/read": _read_resource_stateless,
}
_TTL_MS: Mapping[str, int] = {
    "server/discover": LIST_TTL_MS,
    "tools/list": LIST_TTL_MS,
    "resources/list": LIST_TTL_MS,
    "resources/templates/list": LIST_TTL_MS,
    "resources/read": 0,
}
"""Milliseconds for which a client may keep a result, by method; results of other methods are not kept."""


def _add_stateless_fields(server: ToolServer, method: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with the fields that versions without a handshake require."""
    keeping = {"ttlMs": _TTL_MS[method], "cacheScope": "private"} if method in _TTL_MS else {}
    return {"resultType": "complete", **result, **keeping, "_meta": {SERVER_KEY: _describe_server(server)}}
