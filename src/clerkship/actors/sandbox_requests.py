"""Requests of an agent elsewhere to the sandboxes of its trial: from its own process, or through a server."""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import orjson

from clerkship.actors.contract import AgentError
from clerkship.actors.reply import parse_report
from clerkship.kit.text import replace_surrogates
from clerkship.sandbox.call_record import CallRecord
from clerkship.sandbox.handle import Handle, Sandboxes
from clerkship.sandbox.request import IMMEDIATE, QueryParams, Reply, Request

MAX_BODY = 1_000_000_000
"""Bytes of one request's body, as large as a simulator takes."""


class AgentRequests:
    """Executes requests in order of arrival."""

    def __init__(self) -> None:
        self._body = bytearray()
        self._kinds: Mapping[str, Callable[[Mapping[str, Any], Sandboxes], Any]] = {
            "send": self._send,
            "call": _call,
            "url": lambda message, sandboxes: _handle(message, sandboxes).url,
            "toolset": lambda message, sandboxes: _handle(message, sandboxes).toolset,
            "mcp": lambda message, sandboxes: None if sandboxes.mcp is None else sandboxes.mcp._asdict(),
            "token": lambda message, sandboxes: _handle(message, sandboxes).token,
            "credentials": lambda message, sandboxes: dict(_handle(message, sandboxes).credentials),
            "lines": lambda message, sandboxes: dict(_handle(message, sandboxes).listeners),
            "now": lambda message, sandboxes: sandboxes.now.isoformat(),
            "advance": _advance,
            "skip": lambda message, sandboxes: sandboxes.wait(),
            "report": _report,
        }

    def take_part(self, part: Any) -> None:
        """Add a part of the body of the next request."""
        self._body += _decode_part(part)
        if len(self._body) > MAX_BODY:
            raise AgentError(f"it sent a request with a body of more than {MAX_BODY:,} bytes")

    def answer(self, message: Mapping[str, Any], sandboxes: Sandboxes) -> bytes:
        """Execute a request; return the line for the agent's process."""
        return orjson.dumps({"answer": message.get("number"), **self.execute(message, sandboxes)})

    def execute(self, message: Mapping[str, Any], sandboxes: Sandboxes) -> dict[str, Any]:
        """Execute a request; return its value, or the error to raise in the agent's code."""
        do = self._kinds.get(str(message.get("request")))
        if do is None:
            raise AgentError(f"its process sent an unknown request: {str(message.get('request'))[:80]!r}")
        try:
            return {"value": do(message, sandboxes)}
        except KeyError as error:
            raise AgentError(f"its process sent a request without {error}") from None
        except Exception as error:  # raised in the agent's code, as it would be in this process
            kind, text = type(error), replace_surrogates(str(error))
            return {"error": {"type": f"{kind.__module__}:{kind.__qualname__}", "message": text}}

    def _send(self, message: Mapping[str, Any], sandboxes: Sandboxes) -> dict[str, Any]:
        body, self._body = bytes(self._body), bytearray()
        query = message["query"]
        if isinstance(query, list):
            query = QueryParams(tuple((name, value) for name, value in query))
        request = Request(message["method"], message["path"], query, message["headers"], body)
        return _render_reply(_handle(message, sandboxes).send_as_is(request))


def _call(message: Mapping[str, Any], sandboxes: Sandboxes) -> dict[str, Any]:
    """Call an operation by name, as an agent and never as a listener."""
    operation, given = message["operation"], message["input"]
    if not isinstance(operation, str) or not isinstance(given, dict):
        raise AgentError("its process sent a call without an operation and an input")
    return _render_reply(_handle(message, sandboxes).replay_call(CallRecord(operation, given)))


def _render_reply(reply: Reply) -> dict[str, Any]:
    return {
        "status": reply.status,
        "body": base64.b64encode(reply.body).decode(),
        "media": reply.media,
        "headers": dict(reply.headers),
        "delivery": None if reply.delivery is IMMEDIATE else asdict(reply.delivery),
    }


def _handle(message: Mapping[str, Any], sandboxes: Sandboxes) -> Handle:
    name = message["sandbox"]
    if name not in sandboxes:
        raise AgentError(f"its process sent a request to an unknown sandbox: {str(name)[:80]!r}")
    return sandboxes[name]


def _advance(message: Mapping[str, Any], sandboxes: Sandboxes) -> None:
    sandboxes.wait(timedelta(message["days"], message["seconds"], message["microseconds"]))


def _report(message: Mapping[str, Any], sandboxes: Sandboxes) -> dict[str, Any]:
    event = sandboxes.report(parse_report(message["event"], sandboxes.agent_events))
    known = event._asdict()
    del known["payload"]
    return known | {"at": event.at.isoformat()}


def _decode_part(part: Any) -> bytes:
    try:
        return base64.b64decode(part, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise AgentError("its process sent a part of a body that is not base64") from None


def describe_handle(kind: str, handle: type[Handle]) -> dict[str, str]:
    """Return what the agent's side needs to create a handle to a sandbox."""
    return {"kind": kind, "handle": f"{handle.__module__}:{handle.__qualname__}"}
