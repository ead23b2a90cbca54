"""How requests to a bot over HTTP are built and its replies are read, as a run records it: without secret values."""

import re
from collections.abc import Iterator, Mapping

import orjson
from pydantic import JsonValue

from clerkship.model.errors import InputError
from clerkship.model.frozen import Frozen
from clerkship.model.variables import find_variable_names

MAX_HEADERS = 50
MIN_UNNAMED_SECRET = 12
"""Minimum length of a secret in a header whose name does not say so."""
HEADERS_OPTION = "--header (or CLERKSHIP_AGENT_HEADERS)"
NOT_STORED = "…"
"""Stands for the value of a header that is not stored, in a command that is shown."""
_SECRET_NAME = re.compile(
    r"(?i)(?:^|_)(?:api_?key|key|token|secret|password|passwd|credentials?|authorization|cookie|auth)(?:_|$)"
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110 §5.6.2
_PUBLIC_HEADERS = frozenset({"accept", "accept-language", "content-type", "user-agent"})
"""Headers whose values are no secrets."""
_RESERVED_HEADERS = frozenset({"connection", "content-length", "host", "transfer-encoding"})
"""Headers that follow from the address and the body."""


class BotFormat(Frozen):
    """The request that is sent to a bot for each message, and the places of what its reply contains."""

    body: JsonValue
    """The JSON body, with `{{ text }}` and other variables in its texts."""
    reply: str = ""
    """The path of the messages in a reply; empty if the whole reply is the message."""
    buttons: str = ""
    """The path of the buttons in a reply."""
    session: str = ""
    """The path of the session id in a reply; empty if the bot gets one with the first request."""
    headers: dict[str, str] = {}
    """Headers by name. A value is empty if it may be a secret, unless it comes from an environment variable."""
    start: str = ""
    """The address of the start call, if it is not that of the agent."""
    start_body: JsonValue = None
    """The body of the start call; None if there is no start call."""
    greeting: str = ""
    """The path of the greeting in the reply to the start call; empty if it is that of other messages."""

    @property
    def variables(self) -> set[str]:
        """The names of the environment variables that it uses."""
        return find_variable_names(orjson.dumps([self.body, self.start_body, self.headers]).decode())

    def options(self) -> Iterator[str]:
        """Yield the options that describe it on the command line."""
        yield from ("--request", orjson.dumps(self.body).decode())
        paths = {"--reply": self.reply, "--buttons": self.buttons, "--session": self.session, "--start": self.start}
        if self.start_body is not None and (self.start_body != {} or not self.start):
            paths["--start-request"] = orjson.dumps(self.start_body).decode()
        for option, value in (paths | {"--greeting": self.greeting}).items():
            yield from (option, value) if value else ()
        for name, value in self.headers.items():
            yield from ("--header", f"{name}: {value or NOT_STORED}")

    def settings(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the settings that describe it, by name. Values of headers that are not stored come from `headers`.

        Raise InputError if one is not there.
        """
        known = {name.lower(): value for name, value in headers.items()}
        values = {name: value or known.get(name.lower(), "") for name, value in self.headers.items()}
        missing = [name for name, value in values.items() if not value]
        if missing:
            raise InputError.of(
                f"the run sent the header `{missing[0]}` to its agent, and its value is not stored",
                hint=f"give it with --header '{missing[0]}: …' or in CLERKSHIP_AGENT_HEADERS",
            )
        return NO_BOT_FORMAT | {
            "agent_request": orjson.dumps(self.body).decode(),
            "agent_reply": self.reply,
            "agent_buttons": self.buttons,
            "agent_session": self.session,
            "agent_headers": orjson.dumps(values).decode() if values else "",
            "agent_start": self.start,
            "agent_start_request": "" if self.start_body is None else orjson.dumps(self.start_body).decode(),
            "agent_greeting": self.greeting,
        }


NO_BOT_FORMAT: dict[str, str] = dict.fromkeys(
    (
        *("agent_request", "agent_reply", "agent_buttons", "agent_session", "agent_headers"),
        *("agent_start", "agent_start_request", "agent_greeting"),
    ),
    "",
)
"""The settings of an agent whose requests have our own format."""


def parse_headers(text: str) -> dict[str, str]:
    """Parse headers from a setting: a JSON object of texts, or one `Name: value`. Errors do not contain values."""
    if not text.startswith("{"):
        return parse_header_lines([text] if text else [])
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError:
        data = None
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise InputError.of(
            f"{HEADERS_OPTION}: the headers are not a JSON object of texts",
            hint='write {"Authorization": "Bearer …"} or one `Authorization: Bearer …`',
        )
    return _check_headers(data)


def parse_header_lines(lines: "list[str] | tuple[str, ...]") -> dict[str, str]:
    """Parse headers, each as `Name: value`. Errors do not contain values."""
    pairs = [line.partition(":") for line in lines]
    if not all(colon for _, colon, _ in pairs):
        raise InputError.of(f"{HEADERS_OPTION}: a header has no colon", hint="write 'Name: value'")
    return _check_headers({name.strip(): value.strip() for name, _, value in pairs})


def _check_headers(headers: dict[str, str]) -> dict[str, str]:
    if len(headers) > MAX_HEADERS:
        raise InputError.of(f"{HEADERS_OPTION}: {len(headers)} headers; the limit is {MAX_HEADERS}")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise InputError.of(f"{HEADERS_OPTION}: {name[:40]!r} is not the name of a header", hint="as in X-Api-Key")
        if name.lower() in _RESERVED_HEADERS:
            raise InputError.of(
                f"{HEADERS_OPTION}: `{name}` follows from the address and the body", hint="leave it out"
            )
        if NOT_STORED in value:
            raise InputError.of(
                f"{HEADERS_OPTION}: the value of `{name}` is not stored with a run",
                hint=f"write it instead of `{NOT_STORED}`",
            )
        if not value or not (value.isascii() and value.isprintable()):
            raise InputError.of(
                f"{HEADERS_OPTION}: the value of `{name}` is empty or has a character that headers cannot have",
                hint="was it copied correctly?",
            )
    return headers


def without_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers as they are stored: values that may be secrets are empty."""
    return {name: value if _is_public(name, value) else "" for name, value in headers.items()}


def _is_public(name: str, value: str) -> bool:
    return name.lower() in _PUBLIC_HEADERS or "{{" in value or bool(find_variable_names(value))


def find_header_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the values of headers that are secrets by name or look like one, and those without Bearer or the like.

    A short value or a plain word, such as the name of a tenant, may be in any reply.
    """
    secrets: dict[str, str] = {}
    for name, value in headers.items():
        credentials = value.rpartition(" ")[2]
        looks_secret = len(credentials) >= MIN_UNNAMED_SECRET and not credentials.isalpha()
        if name.lower() not in _PUBLIC_HEADERS and (looks_secret or is_secret_name(name)):
            secrets |= {f"{name} header": value, f"{name} header credentials": credentials}
    return secrets


def is_secret_name(name: str) -> bool:
    """Return whether a header or variable of this name has a secret."""
    return bool(_SECRET_NAME.search(name.replace("-", "_")))
