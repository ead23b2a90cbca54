"""The agent's end: a door to one sandbox, and the typed handle that stands in it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

import orjson

from clerkship.events.agent import BUILT_IN_EVENTS, AgentEvents
from clerkship.events.event import Event, Payload
from clerkship.events.states import NoSuchState, find_state
from clerkship.model.duration import parse_duration
from clerkship.model.names import did_you_mean
from clerkship.sandbox.direct_call import CallRecord, encode_bytes
from clerkship.sandbox.listener import ConnectionInfo
from clerkship.sandbox.operation import Operation
from clerkship.sandbox.request import JSON, QueryInput, Reply, Request, to_query
from clerkship.sandbox.route import Route

HandleT = TypeVar("HandleT", bound="Handle")
ReportEvent = Callable[[Payload], Event]
"""Logs an event that an agent reports of itself."""


class Refused(Exception):
    """A sandbox refused what the agent asked, in the words of its protocol."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        super().__init__(f"{reply.status}: {_extract_message(reply)[:500]}")


def _extract_message(reply: Reply) -> str:
    """Return the message of an error as JSON or an OperationOutcome has it; else the body."""
    text = reply.body.decode(errors="replace")
    try:
        data = orjson.loads(reply.body)
        if isinstance(data.get("error"), dict):
            return f"{data['error']['message']} ({data['error']['code']})"
        issues = [issue.get("diagnostics") or issue["details"]["text"] for issue in data["issue"]]
        return "; ".join(issues) or text
    except (ValueError, LookupError, TypeError, AttributeError):
        return text


class Dropped(ConnectionError):
    """The connection broke before the answer came. Whether the sandbox has done what was asked, nobody can say."""


class Incomplete(Dropped):
    """The connection broke in the middle of the answer; `reply` has the part that came."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        super().__init__(f"{len(reply.body)} of {reply.delivery.promised} bytes came before the connection broke")


class SandboxTransport(Protocol):
    """A way to one sandbox: in process, or over HTTP."""

    @property
    def kind(self) -> str:
        """What sort of simulator is behind it."""

    @property
    def routes(self) -> Sequence[Route]:
        """What can be asked of it."""

    @property
    def operations(self) -> Sequence[Operation[Any, Any]]:
        """Its operations, with and without an HTTP route."""

    @property
    def url(self) -> str:
        """Where the same sandbox is over HTTP."""

    @property
    def token(self) -> str:
        """What opens it."""

    @property
    def credentials(self) -> Mapping[str, ConnectionInfo]:
        """What its authentication schemes need over HTTP beside the token, by scheme."""

    @property
    def lines(self) -> Mapping[str, ConnectionInfo]:
        """The other ways in, by name; asking opens them if they are not open."""

    def send(self, request: Request) -> Reply:
        """Ask, and be answered; raises Dropped if the connection breaks instead."""

    def call(self, record: CallRecord) -> Reply:
        """Call an operation by name; raises Dropped if no answer comes."""


class TransportWrapper:
    """Tells of the sandbox what the door that it holds does: the base of handles, and of doors around another."""

    def __init__(self, door: SandboxTransport) -> None:
        self._door = door

    @property
    def kind(self) -> str:
        """Which simulator it is, such as `files`."""
        return self._door.kind

    @property
    def routes(self) -> Sequence[Route]:
        """Its operations, as requests."""
        return self._door.routes

    @property
    def operations(self) -> Sequence[Operation[Any, Any]]:
        """Its operations, with and without an HTTP route."""
        return self._door.operations

    @property
    def url(self) -> str:
        """Base URL of this sandbox over HTTP."""
        return self._door.url

    @property
    def token(self) -> str:
        """Token of this sandbox: its bearer token over HTTP, unless `credentials` say otherwise."""
        return self._door.token

    @property
    def credentials(self) -> Mapping[str, ConnectionInfo]:
        """What its schemes need over HTTP beside a bearer token, such as `{"basic": {"user", "password"}}`."""
        return self._door.credentials

    @property
    def lines(self) -> Mapping[str, ConnectionInfo]:
        """The ways in that are not HTTP, each with what it takes: `{"sftp": {"host", "port", "user", …}}`."""
        return self._door.lines


class Handle(TransportWrapper):
    """A sandbox as an agent written in Python holds it. Each kind adds its own verbs."""

    def request(
        self,
        method: str,
        path: str,
        *,
        query: QueryInput | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        media: str = JSON,
    ) -> Reply:
        """Send any request; raises Refused on an error status, Dropped if no answer or only a part of it comes. The
        query is a mapping, or pairs where a name is said more than once."""
        content = {"content-type": media} if body else {}
        reply = self._door.send(Request(method, path, to_query(query), {**(headers or {}), **content}, body))
        if reply.delivery.promised is not None:
            raise Incomplete(reply)
        if not reply.ok:
            raise Refused(reply)
        return reply

    def send_as_is(self, request: Request) -> Reply:
        """Send a request as it stands, whatever is answered; raises Dropped if no answer comes."""
        return self._door.send(request)

    def call(self, operation: str, arguments: Mapping[str, Any] | None = None) -> Reply:
        """Call an operation by name, whatever is answered; raises Dropped if no answer comes."""
        return self._door.call(CallRecord(operation, encode_bytes(arguments or {})))

    def call_as_recorded(self, record: CallRecord) -> Reply:
        """Make a recorded call again, whatever is answered; raises Dropped if no answer comes."""
        return self._door.call(record)

    def _json(self, method: str, path: str, data: Any = None, query: QueryInput | None = None) -> Any:
        body = b"" if data is None else orjson.dumps(data)
        reply = self.request(method, path, query=query, body=body)
        return orjson.loads(reply.body) if reply.body else None


class ClockControl(Protocol):
    """The clock as an agent may use it."""

    @property
    def now(self) -> datetime:
        """The simulated time."""

    def advance(self, by: timedelta) -> None:
        """Wait this long."""

    def skip(self) -> bool:
        """Wait for the next thing due; false if there is none."""


class Sandboxes(Mapping[str, Handle]):
    """All the sandboxes of a run by name, with the simulated clock, and a place to report one's own doings."""

    def __init__(
        self,
        handles: Mapping[str, Handle],
        clock: ClockControl,
        report: ReportEvent,
        agent_events: AgentEvents = BUILT_IN_EVENTS,
    ) -> None:
        self._handles = handles
        self._clock = clock
        self._report = report
        self.agent_events = agent_events
        """The events that an agent may report here, by kind: the built-in ones, and those of plug-ins."""

    def __getitem__(self, name: str) -> Handle:
        """The sandbox of this name."""
        if name not in self._handles:
            raise KeyError(f"no sandbox `{name}`; {did_you_mean(name, self._handles)}")
        return self._handles[name]

    def __iter__(self) -> Iterator[str]:
        """Their names."""
        return iter(self._handles)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._handles)

    def get_as(self, kind: type[HandleT], name: str | None = None) -> HandleT:
        """The sandbox of this name, or the only one with this sort of handle, typed."""
        try:
            return find_state(self._handles, kind, name)[1]
        except NoSuchState as error:
            raise KeyError(str(error)) from None

    @property
    def now(self) -> datetime:
        """The simulated time, in the zone of the environment's `now`."""
        return self._clock.now

    def wait(self, duration: str | float | timedelta | None = None) -> bool:
        """Let simulated time pass: this long, or until the next thing due (false if there is none)."""
        if duration is None:
            return self._clock.skip()
        self._clock.advance(parse_duration(duration))
        return True

    def report(self, payload: Payload) -> Event:
        """Put one of the agent's own events in the log: an action, a slot, a flow, or one that a plug-in declares."""
        return self._report(payload)


def wrap_transports(sandboxes: Sandboxes, wrap: Callable[[SandboxTransport], SandboxTransport]) -> Sandboxes:
    """The same sandboxes, each through a door around its own."""
    handles = {name: type(handle)(wrap(handle._door)) for name, handle in sandboxes.items()}
    return Sandboxes(handles, sandboxes._clock, sandboxes._report, sandboxes.agent_events)
