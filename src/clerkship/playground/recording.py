"""Requests of the agent as the log keeps them: short, readable, without credentials."""

from collections.abc import Sequence
from urllib.parse import quote

from clerkship.events.event import Event
from clerkship.events.request import MAX_BODIES, MAX_BODY, MAX_PATH, MAX_QUERY, AgentRequest
from clerkship.playground.playground import Playground
from clerkship.playground.redaction import CredentialRedactor
from clerkship.sandbox.exchange import Refusal, Reply
from clerkship.sandbox.operation import OperationCall, ProtocolCall
from clerkship.sandbox.route import HttpCall

REDACTED = "[redacted]"
CREDENTIALS = frozenset(
    {"access_token", "api_key", "apikey", "auth", "authorization", "client_secret", "password", "secret", "token"}
)
"""Names in a query whose values are credentials of any issuer."""
MAX_METHOD = 40
MAX_PAIRS = 200
MAX_SECRET = 4096
"""Bytes; a secret that begins before the place where a body is cut is still found whole."""
_READABLE = "/:,|$@!*'();~[]"


def describe(playground: Playground, call: ProtocolCall, reply: Reply) -> AgentRequest:
    """Describe a request and how it was answered, without its body: over HTTP by method and path, over another protocol
    by its operation and what that is about.

    The address of the sandbox differs between machines: links to the sandbox are recorded as relative ones.
    """
    redact = playground.redactor()
    if not isinstance(call, HttpCall):
        name, target = _operation_of(call)
        return AgentRequest(name, _cut(redact(target), MAX_PATH), "", reply.status, reply.answer, call.transport)
    request = call.request
    path, query = redact(request.path), _query(request.pairs, redact, call.base) if request.query else ""
    path = path if len(path) <= MAX_PATH else _cut(path, MAX_PATH)
    return AgentRequest(request.method[:MAX_METHOD], path, query, reply.status, reply.answer)


def title_of(call: ProtocolCall) -> str:
    """Name a request in an error."""
    if isinstance(call, HttpCall):
        return f"{call.request.method} {call.request.path}"
    return " ".join(_operation_of(call))


def _operation_of(call: ProtocolCall) -> tuple[str, str]:
    """Return the name of an operation, and what a call of it is about."""
    assert isinstance(call, OperationCall)
    return call.operation.name, call.target


def describe_unplaced(sandbox: str, call: ProtocolCall, refusal: Refusal) -> dict[str, str | int]:
    """Describe a request whose address names no trial under way."""
    if not isinstance(call, HttpCall):
        method, path, query = *_operation_of(call), ""
    else:
        request = call.request
        query = _query(request.pairs, CredentialRedactor({}, {}), call.base) if request.query else ""
        method, path = request.method[:MAX_METHOD], request.path
    shown = {"sandbox": sandbox, "method": method, "path": path, "query": query}
    return {**shown, "status": refusal.status, "reason": refusal.reason}


def with_body(playground: Playground, described: AgentRequest, body: bytes, base: str = "") -> AgentRequest:
    """Add the body of a request, as far as the limits allow; `base` is the address of the sandbox."""
    room = min(MAX_BODY, MAX_BODIES - playground.log.request_bodies)
    text = body[: room + MAX_SECRET].decode(errors="surrogateescape")
    size = len(body)
    if base and base in text:
        relative = body.replace(f"{base}/".encode(), b"")
        size, text = len(relative), relative[: room + MAX_SECRET].decode(errors="surrogateescape")
    kept = playground.redactor()(text).encode(errors="surrogateescape")[:room]
    return described._replace(size=size, body=kept)


def record_of(events: Sequence[Event], since: int, sandbox: str) -> Event | None:
    """Return the event, since a place in the log, that is the record of a request: the first that the agent caused in
    the sandbox, or one that sums up those before it."""
    caused = [event for event in events[since:] if event.actor == "agent" and event.source == sandbox]
    if not caused:
        return None
    return caused[-1] if caused[-1].payload.sums_up else caused[0]


def is_body_held(events: Sequence[Event], since: int) -> bool:
    """Tell whether an event since a place in the log contains what the agent sent."""
    return any(event.payload.holds_body and event.actor == "agent" for event in events[since:])


def _query(pairs: Sequence[tuple[str, str]], redact: CredentialRedactor, base: str) -> str:
    """Percent-encode a query as far as needed to tell its parts; the same whichever way the request came in."""
    text = "&".join(f"{_quoted(redact(name))}={_value(name, value, redact, base)}" for name, value in pairs[:MAX_PAIRS])
    return _cut(text if len(pairs) <= MAX_PAIRS else f"{text}&…", MAX_QUERY)


def _value(name: str, value: str, redact: CredentialRedactor, base: str) -> str:
    value = value.replace(f"{base}/", "") if base and base in value else value
    return REDACTED if name.lower() in CREDENTIALS else _quoted(redact(value))


def _quoted(text: str) -> str:
    return text if text.isalnum() and text.isascii() else quote(text, safe=_READABLE)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
