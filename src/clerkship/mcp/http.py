"""Streamable HTTP of MCP: a POST for each message, answered with JSON. There are no sessions and no streams."""

from collections.abc import Callable, Collection, Mapping
from urllib.parse import urlsplit

from clerkship.mcp.messages import INVALID_REQUEST, ProtocolError, render_error
from clerkship.mcp.server import McpAnswer
from clerkship.sandbox.request import JSON, Refusal, Reply, Request

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
AnswerPost = Callable[[bytes, Mapping[str, str]], McpAnswer]
"""Answers the message in the body of a POST with these headers."""


def answer_request(request: Request, answer: AnswerPost) -> Reply:
    """Answer a request whose client is known."""
    try:
        _check_method(request)
    except Refusal as refusal:
        return refuse(refusal)
    answered = answer(request.body, request.headers)
    return Reply(answered.status, answered.body)


def check_sender(headers: Mapping[str, str], hosts: Collection[str] | None = LOOPBACK_HOSTS) -> None:
    """Raise Refusal if a request was not sent to one of these hosts, or by a web page of another one.

    Otherwise a page could reach a server on this machine by a name of its own that leads here. Without `hosts`, any
    host is accepted, and only pages of that same host.
    """
    host = _read_host(f"//{headers.get('host', '')}")
    if hosts is not None and host not in hosts:
        raise Refusal(403, "foreign_host", f"the header Host is not one of this server ({', '.join(sorted(hosts))})")
    origin = headers.get("origin")
    if origin is not None and _read_host(origin) not in ({host} if hosts is None else hosts):
        raise Refusal(403, "foreign_origin", "the header Origin is not one of this server")


def _read_host(url: str) -> str | None:
    """Return the host of a URL in lower case; None if it has none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _check_method(request: Request) -> None:
    if request.method != "POST":
        reason = f"{request.method} is not supported: send each message with POST; there are no streams or sessions"
        raise Refusal(405, "method_not_allowed", reason, {"Allow": "POST"})
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != JSON:
        raise Refusal(415, "unsupported_media_type", f"the content type is {media[:80]!r} (expected {JSON})")


def refuse(refusal: Refusal) -> Reply:
    """Write a refusal as a JSON-RPC error without an id."""
    error = ProtocolError(INVALID_REQUEST, refusal.reason)
    return Reply(refusal.status, render_error(None, error), headers=refusal.headers)
