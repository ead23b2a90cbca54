"""The versions of MCP: those with a handshake, and those where each request says its version."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from clerkship.mcp.messages import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION, McpMessage, ProtocolError

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions that begin with `initialize`, oldest first."""
STATELESS_VERSIONS = ("2026-07-28",)
"""Versions without a handshake: each request has its version in `_meta`."""
SUPPORTED_VERSIONS = (*reversed(STATELESS_VERSIONS), *reversed(HANDSHAKE_VERSIONS))
_META_PREFIX = "io.modelcontextprotocol/"
VERSION_KEY, CAPABILITIES_KEY, SERVER_KEY = (
    f"{_META_PREFIX}{name}" for name in ("protocolVersion", "clientCapabilities", "serverInfo")
)
VERSION_HEADER, METHOD_HEADER, NAME_HEADER = "mcp-protocol-version", "mcp-method", "mcp-name"
_NAME_PARAMS: Mapping[str, str] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that a client repeats in NAME_HEADER, by method."""
_ENCODED_START, _ENCODED_END = "=?base64?", "?="


def is_stateless(message: McpMessage, headers: Mapping[str, str] | None) -> bool:
    """Return whether a message is of a version without a handshake. `headers` is None where there is no HTTP."""
    if message.method == "server/discover" or (isinstance(message.meta, dict) and VERSION_KEY in message.meta):
        return True
    return headers is not None and headers.get(VERSION_HEADER) in STATELESS_VERSIONS


def build_headers(message: McpMessage) -> dict[str, str]:
    """Return the headers that a request has over HTTP; none for versions with a handshake."""
    meta = message.meta
    version = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    if not isinstance(version, str):
        return {}
    name = message.params.get(_NAME_PARAMS.get(message.method, ""))
    named = {NAME_HEADER: _encode(name)} if isinstance(name, str) else {}
    return {VERSION_HEADER: _encode(version), METHOD_HEADER: _encode(message.method), **named}


def _encode(value: str) -> str:
    """Return a value as a header can have it: in base64 unless it is plain ASCII."""
    if value.isascii() and value.isprintable() and value == value.strip() and not value.startswith(_ENCODED_START):
        return value
    return f"{_ENCODED_START}{base64.b64encode(value.encode()).decode()}{_ENCODED_END}"


def check_handshake_version(headers: Mapping[str, str] | None) -> None:
    """Raise ProtocolError if the header names a version that is not supported. Versions before it have no header."""
    version = (headers or {}).get(VERSION_HEADER)
    if version is not None and version not in HANDSHAKE_VERSIONS:
        raise _unsupported(version)


def choose_handshake_version(requested: Any) -> str:
    """Return the version for a client that asks for one with `initialize`: that one, or the newest with a handshake."""
    return requested if requested in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]


def check_stateless_request(message: McpMessage, headers: Mapping[str, str] | None) -> None:
    """Raise ProtocolError unless the metadata of a request is complete, agrees with its headers, and is supported."""
    meta = message.meta
    if not isinstance(meta, dict):
        raise ProtocolError(INVALID_PARAMS, f"`_meta` is missing or not an object (expected `{VERSION_KEY}` in it)")
    for key, kind, label in ((VERSION_KEY, str, "text"), (CAPABILITIES_KEY, dict, "an object")):
        if not isinstance(meta.get(key), kind):
            raise ProtocolError(INVALID_PARAMS, f"`_meta` has no `{key}` that is {label}")
    if headers is not None:
        _check_headers(message, meta[VERSION_KEY], headers)
    if meta[VERSION_KEY] not in STATELESS_VERSIONS:
        raise _unsupported(meta[VERSION_KEY])


def _check_headers(message: McpMessage, version: str, headers: Mapping[str, str]) -> None:
    expected = {VERSION_HEADER: version, METHOD_HEADER: message.method}
    name = message.params.get(_NAME_PARAMS.get(message.method, ""))
    if isinstance(name, str):
        expected[NAME_HEADER] = name
    for header, value in expected.items():
        given = headers.get(header)
        if given is None:
            raise ProtocolError(HEADER_MISMATCH, f"the header {header} is missing (expected {value[:200]!r})")
        if (_decode(given) if header == NAME_HEADER else given.strip()) != value:
            raise ProtocolError(
                HEADER_MISMATCH, f"the header {header} is {given[:200]!r}, and the message has {value[:200]!r}"
            )


def _decode(value: str) -> str | None:
    """Return the value of a header, which may be in base64; None if it cannot be read."""
    value = value.strip(" \t")
    if not (value.startswith(_ENCODED_START) and value.endswith(_ENCODED_END)):
        return value
    try:
        encoded = value[len(_ENCODED_START) : -len(_ENCODED_END)]
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _unsupported(version: str) -> ProtocolError:
    data = {"supported": list(SUPPORTED_VERSIONS), "requested": version[:100]}
    return ProtocolError(UNSUPPORTED_VERSION, "unsupported protocol version", data)
