"""The agent `rasa:<address>`: an assistant on a Rasa server, used through its REST channel and its tracker."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson
from pydantic import JsonValue

from clerkship.actors.contract import Agent, AgentError, EntryPointName, History, Message, ReplyPart, Say, Start
from clerkship.actors.reply import parse_replies
from clerkship.kit.http_body import ResponseTooLarge
from clerkship.kit.http_client import CONNECT_TIMEOUT, get, open_client, parse_address, post
from clerkship.kit.secrets import new_name
from clerkship.model.agent_domain import AgentCapabilities
from clerkship.model.errors import InputError
from clerkship.model.run import IsolationLevel
from clerkship.rasa.capabilities import fetch_capabilities
from clerkship.rasa.names import SESSION_START_MESSAGE
from clerkship.rasa.server import HINTS, RasaCredentials, RasaServer, describe_refusal
from clerkship.rasa.tracker import TrackerCursor, parse_events, parse_messages, select_last_session
from clerkship.sandbox.handle import Sandboxes
from clerkship.settings import Settings

if TYPE_CHECKING:
    import httpx
from collections.abc import Callable, Iterator

from clerkship.actors.contract import Turn
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.rasa.tracker import ATTACHMENT_KEYS

TrackerRow = dict[str, Any]
LISTEN_ROW: TrackerRow = {"event": "action", "name": "action_listen"}
RESTORED_EVENTS = frozenset({"active_loop", "loop_interrupted", "reset_slots"})
"""Noted events that can affect the assistant's next answer, so they are restored."""
MAX_REPLY_BYTES = 32_000_000
"""Maximum size of one reply. Each reply contains the whole tracker of the conversation."""
CHANNEL_PATH = "/webhooks/rest/webhook"
SIMULATION_METADATA: Mapping[str, JsonValue] = {"is_simulation": True}
"""Sent with every message, so that an assistant can avoid real side effects."""


def render_history(history: History) -> list[TrackerRow]:
    """Return the events of every turn from the person's first line on.

    The server runs the start of the session itself. Slots that were set then and still have that value are set
    first.
    """
    rows = [row for turn in history.turns if turn.text is not None for row in _render_turn(turn)]
    known = {row["name"] for row in rows if row["event"] == "slot"}
    slots = [_render_slot(name, value) for name, value in history.slots.items() if name not in known]
    return [*slots, *rows]


def _render_turn(turn: Turn) -> Iterator[TrackerRow]:
    yield _render_user_message(turn.text or "", turn.metadata or {})
    last: TrackerRow = {}
    for part in turn.answer:
        for last in _render_part(part):
            yield last
    if last != LISTEN_ROW:
        yield LISTEN_ROW  # without it, Rasa would not treat the next message as the user's turn


def _render_user_message(text: str, metadata: Mapping[str, Any]) -> TrackerRow:
    """Return a user message without intent and commands, because no log records them."""
    nothing = {"intent": {"name": None, "confidence": 0.0}, "entities": [], "text": text, "commands": []}
    return {"event": "user", "text": text, "parse_data": nothing, "metadata": dict(metadata)}


def _render_part(part: ReplyPart) -> list[TrackerRow]:
    if isinstance(part, Say):
        return [_render_bot_message(part)]
    write = _RENDERERS.get(type(part))
    return [] if write is None else write(part)


def _render_bot_message(say: Say) -> TrackerRow:
    named = {"utter_action": say.utter_name} if say.utter_name else {}
    custom = say.custom or {}
    data = {
        **(custom if custom.keys() <= set(ATTACHMENT_KEYS) else {"custom": custom}),
        "buttons": list(say.buttons) or None,
    }
    return {"event": "bot", "text": say.text or None, "data": data, "metadata": {**(say.metadata or {}), **named}}


def _render_slot(name: str, value: Any) -> TrackerRow:
    return {"event": "slot", "name": name, "value": value}


def _render_noted_event(part: agent.Noted) -> list[TrackerRow]:
    return [{"event": part.what, **part.data}] if part.what in RESTORED_EVENTS else []


def _build_flow_renderer(sort: str) -> Callable[[Any], list[TrackerRow]]:
    def write(part: Any) -> list[TrackerRow]:
        step = getattr(part, "flow_step_id", None)
        return [{"event": sort, "flow_id": part.flow_id, **({"step_id": step} if step else {})}]

    return write


_RENDERERS: Mapping[type[Payload], Callable[[Any], list[TrackerRow]]] = {
    agent.ActionExecuted: lambda part: [{"event": "action", "name": part.name}],
    agent.SlotSet: lambda part: [_render_slot(part.name, part.value)],
    agent.FlowStarted: _build_flow_renderer("flow_started"),
    agent.FlowCompleted: _build_flow_renderer("flow_completed"),
    agent.FlowCancelled: _build_flow_renderer("flow_cancelled"),
    agent.FlowInterrupted: _build_flow_renderer("flow_interrupted"),
    agent.FlowResumed: _build_flow_renderer("flow_resumed"),
    agent.Noted: _render_noted_event,
}


class RasaAgent:
    """One conversation with a Rasa server, under its own conversation id."""

    entries: frozenset[EntryPointName] = frozenset({"on_start", "on_history", "on_turn"})

    def __init__(self, server: RasaServer) -> None:
        self._server = server
        self._conversation = new_name("sim")
        self._cursor = TrackerCursor()
        self._skipped: Counter[str] = Counter()
        self._unanswered = ""

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Start the session if there are slots to set, then set them, so that they override what the session start
        sets.
        """
        if start.stubs:
            raise InputError.of(
                f"{self._server.name} runs its own actions, so stubs have no effect: {', '.join(start.stubs)}",
                hint="use an action server with stubbed actions, or an agent in Python",
            )
        if not start.slots:
            return []
        async with self._open() as client:
            messages = await self._send(client, SESSION_START_MESSAGE, SIMULATION_METADATA)
            done = self._collect(select_last_session(await self._read_new_events(client)), messages)
            await self._set_slots(client, start.slots)
            _check_slots_were_set(
                start.slots, await self._read_new_events(client)
            )  # these events are not returned: the assistant did not cause them
        return done

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Add the events of an earlier conversation to the tracker."""
        rows = render_history(history)
        if not rows:
            return
        async with self._open() as client:
            await self._post(client, rows, "the conversation so far could not be put there")
            heard = [row.get("text") for row in await self._read_new_events(client) if isinstance(row, dict)]
        lost = [turn.turn for turn in history.turns if turn.text is not None and turn.text not in heard]
        if lost:
            raise AgentError(f"its tracker did not store the conversation so far: turn {lost[0]} is missing")

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Send a message once, then read the new events of the tracker."""
        metadata = {**SIMULATION_METADATA, **(message.metadata or {})}
        async with self._open() as client:
            messages = await self._send(client, message.text, metadata, f"turn {message.turn}")
            return self._collect(await self._read_new_events(client), messages)

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Raise AgentError: a Rasa assistant can only be talked to."""
        raise AgentError("a Rasa assistant can only answer messages; it cannot be given a task")

    def close(self) -> Mapping[str, JsonValue]:
        """Return facts about the conversation, such as its id on the server. No connection is open between messages."""
        facts: dict[str, JsonValue] = {"conversation_id": self._conversation}
        if self._skipped:
            facts["tracker_events_skipped"] = dict(self._skipped)
        if self._unanswered:
            facts["unanswered"] = self._unanswered
        return facts

    def _collect(self, rows: list[Any], messages: list[Say]) -> list[ReplyPart]:
        """Return the tracker's events. If the tracker has no message of the agent, add the channel's replies."""
        done = parse_events(rows, self._skipped)
        heard = any(isinstance(part, Say) for part in done)
        return parse_replies(done if heard else [*done, *messages])

    def _open(self) -> "httpx.AsyncClient":
        return open_client(self._server.address, read_within=None)  # the turn timeout applies instead

    async def _send(
        self,
        client: "httpx.AsyncClient",
        text: str,
        metadata: Mapping[str, JsonValue],
        what: str = SESSION_START_MESSAGE,
    ) -> list[Say]:
        """Send a message. It is never sent twice, because it may have been delivered even without an answer."""
        body = orjson.dumps({"sender": self._conversation, "message": text, "metadata": metadata})
        self._unanswered = f"{what} was sent and not answered: it may have been delivered, and was not sent again"
        unsure = f"{what} may have been delivered, and is not sent again"
        data = await self._request(client, CHANNEL_PATH, body, f"{what} was not delivered", unsure)
        self._unanswered = ""
        replies = self._json(data, "its REST channel")
        if not isinstance(replies, list):
            raise AgentError(f"its REST channel answered {what} with something other than a list: {self._shown(data)}")
        return parse_messages(replies)

    async def _set_slots(self, client: "httpx.AsyncClient", slots: Mapping[str, JsonValue]) -> None:
        events = [{"event": "slot", "name": name, "value": value} for name, value in slots.items()]
        await self._post(client, events, "its initial slots could not be set")

    async def _post(self, client: "httpx.AsyncClient", events: list[dict[str, Any]], failure: str) -> None:
        path = f"/conversations/{self._conversation}/tracker/events"
        await self._request(client, path, orjson.dumps(events), failure)

    async def _read_new_events(self, client: "httpx.AsyncClient") -> list[Any]:
        """Return the events since the tracker was last read."""
        path = f"/conversations/{self._conversation}/tracker?include_events=ALL"
        data = await self._request(client, path, None, "its tracker could not be read")
        tracker = self._json(data, "its tracker")
        events = tracker.get("events") if isinstance(tracker, dict) else None
        if not isinstance(events, list):
            raise AgentError(f"its tracker has no list of `events`: {self._shown(data)}")
        return self._cursor.take_new(events)

    async def _request(
        self, client: "httpx.AsyncClient", path: str, body: bytes | None, unsent: str, unsure: str = ""
    ) -> bytes:
        """POST a body, or GET without one.

        Raise AgentError with the meaning of a failure: `unsent` if there was no connection, `unsure` (or `unsent`)
        if the connection broke after data was sent.
        """
        import httpx  # noqa: PLC0415  (most agents need no HTTP)

        server, url = self._server, self._server.url(path)
        try:
            if body is None:
                response, data = await get(client, url, server.headers, MAX_REPLY_BYTES)
            else:
                response, data = await post(client, url, server.headers, body, MAX_REPLY_BYTES)
        except ResponseTooLarge:
            raise AgentError(f"{server.host} answers with more than {MAX_REPLY_BYTES:,} bytes") from None
        except httpx.ConnectTimeout:
            words = f"did not answer within {CONNECT_TIMEOUT:g} seconds"
            raise AgentError(f"{server.host} {words}; {unsent}") from None
        except httpx.ConnectError as error:
            words = server.redacted(str(error))
            raise AgentError(f"{server.host} cannot be reached: {words}; {unsent}") from None
        except httpx.HTTPError as error:
            words = server.redacted(str(error)) or type(error).__name__
            raise AgentError(f"{server.host} closed the connection: {words}; {unsure or unsent}") from None
        self._check(path, response.status_code, response.headers.get("location", ""), data)
        return data

    def _check(self, path: str, status: int, location: str, data: bytes) -> None:
        """Raise InputError for a refusal that the author can fix, and AgentError for any other."""
        problem = describe_refusal(self._server, path, status, location, data)
        if problem and status in HINTS:
            raise InputError.of(problem, hint=HINTS[status])
        if problem:
            raise AgentError(problem)

    def _json(self, data: bytes, what: str) -> Any:
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            raise AgentError(f"{what} did not answer with JSON: {self._shown(data)}; is it a Rasa server?") from None

    def _shown(self, data: bytes) -> str:
        return self._server.shown(data).replace(self._conversation, "[conversation]")


def _check_slots_were_set(slots: Mapping[str, JsonValue], rows: list[Any]) -> None:
    """Raise AgentError if the tracker does not have the slots, although the server accepted them."""
    stored = [
        (row.get("name"), row.get("value")) for row in rows if isinstance(row, dict) and row.get("event") == "slot"
    ]
    lost = [name for name, value in slots.items() if (name, value) not in stored]
    if lost:
        raise AgentError(f"its tracker did not store the initial slots {', '.join(lost)}")


class RasaSolver:
    """A Rasa server. Each trial is a new conversation."""

    isolation: IsolationLevel = "remote"
    single_conversation = True
    takes_stubs = False
    """The server runs its own actions, and has no API to replace them."""

    def __init__(self, server: RasaServer) -> None:
        self.name = server.name
        self.host = urlsplit(server.address).hostname or ""
        self._server = server

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Return a new conversation."""
        return RasaAgent(self._server)

    def capabilities(self) -> AgentCapabilities:
        """Return what the server reports about its assistant."""
        return fetch_capabilities(self._server)


def load_rasa(rest: str, settings: Settings) -> RasaSolver:
    """Return the solver for `rasa:http://host:5005`. Credentials come from the settings only."""
    if "?" in rest or "#" in rest:
        address = rest.partition("?")[0].partition("#")[0]
        raise InputError.of(
            f"agent `rasa:{address}`: the address may not have a query", hint="put the token into CLERKSHIP_RASA_TOKEN"
        )
    if not rest.startswith(("http://", "https://")):
        hint = f"write rasa:http://{rest or 'localhost:5005'}"
        raise InputError.of(f"agent `rasa:{rest}`: `{rest}` is not an address", hint=hint)
    address = parse_address(rest, f"rasa:{rest}").rstrip("/").removesuffix(CHANNEL_PATH).rstrip("/")
    keys = RasaCredentials(settings.rasa_token, settings.rasa_jwt, settings.rasa_jwt_secret)
    return RasaSolver(RasaServer(address, urlsplit(address).netloc, keys))
