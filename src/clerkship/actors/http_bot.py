"""A bot behind an address whose requests and replies have their own format, which options and templates describe."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import orjson
from pydantic import JsonValue

from clerkship.actors.agent_job import ACCEPTED, AgentJob
from clerkship.actors.contract import Agent, AgentError, EntryPointName, History, Message, ReplyPart, Say, Start
from clerkship.actors.messages import describe_invalid_json, describe_sandboxes, excerpt
from clerkship.actors.reply import parse_answer, parse_replies, read_messages, read_session, read_values, shorten
from clerkship.actors.webhook import OMITTED_QUERY, call_agent, check_status, sign
from clerkship.kit.http_client import check_reachable
from clerkship.kit.secrets import new_name
from clerkship.model.agent_domain import AgentCapabilities
from clerkship.model.bot_format import BotFormat
from clerkship.model.redaction import MIN_SECRET_LENGTH, Redactor
from clerkship.model.run import IsolationLevel
from clerkship.sandbox.handle import Sandboxes

if TYPE_CHECKING:
    import httpx
from collections.abc import Collection, Iterator
from typing import Final
from urllib.parse import quote

from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.model.path import MISSING, lookup, split_path
from clerkship.model.variables import UnknownVariable, expand_text

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*\}\}")
_STRAY_MARKS = re.compile(r"\{\{.*|\}\}|\{%.*", re.DOTALL)
_OMITTED: Final = object()
"""The result for a value that is not known yet: its entry is left out."""
ALWAYS_KNOWN = ("session", "trial", "task_item", "slots", "sandbox", "channel", "address", "sandboxes", "clock", "now")
ONLY_IN_TURNS = ("text", "turn", "messages", "metadata", "subject")
VARIABLES = (*ONLY_IN_TURNS, *ALWAYS_KNOWN)
_SANDBOX_VARIABLES = frozenset({"sandboxes", "clock", "now"})
_ONLY_VARIABLE = re.compile(r"\{\{[^{}]*\}\}")
_STATUS_HINTS = {
    400: "check --request",
    401: "give its key with --header or CLERKSHIP_AGENT_HEADERS",
    403: "give its key with --header or CLERKSHIP_AGENT_HEADERS",
    404: "check the address in --agent",
    405: "it must accept POST at the address in --agent",
    415: "check --request: the body is JSON",
    422: "check --request",
}


class RequestTemplate:
    """A template of plain data. `environment` has the values for `${NAME}` in the author's text."""

    def __init__(self, data: JsonValue, environment: Mapping[str, str]) -> None:
        self._data, self._environment = data, environment

    @property
    def names(self) -> set[str]:
        """The variables that it uses."""
        return {split_path(name)[0] for text in _list_texts(self._data) for name in _VARIABLE.findall(text)}

    def check(self, option: str, known: Collection[str], unavailable: Collection[str] = ()) -> None:
        """Raise InputError for a mistake; `option` names where the template comes from.

        `unavailable` are variables that have no value in this request.
        """
        for key in _list_keys(self._data):
            if "{{" in key:
                raise InputError.of(
                    f"{option}: a key has a variable: {key[:60]!r}", hint="use variables in values only"
                )
        for text in _list_texts(self._data):
            self._check_text(text, option, known, unavailable)

    def _check_text(self, text: str, option: str, known: Collection[str], unavailable: Collection[str]) -> None:
        stray = _STRAY_MARKS.search(_VARIABLE.sub("", text))
        if stray:
            raise InputError.of(
                f"{option}: {stray[0][:60]!r} is not a variable",
                hint="write {{ name }} or {{ name.key }}; filters, conditions and loops are not available",
            )
        for name in _VARIABLE.findall(text):
            root = split_path(name)[0]
            if root in unavailable:
                raise InputError.of(f"{option}: `{root}` is not known before the first message", hint="leave it out")
            if root not in known:
                hint = did_you_mean(root, known) or f"available: {', '.join(known)}"
                raise InputError.of(f"{option}: unknown variable `{root}`", hint=hint)
        try:
            expand_text(_VARIABLE.sub("", text), self._environment)
        except UnknownVariable as error:
            raise InputError.of(f"{option}: {error}", hint=error.hint) from None

    def fill(self, values: Mapping[str, Any]) -> JsonValue:
        """Return the data with values. A text that is only a variable becomes its value, with its type."""
        filled = self._fill(self._data, values)
        return None if filled is _OMITTED else filled

    def fill_text(self, values: Mapping[str, Any], *, quoted: bool = False) -> str:
        """Return the text with values; `quoted` for an address."""
        return self._join(str(self._data), values, quoted=quoted)

    def _fill(self, data: Any, values: Mapping[str, Any]) -> Any:
        if isinstance(data, str):
            alone = _VARIABLE.fullmatch(data.strip())
            return _get_value(alone[1], values) if alone else self._join(data, values)
        if isinstance(data, dict):
            entries = {key: self._fill(value, values) for key, value in data.items()}
            return {key: value for key, value in entries.items() if value is not _OMITTED}
        if isinstance(data, list):
            return [value for value in (self._fill(item, values) for item in data) if value is not _OMITTED]
        return data

    def _join(self, text: str, values: Mapping[str, Any], *, quoted: bool = False) -> str:
        parts = _VARIABLE.split(text)
        parts[::2] = [expand_text(part, self._environment) for part in parts[::2]]
        parts[1::2] = [_to_text(_get_value(name, values)) for name in parts[1::2]]
        if quoted:
            parts[1::2] = [quote(value, safe="") for value in parts[1::2]]
        return "".join(parts)


def _get_value(name: str, values: Mapping[str, Any]) -> Any:
    root, *rest = split_path(name)
    value = values.get(root)
    if not rest:
        return _OMITTED if value is None and root == "session" else value
    inner = lookup(value, ".".join(rest))
    return None if inner is MISSING else inner


def _to_text(value: Any) -> str:
    if value is None or value is _OMITTED:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _list_texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for item in data.values() if isinstance(data, dict) else data:
            yield from _list_texts(item)


def _list_keys(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        yield from data
    if isinstance(data, dict | list):
        for item in data.values() if isinstance(data, dict) else data:
            yield from _list_keys(item)


@dataclass(frozen=True)
class RequestTemplates:
    """The templates of the requests to a bot, and its format."""

    format: BotFormat
    address: RequestTemplate
    body: RequestTemplate
    headers: Mapping[str, RequestTemplate]
    start_address: RequestTemplate | None
    """None if there is no start call."""
    start_body: RequestTemplate
    secrets: Redactor
    """Replaces secrets that a bot repeats in its reply."""
    key: bytes
    """Signs requests, if it is not empty."""

    @property
    def names(self) -> set[str]:
        """The variables that the requests use."""
        templates = (self.address, self.body, self.start_body, *self.headers.values())
        return set().union(*(template.names for template in (*templates, self.start_address or self.start_body)))


class HttpBotAgent:
    """One conversation with a bot, or one task."""

    def __init__(self, templates: RequestTemplates, trial: int) -> None:
        self._templates, self._trial = templates, trial
        self._unfinished = ""
        self._session: str | int | None = None if templates.format.session else new_name("session")
        self._messages: list[dict[str, str]] = []
        self._cookies: httpx.Cookies | None = None
        entries: list[EntryPointName] = ["on_turn", "on_task"]
        if templates.start_address is not None:
            entries.append("on_start")
        if "messages" in templates.names:  # other bots keep the conversation themselves, and must have it again
            entries.append("on_history")
        self.entries: frozenset[EntryPointName] = frozenset(entries)

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Send the start call; its reply may have a greeting."""
        templates, bot_format = self._templates, self._templates.format
        assert templates.start_address is not None  # else `on_start` is not among the entry points
        values = self._values(sandboxes, start.task_item) | {
            "slots": dict(start.slots),
            **{name: getattr(start, name) for name in ("sandbox", "channel", "address")},
        }
        reply = await self._send(templates.start_address, templates.start_body, values, is_plain=True)
        path = bot_format.greeting or bot_format.reply
        if not path:
            return self._to_reply_parts([Say(reply)] if isinstance(reply, str) else [])
        try:
            return self._to_reply_parts(read_messages(reply, path, bot_format.buttons, "--greeting"))
        except AgentError:
            if bot_format.greeting:
                raise
            return []  # without --greeting, a greeting is optional

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Take over the messages so far, for `{{ messages }}`."""
        for turn in history.turns:
            self._messages += [{"role": "user", "content": turn.text}] if turn.text is not None else []
            self._to_reply_parts([part for part in turn.answer if isinstance(part, Say)])

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Send a message, and return the messages of the reply."""
        self._messages.append({"role": "user", "content": message.text})
        values = self._values(sandboxes, message.task_item) | {
            "slots": dict(message.slots),
            "messages": list(self._messages),
            **{name: getattr(message, name) for name in ("text", "turn", "metadata", "sandbox")},
            **{name: getattr(message, name) for name in ("channel", "address", "subject")},
        }
        reply = await self._send(self._templates.address, self._templates.body, values)
        bot_format = self._templates.format
        if not bot_format.reply:
            _require_text(reply)
        return self._to_reply_parts(read_messages(reply, bot_format.reply, bot_format.buttons))

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Send the instruction of a task as a message; what is at the path of the reply is the answer."""
        instruction = task_item.get("instruction")
        text = instruction if isinstance(instruction, str) else orjson.dumps(dict(task_item)).decode()
        values = self._values(sandboxes, task_item) | {
            "text": text,
            "turn": 1,
            "messages": [{"role": "user", "content": text}],
        }
        if self._templates.start_address is not None:
            await self._send(self._templates.start_address, self._templates.start_body, values, is_plain=True)
            values["session"] = self._session
        reply = await self._send(self._templates.address, self._templates.body, values)
        if not self._templates.format.reply:
            _require_text(reply)
        answers = read_values(reply, self._templates.format.reply, "--reply")
        return parse_answer(answers[0] if len(answers) == 1 else answers)

    def close(self) -> Mapping[str, JsonValue]:
        """Return the session id, and what was seen of a job that did not end in time."""
        facts = {"session": self._session, "agent_job": self._unfinished or None}
        return {name: fact for name, fact in facts.items() if fact is not None}

    def _values(self, sandboxes: Sandboxes, task_item: Mapping[str, JsonValue] | None) -> dict[str, Any]:
        """Return the values for every request; sandboxes listen only if a request has their addresses."""
        is_told = bool(_SANDBOX_VARIABLES & self._templates.names)
        about = describe_sandboxes(sandboxes) if is_told else {}
        return {"session": self._session, "trial": self._trial, "task_item": task_item, **about}

    def _to_reply_parts(self, messages: Iterable[Say]) -> list[ReplyPart]:
        """Return messages of the bot, and remember them for `{{ messages }}`."""
        parts = parse_replies(list(messages))
        self._messages += [{"role": "assistant", "content": part.text} for part in parts if isinstance(part, Say)]
        return parts

    async def _send(
        self, address: RequestTemplate, body: RequestTemplate, values: Mapping[str, Any], *, is_plain: bool = False
    ) -> Any:
        """Post one request; return the reply, and keep the session id and the cookies that it has.

        `is_plain` accepts a reply that is not JSON.
        """
        templates = self._templates
        try:
            response, data = await self._post(address.fill_text(values, quoted=True), body.fill(values), values)
            data = templates.secrets.body(data)
            check_status(response, data, _STATUS_HINTS)
            reply = _parse_reply(
                response.headers.get("content-type", ""), data, is_plain=is_plain or not templates.format.reply
            )
            self._keep_session(reply)
        except AgentError as error:
            raise AgentError(self._without_secrets(str(error))) from None
        return reply

    async def _post(self, address: str, body: JsonValue, values: Mapping[str, Any]) -> "tuple[httpx.Response, bytes]":
        import httpx  # noqa: PLC0415  (most agents need no HTTP)

        data = orjson.dumps(body)
        headers = {name.lower(): template.fill_text(values) for name, template in self._templates.headers.items()}
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable()):
                raise AgentError(f"its session id cannot be sent in the header `{name}`: {value[:60]!r}")
        self._cookies = self._cookies or httpx.Cookies()
        response, reply = await call_agent(address, headers | self._sign(data), data, self._cookies)
        if response.status_code != ACCEPTED or "location" not in response.headers:
            return response, reply
        job = AgentJob(address, response)

        async def fetch(location: str) -> "tuple[httpx.Response, bytes]":
            return await call_agent(location, headers | self._sign(b""), cookies=self._cookies)

        try:
            polled = await job.poll(fetch, _sleep)
        except asyncio.CancelledError:
            self._unfinished = job.describe(has_callback=False)
            raise
        assert polled is not None
        return polled

    def _sign(self, body: bytes) -> dict[str, str]:
        return sign(self._templates.key, body, new_name("msg")) if self._templates.key else {}

    def _keep_session(self, reply: Any) -> None:
        path = self._templates.format.session
        if not path:
            return
        self._session = read_session(reply, path) or self._session
        if self._session is None:
            read_values(reply, path, "--session")  # raises with what is there instead
            raise AgentError(f"its session id at `{path}` (--session) is empty; it returned {shorten(reply)}")

    def _without_secrets(self, text: str) -> str:
        text = self._templates.secrets.text(text)
        session = str(self._session or "")
        return text.replace(session, "[session]") if len(session) >= MIN_SECRET_LENGTH else text


async def _sleep(seconds: float) -> bool:
    await asyncio.sleep(seconds)
    return False


def _parse_reply(media_type: str, data: bytes, *, is_plain: bool) -> Any:
    """Return the JSON of a reply; a reply that is not JSON is text, if no path is given."""
    kind = media_type.partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        raise AgentError(
            "it streams its reply (text/event-stream), which is not supported; let --request ask for a whole reply, "
            'such as with "stream": false'
        )
    if kind == "text/html" or data[:200].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise AgentError(f"it replied with a web page, not with JSON: {excerpt(data)}; check the address in --agent")
    if not data.strip():
        if is_plain:
            return ""
        raise AgentError("its reply is empty; expected JSON")
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if is_plain:
            return data.decode(errors="replace")
    reason = describe_invalid_json(data)
    raise AgentError(f"its reply {reason}: {excerpt(data)}; leave --reply out if the bot replies with plain text")


def _require_text(reply: Any) -> None:
    """Raise AgentError for a map: without a path, its messages are not known."""
    if isinstance(reply, dict):
        keys = ", ".join(map(repr, list(reply)[:10])) or "none"
        raise AgentError(
            f"its reply is a map with the keys {keys}; say with --reply where the message is; "
            f"it returned {shorten(reply)}"
        )


class HttpBotSolver:
    """A bot's address, and the format of its requests and replies."""

    isolation: IsolationLevel = "remote"
    single_conversation = True
    takes_stubs = False

    def __init__(self, address: str, templates: RequestTemplates) -> None:
        self.name = f"http:{_name_address(address)}"
        self.bot_format = templates.format
        self._templates = templates
        self._reachable = _before_variables(address)
        self.host = urlsplit(self._reachable).hostname or ""

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        return HttpBotAgent(self._templates, trial)

    def preflight(self) -> None:
        """Connect to the address and to that of the start call, without sending a message."""
        check_reachable(self._reachable, self.name)
        start = self.bot_format.start
        if urlsplit(start).netloc not in ("", urlsplit(self._reachable).netloc):
            check_reachable(_before_variables(start), f"{self.name} (start call)")

    def capabilities(self) -> AgentCapabilities:
        """Return that it reports no events: only its messages are known."""
        return AgentCapabilities(engine="a bot over HTTP (--request)", emits=frozenset())


def _before_variables(address: str) -> str:
    """Return the part of an address before its first variable, to connect without a session."""
    return address.partition("{{")[0].rpartition("/")[0] + "/" if "{{" in address else address


def _name_address(address: str) -> str:
    """Return an address without its query, unless all values in it are variables: others may contain a key."""
    parts = urlsplit(address)
    if all(_ONLY_VARIABLE.fullmatch(value.strip()) for _, value in parse_qsl(parts.query, keep_blank_values=True)):
        return urlunsplit(parts._replace(fragment=""))
    return f"{urlunsplit(parts._replace(query='', fragment=''))}{OMITTED_QUERY}"
