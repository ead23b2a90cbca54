"""The opening handshake of a WebSocket (RFC 6455 §4): an HTTP request that an operation of a simulator accepts."""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha1
from importlib.util import find_spec
from typing import Any

from clerkship.kit.extras import describe_install
from clerkship.sandbox.operation import Operation, OperationContext
from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.sandbox.route import HttpCall, Route, bind_input
from clerkship.sandbox.websocket import WebSocketHandler

VERSION = "13"
SWITCHING = 101
BEARER_PREFIX = "bearer."
"""The prefix of a subprotocol that carries the token: a browser cannot set other headers."""
TOKEN_PARAMETER = "access_token"
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_KEY_SIZE = 16


def is_handshake(method: str, headers: Mapping[str, str]) -> bool:
    """Return whether a request is a WebSocket handshake."""
    wants_upgrade = "upgrade" in _parse_header_list(headers, "connection")
    return method == "GET" and wants_upgrade and "websocket" in _parse_header_list(headers, "upgrade")


def read_token(request: Request) -> str:
    """Return the token from a subprotocol or the query, for clients that cannot send it as a header."""
    for name in _parse_subprotocols(request.headers):
        if name.startswith(BEARER_PREFIX):
            return name.removeprefix(BEARER_PREFIX)
    return request.query.get(TOKEN_PARAMETER, "")


def websocket_route(path: str, operation: Operation[Any, WebSocketHandler]) -> Route:
    """Build the route of a WebSocket. The operation runs once per handshake and returns the handler."""
    return Route("GET", path, operation, parse=_parse_handshake, render=_render_handshake, is_upgrade=True)


def _parse_handshake(call: HttpCall, context: OperationContext[Any]) -> Any:
    check_handshake(call.request)
    return bind_input(call, context)


def _render_handshake(call: HttpCall, context: OperationContext[Any], handler: WebSocketHandler) -> Reply:
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Accept": _compute_accept_key(call.request),
    }
    chosen = _choose_subprotocol(_parse_subprotocols(call.request.headers), handler)
    if chosen:
        headers["Sec-WebSocket-Protocol"] = chosen
    return Reply(SWITCHING, headers=headers, upgrade=handler)


def check_handshake(request: Request) -> None:
    """Raise Refusal if a request is not a valid handshake, or if the package `websockets` is not installed."""
    if not is_handshake(request.method, request.headers):
        reason = "this address accepts only WebSocket handshakes"
        raise Refusal(426, "upgrade_required", reason, {"Upgrade": "websocket"})
    if request.headers.get("sec-websocket-version") != VERSION:
        headers = {"Upgrade": "websocket", "Sec-WebSocket-Version": VERSION}
        raise Refusal(426, "unsupported_version", f"the WebSocket version must be {VERSION}", headers)
    _compute_accept_key(request)
    if find_spec("websockets") is None:
        raise Refusal(501, "not_installed", f"WebSocket needs a package: {describe_install('websocket')}")


def _compute_accept_key(request: Request) -> str:
    key = request.headers.get("sec-websocket-key", "")
    try:
        valid = len(b64decode(key.encode(), validate=True)) == _KEY_SIZE
    except (ValueError, binascii.Error):
        valid = False
    if not valid:
        raise Refusal(400, "bad_handshake", "Sec-WebSocket-Key must be 16 bytes in base64")
    return b64encode(sha1(key.encode() + _MAGIC, usedforsecurity=False).digest()).decode()


def _choose_subprotocol(offered: list[str], handler: WebSocketHandler) -> str:
    """Return the subprotocol for the reply. A browser that has offered subprotocols fails if none is chosen."""
    known = [name for name in offered if name in handler.subprotocols]
    plain = [name for name in offered if not name.startswith(BEARER_PREFIX)]
    return next(iter([*known, *plain, *offered]), "")


def _parse_subprotocols(headers: Mapping[str, str]) -> list[str]:
    names = headers.get("sec-websocket-protocol", "").split(",")
    return [name.strip() for name in names if name.strip()]


def _parse_header_list(headers: Mapping[str, str], name: str) -> list[str]:
    return [value.strip().lower() for value in headers.get(name, "").split(",")]
