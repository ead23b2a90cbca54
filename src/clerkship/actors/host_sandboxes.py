"""The sandboxes of a trial for an agent elsewhere: each operation is a request over a link to the platform."""

import base64
import pkgutil
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from importlib.util import find_spec, module_from_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from clerkship.by_name import load
from clerkship.sandbox.call_record import CallRecord
from clerkship.sandbox.handle import AgentServices, Handle, Sandboxes
from clerkship.sandbox.mcp_access import McpAddress
from clerkship.sandbox.model_access import ModelAddress
from clerkship.sandbox.request import IMMEDIATE, ConnectionInfo, Delivery, QueryParams, Reply, Request, check_request
from clerkship.sandbox.trace_access import TraceAddress

if TYPE_CHECKING:
    from clerkship.events.agent import AgentEvents
    from clerkship.events.event import Event, Payload
    from clerkship.model.environment import Toolset
    from clerkship.sandbox.operation import Operation
    from clerkship.sandbox.route import Route

_SIMULATORS = "clerkship.simulators."
_executing = threading.RLock()


class PlatformLink(Protocol):
    """Sends requests to the platform: over pipes, or through a server."""

    def request(self, what: str, *, body: bytes = b"", **details: Any) -> Any:
        """Send a request; return its value, or raise its error."""


class HostTransport:
    """One sandbox, through the link."""

    def __init__(self, link: PlatformLink, sandbox: str, kind: str) -> None:
        self._link, self._sandbox, self._kind = link, sandbox, kind

    @property
    def kind(self) -> str:
        """The simulator's kind."""
        return self._kind

    @property
    def routes(self) -> "Sequence[Route]":
        """Its HTTP routes, read from the simulator."""
        routes: Sequence[Route] = self._spec().routes
        return routes

    @property
    def operations(self) -> "Sequence[Operation[Any, Any]]":
        """Its operations, read from the simulator."""
        operations: Sequence[Operation[Any, Any]] = self._spec().operations
        return operations

    @property
    def toolset(self) -> "Toolset":
        """Which of its operations models get as tools."""
        toolset: Toolset = self._link.request("toolset", sandbox=self._sandbox)
        return toolset

    def _spec(self) -> Any:
        return load("clerkship.engine.catalog:RegisteredCatalog")().simulator(self._kind)

    @property
    def url(self) -> str:
        """Base URL of the sandbox over HTTP."""
        return str(self._link.request("url", sandbox=self._sandbox))

    @property
    def token(self) -> str:
        """Bearer token of the sandbox over HTTP."""
        return str(self._link.request("token", sandbox=self._sandbox))

    @property
    def credentials(self) -> Mapping[str, ConnectionInfo]:
        """What its authentication schemes need over HTTP besides the token, by scheme."""
        credentials: Mapping[str, ConnectionInfo] = self._link.request("credentials", sandbox=self._sandbox)
        return credentials

    @property
    def listeners(self) -> Mapping[str, ConnectionInfo]:
        """Connection details of its other protocols."""
        lines: Mapping[str, ConnectionInfo] = self._link.request("lines", sandbox=self._sandbox)
        return lines

    def send(self, request: Request) -> Reply:
        """Send a request; raise Dropped if the connection breaks without a reply."""
        request = check_request(request)
        query = request.query.pairs if isinstance(request.query, QueryParams) else dict(request.query)
        reply = self._link.request(
            "send",
            body=request.body,
            sandbox=self._sandbox,
            method=request.method,
            path=request.path,
            query=query,
            headers=dict(request.headers),
        )
        return _read_reply(reply)

    def call(self, record: CallRecord) -> Reply:
        """Call an operation by name; raise Dropped if the connection breaks without a reply."""
        arguments = dict(record.input)
        return _read_reply(
            self._link.request("call", sandbox=self._sandbox, operation=record.operation, input=arguments)
        )


def _read_reply(reply: Mapping[str, Any]) -> Reply:
    delivery = Delivery(**reply["delivery"]) if reply["delivery"] is not None else IMMEDIATE
    return Reply(reply["status"], base64.b64decode(reply["body"]), reply["media"], reply["headers"], delivery)


class HostClock:
    """The simulated clock, through the link."""

    def __init__(self, link: PlatformLink) -> None:
        self._link = link

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return datetime.fromisoformat(self._link.request("now"))

    def advance(self, by: timedelta) -> None:
        """Let this much time pass."""
        self._link.request("advance", days=by.days, seconds=by.seconds, microseconds=by.microseconds)

    def skip(self) -> bool:
        """Wait for the next scheduled event; return false if there is none."""
        return bool(self._link.request("skip"))


class HostReport:
    """Logs the agent's own events, through the link; an event is logged when the call returns."""

    def __init__(self, link: PlatformLink) -> None:
        self._link = link

    def __call__(self, payload: "Payload") -> "Event":
        replies = load("clerkship.actors.reply")
        reported = replies.parse_event(payload, None)  # the platform's process checks the kind
        fields = self._link.request("report", event=replies.report_fields(reported))
        at = datetime.fromisoformat(fields.pop("at"))
        event: Event = load("clerkship.events.event:Event")(**fields, at=at, payload=reported)
        return event


class HostHandles(Mapping[str, Handle]):
    """Typed handles by name, each created on first use, because importing its simulator takes time."""

    def __init__(self, link: PlatformLink, places: Mapping[str, Mapping[str, str]]) -> None:
        self._link, self._places = link, places
        self._made: dict[str, Handle] = {}

    def __getitem__(self, name: str) -> Handle:
        if name not in self._made:
            place = self._places[name]
            _defer_package(place["handle"])
            handle = pkgutil.resolve_name(place["handle"])
            self._made[name] = handle(HostTransport(self._link, name, place["kind"]))
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _defer_package(handle: str) -> None:
    """Let the class of a handle be imported without the rest of its simulator.

    The package of a simulator imports all its modules for its SPEC. It is executed when a name of it is first read.
    """
    package = handle.partition(":")[0].rpartition(".")[0]
    spec = find_spec(package) if package.startswith(_SIMULATORS) and package not in sys.modules else None
    if spec is None or spec.loader is None:
        return
    module, loader = module_from_spec(spec), spec.loader

    def execute_and_get(name: str) -> Any:
        with _executing:
            if module.__dict__.pop("__getattr__", None) is not None:
                loader.exec_module(module)
        return getattr(module, name)

    module.__dict__["__getattr__"] = execute_and_get
    sys.modules[package] = module


def _read_mcp_address(link: PlatformLink) -> McpAddress | None:
    address = link.request("mcp")
    return None if address is None else McpAddress(**address)


def open_host_sandboxes(
    link: PlatformLink,
    places: Mapping[str, Mapping[str, str]],
    agent_events: "AgentEvents | None" = None,
    models: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    traces: Mapping[str, str] | None = None,
) -> Sandboxes:
    """Build the sandboxes that an agent is called with, from the kind and handle class of each."""
    addresses = {provider: ModelAddress(**address) for provider, address in models.items()}
    open_traces = None if traces is None else partial(TraceAddress, **traces)
    services = AgentServices(models=addresses, open_mcp=lambda _: _read_mcp_address(link), open_traces=open_traces)
    return Sandboxes(HostHandles(link, places), HostClock(link), HostReport(link), agent_events, services)
