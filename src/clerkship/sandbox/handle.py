"""Handles: how an agent calls the sandboxes of its run, over a transport."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar, cast

import orjson

from clerkship.by_name import load
from clerkship.events.states import NoSuchState, find_state
from clerkship.kit.extras import describe_install
from clerkship.model.names import did_you_mean
from clerkship.sandbox.call_record import CallRecord, encode_bytes
from clerkship.sandbox.request import JSON, ConnectionInfo, QueryInput, Reply, Request, to_query

if TYPE_CHECKING:  # an agent in its own process imports this module: data models take longer than all else there
    from clerkship.events.agent import AgentEvents
    from clerkship.events.event import Event, Payload
    from clerkship.model.environment import Toolset
    from clerkship.sandbox.mcp_access import McpAddress
    from clerkship.sandbox.model_access import ModelAddress
    from clerkship.sandbox.operation import Operation
    from clerkship.sandbox.route import Route
    from clerkship.sandbox.trace_access import TraceAddress

HandleT = TypeVar("HandleT", bound="Handle")
ReportEvent = Callable[["Payload"], "Event"]
"""Logs one of the agent's own events."""


class Refused(Exception):
    """The sandbox refused a request; `reply` has the refusal in the form of its protocol."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        super().__init__(f"{reply.status}: {_extract_message(reply)[:500]}")


def _extract_message(reply: Reply) -> str:
    """Return the message of a JSON error or an OperationOutcome, else the whole body."""
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
    """The connection broke before a reply arrived. The request may or may not have been carried out."""


class Incomplete(Dropped):
    """The connection broke in the middle of the reply; `reply` has the part that arrived."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        super().__init__(f"{len(reply.body)} of {reply.delivery.promised} bytes came before the connection broke")


class SandboxTransport(Protocol):
    """Sends requests to one sandbox: in process, or over HTTP."""

    @property
    def kind(self) -> str:
        """The kind of simulator, such as `files`."""

    @property
    def routes(self) -> "Sequence[Route]":
        """The HTTP routes of the sandbox."""

    @property
    def operations(self) -> "Sequence[Operation[Any, Any]]":
        """The operations of the sandbox, with and without an HTTP route."""

    @property
    def toolset(self) -> "Toolset":
        """Which of its operations models get as tools."""

    @property
    def url(self) -> str:
        """The base URL of the sandbox over HTTP."""

    @property
    def token(self) -> str:
        """The credential of the sandbox."""

    @property
    def credentials(self) -> Mapping[str, ConnectionInfo]:
        """What its authentication schemes need over HTTP besides the token, by scheme."""

    @property
    def listeners(self) -> Mapping[str, ConnectionInfo]:
        """How to connect to its listeners of other protocols, by name; opens those that are not open yet."""

    def send(self, request: Request) -> Reply:
        """Send a request and return the reply; raises Dropped if the connection breaks."""

    def call(self, record: CallRecord) -> Reply:
        """Call an operation by name; raises Dropped if no reply arrives."""


class TransportWrapper:
    """Base of handles, and of transports that wrap another: reports the properties of the wrapped transport."""

    def __init__(self, transport: SandboxTransport) -> None:
        self._transport = transport

    @property
    def kind(self) -> str:
        """Which simulator it is, such as `files`."""
        return self._transport.kind

    @property
    def routes(self) -> "Sequence[Route]":
        """Its HTTP routes."""
        return self._transport.routes

    @property
    def operations(self) -> "Sequence[Operation[Any, Any]]":
        """Its operations, with and without an HTTP route."""
        return self._transport.operations

    @property
    def toolset(self) -> "Toolset":
        """Which of its operations models get as tools."""
        return self._transport.toolset

    @property
    def url(self) -> str:
        """Base URL of this sandbox over HTTP."""
        return self._transport.url

    @property
    def token(self) -> str:
        """Token of this sandbox: its bearer token over HTTP, unless `credentials` say otherwise."""
        return self._transport.token

    @property
    def credentials(self) -> Mapping[str, ConnectionInfo]:
        """What its schemes need over HTTP besides a bearer token, such as `{"basic": {"user", "password"}}`."""
        return self._transport.credentials

    @property
    def listeners(self) -> Mapping[str, ConnectionInfo]:
        """How to connect by protocols other than HTTP: `{"sftp": {"host", "port", "user", …}}`."""
        return self._transport.listeners


class Handle(TransportWrapper):
    """A sandbox as an agent written in Python uses it. Each kind of simulator adds its own methods."""

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
        """Send any request, and return the reply.

        The query is a mapping, or pairs where a name occurs more than once. Raises Refused on an error status, and
        Dropped if no reply, or only a part of it, arrives.
        """
        content = {"content-type": media} if body else {}
        reply = self._transport.send(Request(method, path, to_query(query), {**(headers or {}), **content}, body))
        if reply.delivery.promised is not None:
            raise Incomplete(reply)
        if not reply.ok:
            raise Refused(reply)
        return reply

    def send_as_is(self, request: Request) -> Reply:
        """Send a request unchanged and return any reply; raises Dropped if none arrives."""
        return self._transport.send(request)

    def call(self, operation: str, arguments: Mapping[str, Any] | None = None) -> Reply:
        """Call an operation by name and return any reply; raises Dropped if none arrives."""
        return self._transport.call(CallRecord(operation, encode_bytes(arguments or {})))

    def replay_call(self, record: CallRecord) -> Reply:
        """Repeat a recorded call and return any reply; raises Dropped if none arrives."""
        return self._transport.call(record)

    def _find_listener(self, name: str) -> ConnectionInfo:
        """Return how to connect to a listener whose extra has its name; raise KeyError if that is not installed."""
        info = self.listeners.get(name)
        if info is None:
            raise KeyError(
                f"{name.upper()} is not available: install the extra in the environment of clerkship, with "
                f"{describe_install(name)}"
            )
        return info

    def _json(self, method: str, path: str, data: Any = None, query: QueryInput | None = None) -> Any:
        body = b"" if data is None else orjson.dumps(data)
        reply = self.request(method, path, query=query, body=body)
        return orjson.loads(reply.body) if reply.body else None

    def _object(self, method: str, path: str, data: Any = None) -> dict[str, Any]:
        """Send data as JSON; return the object in the reply."""
        answer: dict[str, Any] = self._json(method, path, data)
        return answer

    def _list(self, path: str, name: str, query: QueryInput | None = None) -> list[dict[str, Any]]:
        """Return the list that the reply to a GET has under a name."""
        entries: list[dict[str, Any]] = self._json("GET", path, query=query)[name]
        return entries

    def _list_all(self, path: str, name: str, filters: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the entries of all pages of a list; the reply of each has the entries under a name, and `next`."""
        query, entries = {"count": "1000", **filters}, []
        while True:
            page = self._json("GET", path, query=query)
            entries += page[name]
            if "next" not in page:
                return entries
            query["after"] = page["next"]


class LaterReply(Protocol):
    """A message to an agent behind an address, which may reply later. Entered as a context while it waits."""

    id: str
    """An unguessable id: the idempotency key of the message."""
    url: str
    """Where the agent may post its reply."""
    token: str
    """The bearer token of that request."""
    deadline: datetime
    """The wall time at which waiting ends."""
    problem: str
    """Why a reply was refused; empty if none was."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    async def wait(self, seconds: float | None = None) -> Mapping[str, Any] | None:
        """Return the reply, or None if it does not arrive within `seconds`."""


class ClockControl(Protocol):
    """The simulated clock as an agent uses it."""

    @property
    def now(self) -> datetime:
        """The simulated time."""

    def advance(self, by: timedelta) -> None:
        """Let this much time pass."""

    def skip(self) -> bool:
        """Advance to the next scheduled event; return False if there is none."""


MODELS = "models"
"""The first part of the path of model calls, where other paths have the id of a playground."""
TRACES = "otlp"
"""The first part of the path of an agent's spans."""


MCP = "mcp"
"""The name of the endpoint where the sandboxes are tools, next to those of the sandboxes."""


class NoModels(Mapping[str, "ModelAddress"]):
    """No addresses: the model calls of the agent do not go through the run."""

    def __getitem__(self, provider: str) -> "ModelAddress":
        variable = f"{str(provider).upper()}_API_KEY"
        raise KeyError(f"the run has no key of {provider}, so model calls cannot go through it; set {variable}")

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


NO_MODELS: "Mapping[str, ModelAddress]" = NoModels()


class AgentServices(NamedTuple):
    """What a run offers an agent besides its sandboxes."""

    expect_reply: "Callable[[], LaterReply] | None" = None
    """Returns an address for the reply to one message; None if an agent can only reply at once."""
    models: "Mapping[str, ModelAddress]" = NO_MODELS
    """Where the agent sends its model calls so that they are logged, by provider; empty if none is configured."""
    open_mcp: "Callable[[Sandboxes], McpAddress | None] | None" = None
    """Offers the sandboxes over MCP, and returns where; None if the agent cannot use that."""
    open_traces: "Callable[[], TraceAddress] | None" = None
    """Returns where the agent sends its spans, which are accepted from then on; None if they are not accepted."""


NO_SERVICES = AgentServices()


class Sandboxes(Mapping[str, Handle]):
    """All sandboxes of a run by name, with the simulated clock and a method to report the agent's own events."""

    def __init__(
        self,
        handles: Mapping[str, Handle],
        clock: ClockControl,
        report: ReportEvent,
        agent_events: "AgentEvents | None" = None,
        services: AgentServices = NO_SERVICES,
    ) -> None:
        self._handles = handles
        self._clock = clock
        self._report = report
        self._agent_events = agent_events
        self.services = services

    def with_handles(self, handles: Mapping[str, Handle]) -> "Sandboxes":
        """Return sandboxes with other handles, and the same clock and reports."""
        return Sandboxes(handles, self._clock, self._report, self._agent_events, self.services)

    @property
    def agent_events(self) -> "AgentEvents":
        """The events that an agent may report, by kind: built-in ones and those of plug-ins."""
        if self._agent_events is None:
            self._agent_events = cast("AgentEvents", load("clerkship.events.agent:BUILT_IN_EVENTS"))
        return self._agent_events

    def __getitem__(self, name: str) -> Handle:
        if name not in self._handles:
            raise KeyError(f"no sandbox `{name}`; {did_you_mean(name, self._handles)}")
        return self._handles[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._handles)

    def __len__(self) -> int:
        return len(self._handles)

    def get_as(self, kind: type[HandleT], name: str | None = None) -> HandleT:
        """Return the sandbox of this name, or the only one whose handle is of this type; raises KeyError."""
        try:
            return find_state(self._handles, kind, name)[1]
        except NoSuchState as error:
            raise KeyError(str(error)) from None

    @property
    def models(self) -> "Mapping[str, ModelAddress]":
        """Where to send model calls so that they are logged: `models["openai"].base_url` and `.api_key`."""
        return self.services.models

    @property
    def mcp(self) -> "McpAddress | None":
        """Where to call the sandboxes as tools over MCP; None if that is not offered. Reading it starts the server."""
        open_mcp = self.services.open_mcp
        return None if open_mcp is None or not self._handles else open_mcp(self)

    @property
    def traces(self) -> "TraceAddress | None":
        """Where to send spans so that they are logged: `endpoint`, `headers` and `traceparent`; None if nowhere."""
        open_traces = self.services.open_traces
        return None if open_traces is None else open_traces()

    @property
    def now(self) -> datetime:
        """The simulated time, in the zone of the environment's `now`."""
        return self._clock.now

    def wait(self, duration: str | float | timedelta | None = None) -> bool:
        """Let simulated time pass: this long, or until the next scheduled event (False if there is none)."""
        if duration is None:
            return self._clock.skip()
        self._clock.advance(load("clerkship.model.duration:parse_duration")(duration))
        return True

    def report(self, payload: "Payload") -> "Event":
        """Log one of the agent's own events: an action, a slot, a flow, or one that a plug-in declares."""
        return self._report(payload)


def wrap_transports(sandboxes: Sandboxes, wrap: Callable[[SandboxTransport], SandboxTransport]) -> Sandboxes:
    """Return the same sandboxes with each transport wrapped."""
    handles = {name: type(handle)(wrap(handle._transport)) for name, handle in sandboxes.items()}
    return sandboxes.with_handles(handles)
