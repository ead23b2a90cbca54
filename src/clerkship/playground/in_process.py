"""The sandboxes of a playground for an agent in this process."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from clerkship.actors.reply import check_log_capacity, parse_event
from clerkship.events.event import Event, Payload
from clerkship.model.environment import Toolset
from clerkship.playground.agent_clock import AgentClock
from clerkship.playground.failure import guard
from clerkship.playground.gateway import Gateway
from clerkship.playground.handlers import RequestContext
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.request_record import title_of
from clerkship.sandbox.call_record import CallRecord
from clerkship.sandbox.direct_call import to_call
from clerkship.sandbox.handle import NO_MODELS, NO_SERVICES, AgentServices, Dropped, Sandboxes
from clerkship.sandbox.operation import Operation, ProtocolCall
from clerkship.sandbox.request import IMMEDIATE, ConnectionInfo, Reply, Request, check_request
from clerkship.sandbox.route import HttpCall, Route

if TYPE_CHECKING:
    from clerkship.sandbox.mcp_access import McpAddress
    from clerkship.sandbox.model_access import ModelAddress
    from clerkship.sandbox.trace_access import TraceAddress

_new_services: Callable[[Iterable[Any]], AgentServices] = partial(tuple.__new__, AgentServices)
"""Makes services from all fields: half the time of a call of the class."""
BaseUrl = Callable[[], str]


class InProcessTransport:
    """Sends requests to one sandbox through the gateway, without HTTP."""

    def __init__(
        self,
        gateway: Gateway,
        playground: Playground,
        sandbox: str,
        base_url: BaseUrl,
        listeners: ListenerPool | None = None,
    ) -> None:
        self._gateway = gateway
        self._playground = playground
        self._sandbox = playground.sandboxes[sandbox]
        self._base_url = base_url
        self._listeners = listeners
        self._base = f"http://{sandbox}.invalid"  # RFC 6761 §6.4: a reserved name, the same on every machine

    @property
    def kind(self) -> str:
        """The kind of the simulator."""
        return self._sandbox.spec.kind

    @property
    def routes(self) -> Sequence[Route]:
        """The HTTP routes of the simulator."""
        return self._sandbox.spec.routes

    @property
    def operations(self) -> Sequence[Operation[Any, Any]]:
        """The operations of the simulator, with and without an HTTP route."""
        return self._sandbox.spec.operations

    @property
    def toolset(self) -> Toolset:
        """Which of its operations models get as tools."""
        return self._playground.environment.simulators[self._sandbox.name].toolset

    @property
    def url(self) -> str:
        """The URL of the sandbox. Reading it starts the HTTP server if it is not running."""
        base = self._playground.base_url = self._base_url()
        return f"{base}/{self._gateway.add_playground(self._playground)}/{self._sandbox.name}"

    @property
    def token(self) -> str:
        """The token of the sandbox."""
        return self._sandbox.token

    @property
    def credentials(self) -> dict[str, ConnectionInfo]:
        """The connection details of each authentication scheme over HTTP that does not use the token."""
        return self._sandbox.authentication_info(self.url)

    @property
    def listeners(self) -> dict[str, ConnectionInfo]:
        """The connection details of the other protocols, by name. Reading them starts their listeners if needed."""
        if self._listeners is None:
            return {}
        opened = self._listeners.open_listeners(self._playground, self._sandbox)
        return {name: info for name, (_, info) in opened.items()}

    def send(self, request: Request) -> Reply:
        """Send a request. The delay that a client would see over HTTP advances a paced clock."""
        return self._handle(HttpCall(check_request(request), self._base))

    def call(self, record: CallRecord) -> Reply:
        """Call an operation by name; raise ValueError if there is none of that name."""
        return self._handle(to_call(record, self.operations))

    def _handle(self, call: ProtocolCall) -> Reply:
        playground = self._gateway.add_playground(self._playground)
        reply = self._gateway.handle(RequestContext(playground, self._sandbox.name, call, self.token))
        if reply.delivery is not IMMEDIATE:
            self._playground.advance(timedelta(seconds=reply.delivery.delay + reply.delivery.over))
        if reply.lost:
            request_name = title_of(call).partition(" ")[0]
            raise Dropped(f"the connection to {self._sandbox.name} broke before the reply to {request_name}")
        if reply.stream is not None:
            return guard(self._playground, f"{self._sandbox.name}: {title_of(call)}", reply.join_stream)
        return reply


def build_services(
    gateway: Gateway,
    base_url: BaseUrl,
    seconds_left: Callable[[], float],
    models: "Mapping[str, ModelAddress] | None",
    open_mcp: "Callable[[Sandboxes], McpAddress]",
    open_traces: "Callable[[], TraceAddress] | None" = None,
) -> AgentServices:
    """Return what a run offers an agent besides its sandboxes.

    `seconds_left` returns how long the agent may still take for its reply, `models` are the addresses for its model
    calls, `open_mcp` offers the sandboxes over MCP, and `open_traces` returns the address for its spans.
    """
    expect = partial(gateway.replies.expect, base_url, seconds_left)
    return _new_services((expect, NO_MODELS if models is None else models, open_mcp, open_traces))


def open_sandboxes(
    gateway: Gateway,
    playground: Playground,
    base_url: BaseUrl,
    listeners: ListenerPool | None = None,
    services: AgentServices = NO_SERVICES,
) -> Sandboxes:
    """Return a typed handle to every sandbox, for an agent in this process.

    `services` are what the run offers the agent besides: see `build_services`.
    """
    if listeners is not None:
        listeners.prepare(playground)
    handles = {
        name: sandbox.spec.handle(InProcessTransport(gateway, playground, name, base_url, listeners))
        for name, sandbox in playground.sandboxes.items()
    }
    return Sandboxes(
        handles, AgentClock(playground), partial(report_event, playground), playground.agent_events, services
    )


def report_event(playground: Playground, payload: Payload) -> Event:
    """Append an event that the agent reports of itself to the log; raise AgentError if the log is full."""
    event = parse_event(payload, playground.agent_events)
    if playground.hidden:
        event = _redact_event(playground, event)
    with playground.lock:
        check_log_capacity(playground.log)
        return guard(playground, "reporting an event", lambda: playground.emit("agent", event, "agent"))


def _redact_event(playground: Playground, event: Payload) -> Payload:
    """Return an event without the credentials and addresses that the agent was given."""
    written = event.model_dump_json()
    redacted = playground.redact(written)
    return event if redacted == written else type(event).model_validate_json(redacted)
