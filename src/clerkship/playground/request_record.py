"""Describe requests of the agent for the log: short, readable, without credentials and machine-specific text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from clerkship.events.event import MAX_BODY, MAX_PATH, MAX_QUERY, MAX_TOTAL_BODIES, AgentRequest, Event
from clerkship.playground.sandbox import Sandbox
from clerkship.sandbox.authentication.credentials import ACCESS_TOKEN_PREFIX, SESSION_PREFIX
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.request import ConnectionInfo, Refusal, Reply
from clerkship.sandbox.route import HttpCall
from clerkship.transports.network import LOOPBACK

REDACTED = "[redacted]"
CREDENTIALS = frozenset(
    {"access_token", "api_key", "apikey", "auth", "authorization", "client_secret", "password", "secret", "token"}
)
"""Names of query parameters whose values are credentials."""
MAX_PAIRS = 200
"""Parameters of a query that are logged."""
MAX_SECRET = 4096
"""Bytes after the limit of a body that are searched too, so that a secret across the limit is found."""
_UNQUOTED = "/:,|$@!*'();~[]"
MIN_SECRET_LENGTH = 6
"""Characters. Shorter strings are not redacted: they occur in texts by chance."""
MIN_WORD_LENGTH = 20
"""Characters from which a single word of a secret, such as the base64 part of a public key, is redacted too."""
_BEFORE_PORT = r"(?:127\.0\.0\.1|localhost|\[?::1\]?|port)"
ISSUED_CREDENTIAL = re.compile(rf"(?:{SESSION_PREFIX}|{ACCESS_TOKEN_PREFIX})_[\w-]{{1,43}}", re.IGNORECASE)
"""Session ids and access tokens. There may be many, so they are recognised by their prefix."""


def replace_secrets(text: str, hidden: Mapping[str, str], ports: Mapping[int, str]) -> str:
    """Replace secrets, ignoring case, and ports that follow a local host name or the word `port`."""
    for secret in sorted(hidden, key=len, reverse=True):
        replacement = hidden[secret]
        text = re.sub(re.escape(secret), lambda _, replacement=replacement: replacement, text, flags=re.IGNORECASE)  # type: ignore[misc]
    for port, name in ports.items():
        text = re.sub(rf"({_BEFORE_PORT}\W{{1,5}}){port}(?!\d)", rf"\g<1>[{name}]", text, flags=re.IGNORECASE)
    return ISSUED_CREDENTIAL.sub("[issued credential]", text)


class CredentialRedactor:
    """Replaces tokens, addresses and ports in texts. Most texts contain none, so a quick search comes first."""

    def __init__(self, hidden: Mapping[str, str], ports: Mapping[int, str]) -> None:
        self._hidden, self._ports = dict(hidden), dict(ports)
        self._markers = [secret.lower() for secret in hidden] + [str(port) for port in ports]
        self._markers += [SESSION_PREFIX, ACCESS_TOKEN_PREFIX]

    def __call__(self, text: str) -> str:
        lower = text.lower()
        for marker in self._markers:  # this runs for each request, and `any` would take twice as long
            if marker in lower:
                return replace_secrets(text, self._hidden, self._ports)
        return text

    def restore(self, text: str) -> str:
        """Put back what was replaced. If two secrets have the same name, the first one is taken."""
        if "[" not in text:
            return text
        for secret, label in reversed(self._hidden.items()):
            text = text.replace(label, secret)
        for port, name in self._ports.items():
            text = text.replace(f"[{name}]", str(port))
        return text


NO_SECRETS = CredentialRedactor({}, {})


def build_redactor(hidden: Mapping[str, str], sandboxes: Mapping[str, Sandbox]) -> CredentialRedactor:
    """Build the redactor of a playground from the secrets of its sandboxes and further texts to replace."""
    hidden, ports = dict(hidden), dict[int, str]()
    for name, sandbox in sandboxes.items():
        hidden |= secrets_of(name, sandbox.connection_info)
        ports |= ports_of(name, sandbox.connection_info)
        hidden |= addresses_of(name, sandbox.connection_info)
        hidden[sandbox.address] = f"[address of {name}]"
        hidden |= dict.fromkeys(sandbox.secrets(), f"[token of {name}]")
    hidden.pop("", None)
    return CredentialRedactor(hidden, ports)


def secrets_of(name: str, connections: Mapping[str, ConnectionInfo]) -> Iterator[tuple[str, str]]:
    """Yield the secrets of a sandbox, in each form in which a text may quote them, with their replacements."""
    for info in connections.values():
        for key, value in info.items():
            if isinstance(value, str) and key != "host":
                for form in _quoted_forms(value):
                    yield form, f"[{key} of {name}]"


def _quoted_forms(value: str) -> Iterator[str]:
    """Yield a secret whole, with its line breaks escaped, line by line, and the long words in it."""
    whole = value.strip()
    if len(whole) >= MIN_SECRET_LENGTH:
        yield from {whole, whole.replace("\n", "\\n"), whole.replace("\n", "\\\\n")}
    lines = whole.splitlines()
    for line in lines if len(lines) > 1 else ():
        if len(line) >= MIN_SECRET_LENGTH and not line.startswith("-----"):  # the first and last line of every key
            yield line
    for word in whole.split():
        if len(word) >= MIN_WORD_LENGTH:
            yield word


def addresses_of(name: str, connections: Mapping[str, ConnectionInfo]) -> Iterator[tuple[str, str]]:
    """Yield `host:port` of listeners that other machines reach, with what replaces a port on this machine."""
    for protocol, info in connections.items():
        if (host := info.get("host", LOOPBACK)) != LOOPBACK:
            yield f"{host}:{info.get('port')}", f"{LOOPBACK}:[{protocol} port of {name}]"


def ports_of(name: str, connections: Mapping[str, ConnectionInfo]) -> Iterator[tuple[int, str]]:
    """Yield the ports of a sandbox with their replacements."""
    for protocol, info in connections.items():
        if isinstance(port := info.get("port"), int) and port:
            yield port, f"{protocol} port of {name}"


def describe_request(call: ProtocolCall, reply: Reply, redact: CredentialRedactor) -> AgentRequest:
    """Describe a request and its reply, without the body.

    Over HTTP a request is described by method and path, over another protocol by its operation and subject. Links to
    the sandbox are recorded as relative ones, because its address differs between machines.
    """
    method, path, query = _request_parts(call, redact)
    path = redact(path)
    path = path if len(path) <= MAX_PATH else _truncate(path, MAX_PATH)
    return AgentRequest(method, path, query, reply.status, reply.answer, call.transport)


def _request_parts(call: ProtocolCall, redact: CredentialRedactor) -> tuple[str, str, str]:
    method, path = call.title
    if not isinstance(call, HttpCall):
        return method, path, ""
    return (
        method,
        path,
        _render_query(call.request.pairs, redact, call.base) if call.request.query else "",
    )


def title_of(call: ProtocolCall) -> str:
    """Return the name of a request for an error message."""
    return " ".join(call.title)


def describe_unmatched(sandbox: str, call: ProtocolCall, refusal: Refusal) -> dict[str, str | int]:
    """Describe a request whose address belongs to no running trial."""
    method, path, query = _request_parts(call, NO_SECRETS)
    parts = {"sandbox": sandbox, "method": method, "path": path, "query": query}
    return {**parts, "status": refusal.status, "reason": refusal.reason}


def add_body(
    description: AgentRequest, call: ProtocolCall, redact: CredentialRedactor, logged_bytes: int
) -> AgentRequest:
    """Add the body of a request, as far as the limits allow after `logged_bytes` of earlier bodies."""
    body, base = call.body, call.base
    limit = min(MAX_BODY, MAX_TOTAL_BODIES - logged_bytes)
    text = body[: limit + MAX_SECRET].decode(errors="surrogateescape")
    size = len(body)
    if base and base in text:
        relative = body.replace(f"{base}/".encode(), b"")
        size, text = len(relative), relative[: limit + MAX_SECRET].decode(errors="surrogateescape")
    logged = redact(text).encode(errors="surrogateescape")[:limit]
    return description._replace(size=size, body=logged)


def find_record(events: Sequence[Event], sandbox: str, actor: str) -> Event | None:
    """Return the one of the events since a request began that records the request.

    It is the first event that the actor of the request caused in the sandbox, or the last one if that summarizes the
    others. Returns None if there is no such event.
    """
    first = last = None
    for event in events:
        if event.actor == actor and event.source == sandbox:
            last = event
            if first is None:
                first = event
    return last if last is not None and last.payload.sums_up else first


def is_body_logged(events: Sequence[Event]) -> bool:
    """Return whether one of the events since a request began contains the body that the agent sent."""
    for event in events:  # noqa: SIM110  (this runs for each request, and `any` would take twice as long)
        if event.payload.holds_body and event.actor == "agent":
            return True
    return False


def _render_query(pairs: Sequence[tuple[str, str]], redact: CredentialRedactor, base: str) -> str:
    """Percent-encode a query only as far as needed, and the same way for every transport."""
    text = "&".join(
        f"{_quote(redact(name))}={_render_value(name, value, redact, base)}" for name, value in pairs[:MAX_PAIRS]
    )
    return _truncate(text if len(pairs) <= MAX_PAIRS else f"{text}&…", MAX_QUERY)


def _render_value(name: str, value: str, redact: CredentialRedactor, base: str) -> str:
    value = value.replace(f"{base}/", "") if base and base in value else value
    return REDACTED if name.lower() in CREDENTIALS else _quote(redact(value))


def _quote(text: str) -> str:
    return text if text.isalnum() and text.isascii() else quote(text, safe=_UNQUOTED)


def _truncate(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
