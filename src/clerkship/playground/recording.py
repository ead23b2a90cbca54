"""Requests of the agent as the log keeps them: short, readable, without credentials."""

from collections.abc import Sequence
from urllib.parse import quote

from clerkship.events.event import Event
from clerkship.events.request import MAX_BODIES, MAX_BODY, MAX_PATH, MAX_QUERY, AgentRequest
from clerkship.playground.playground import Playground
from clerkship.playground.redaction import CredentialRedactor
from clerkship.sandbox.exchange import Refusal, Reply, Request

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


def describe(playground: Playground, request: Request, reply: Reply, base: str = "") -> AgentRequest:
    """Describe a request over HTTP and how it was answered, without its body.

    `base` is the address of the sandbox as the client has it. It differs between machines: links to the sandbox are
    recorded as relative ones.
    """
    redact = playground.redactor()
    path, query = redact(request.path), _query(request.pairs, redact, base) if request.query else ""
    path = path if len(path) <= MAX_PATH else _cut(path, MAX_PATH)
    return AgentRequest(request.method[:MAX_METHOD], path, query, reply.status, reply.answer)


def describe_operation(
    playground: Playground, request: Request, reply: Reply, over: str, operation: str, target: str
) -> AgentRequest:
    """Describe a request over another protocol: its operation, and the path or the message it is about."""
    if not operation:
        return describe(playground, request, reply)._replace(over=over)
    path = _message_head(request.body) if over == "mllp" and request.body else f"/{target}"
    path = _cut(playground.redacted(path), MAX_PATH)
    return AgentRequest(operation, path, "", reply.status, reply.answer, over)


def describe_unplaced(sandbox: str, request: Request, refusal: Refusal, base: str) -> dict[str, str | int]:
    """Describe a request whose address names no trial under way."""
    query = _query(request.pairs, CredentialRedactor({}, {}), base) if request.query else ""
    shown = {"sandbox": sandbox, "method": request.method[:MAX_METHOD], "path": request.path, "query": query}
    return {**shown, "status": refusal.status, "reason": refusal.reason}


def with_body(playground: Playground, described: AgentRequest, body: bytes, base: str = "") -> AgentRequest:
    """Add the body of a request, as far as the limits allow; for `base` see `describe`."""
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


def _message_head(body: bytes) -> str:
    """Type and control id of an HL7 message, `ADT^A08 (MSG00012)`: MSH-9 and MSH-10, as far as they are there."""
    head = body[:2000].lstrip(b"\xef\xbb\xbf \r\n").partition(b"\r")[0].decode(errors="replace")
    fields = head.split(head[3]) if head.startswith("MSH") and len(head) > 3 else []
    parts = [*fields, *[""] * 10]
    kind = "^".join(parts[8].split("^")[:2])
    return f"{kind or 'message'} ({parts[9]})" if parts[9] else kind or "message"
