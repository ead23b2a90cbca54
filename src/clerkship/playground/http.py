"""The HTTP server of a gateway, and the control API of a playground that is up."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from clerkship.by_name import load
from clerkship.events.request_line import WEBSOCKET
from clerkship.kit.secrets import equal_in_constant_time, new_token
from clerkship.playground.client import GatewayClient
from clerkship.playground.failure import SimulatorBroken, guard
from clerkship.playground.gateway import Gateway
from clerkship.playground.handlers import CLOCK, RequestContext
from clerkship.playground.later_replies import REPLIES, ReplyTable
from clerkship.playground.playground import Playground
from clerkship.sandbox.authentication.bearer import parse_bearer_token
from clerkship.sandbox.handle import MCP, MODELS, TRACES
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.request import ByteStream, Refusal, Reply, Request, json_reply, refuse_as_json
from clerkship.sandbox.route import HttpCall
from clerkship.transports.http_connection import HttpListener
from clerkship.transports.http_parser import IncomingRequest, PendingRequest
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.loop_thread import WorkerPool
from clerkship.transports.network import LOCAL_NETWORK, SandboxNetwork

if TYPE_CHECKING:
    from clerkship.model_proxy.proxy import ModelProxy

CONTROL = "control"
"""The path of this endpoint, next to those of the sandboxes. No sandbox may have this name."""
MAX_PAGE_EVENTS = 1000
MAX_PAGE_BYTES = 2_000_000
NDJSON = "application/x-ndjson"


class ControlEndpoint:
    """Answers requests to `/{playground}/control/…`, which need a token of their own."""

    def __init__(self, playground: Playground, info: Mapping[str, Any]) -> None:
        self._playground = playground
        self._info = info
        self.token = new_token("clk_ctl")

    def covers(self, incoming: IncomingRequest) -> bool:
        """Return whether a request is for the control endpoint."""
        return (incoming.playground_id, incoming.sandbox_name) == (self._playground.id, CONTROL)

    def try_answer(self, context: RequestContext) -> Reply | None:
        """Answer a request for the log, which needs no lock; return None for any other request."""
        return self.answer(context) if _request_of(context).path.startswith(("/log", "/blob")) else None

    def answer(self, context: RequestContext) -> Reply:
        """Answer one request."""
        try:
            return self._answer(context)
        except Refusal as refusal:
            return refuse_as_json(refusal)

    def _answer(self, context: RequestContext) -> Reply:
        request = _request_of(context)
        if not equal_in_constant_time(self.token, parse_bearer_token(request.headers)):
            raise Refusal(401, "unauthorized", "the bearer token is missing, wrong, or that of a sandbox")
        if context.transport_refusal is not None:
            raise context.transport_refusal
        if request.method not in ("GET", "HEAD"):
            raise Refusal(405, "method_not_allowed", "the control endpoint is read-only: use GET")
        name, _, argument = request.path.strip("/").partition("/")
        if name == "blob":
            return self._read_blob(argument)
        if name == "log" and not argument:
            return self._read_log(request)
        if name:
            raise Refusal(404, "no_such_route", "control has GET /, /log?after= and /blob/{sha256}")
        return self._describe()

    def _describe(self) -> Reply:
        playground = self._playground
        with playground.lock:
            progress = {
                "now": playground.now.isoformat(),
                "events": len(playground.log.lines),
                "head": playground.log.head,
                "left": playground.people.leave_reasons,
                "error": playground.broken or "; ".join(playground.steps.errors),
                "calls": playground.sidecar.list_calls(),
                "model_calls": playground.sidecar.list_model_calls(),
            }
        return json_reply(200, {**self._info, **progress})

    def _read_log(self, request: Request) -> Reply:
        """Return the lines of the log after an event, as many as fit a page; none at the end."""
        after = request.query.get("after", "0")
        if not (after.isascii() and after.isdigit()) or len(after) > 18:
            raise Refusal(400, "bad_after", "`after` is the number of an event, or 0")
        page: list[bytes] = []
        bytes_left = MAX_PAGE_BYTES
        for line in self._playground.log.lines[int(after) : int(after) + MAX_PAGE_EVENTS]:
            bytes_left -= len(line) + 1
            if page and bytes_left < 0:
                break
            page.append(line)
        return Reply(200, b"".join(line + b"\n" for line in page), media=NDJSON)

    def _read_blob(self, digest: str) -> Reply:
        data = self._playground.log.blobs.get(digest)
        if data is None:
            raise Refusal(404, "no_such_blob", "no event of this log has a body with that hash")
        return Reply(200, data, media="application/octet-stream")


def _request_of(context: RequestContext) -> Request:
    assert isinstance(context.call, HttpCall)  # it is only reachable over HTTP
    return context.call.request


class ModelCallRequest:
    """A model call of an agent. Calls of one agent may run at the same time."""

    waits = True

    def __init__(self, proxy: "ModelProxy", incoming: IncomingRequest, number: int) -> None:
        self._proxy, self._incoming = proxy, incoming
        self.queue = f"{MODELS}/{number}"

    def try_answer(self) -> Reply | None:
        """Return None: the provider takes a while."""
        return None

    def answer(self) -> Reply:
        """Pass the call on. If the proxy fails, the reply is a 500 and the trial is errored."""
        incoming = self._incoming
        playground = cast(Playground | None, self._proxy.find_trial(incoming.sandbox_name))
        work = partial(self._proxy.answer, incoming.sandbox_name, incoming.request, incoming.objection)
        if playground is None:
            return work()
        try:
            return guard(playground, "a model call", work)
        except SimulatorBroken:
            return refuse_as_json(Refusal(500, "internal_error", "the model proxy failed; the trial will be errored"))

    def read(self, stream: ByteStream) -> bytes | None:
        """Return the next part of a streamed response."""
        return next(stream, None)

    def open_websocket(self, workers: WorkerPool) -> SandboxClient:
        raise AssertionError("the proxy accepts no WebSocket")


RequestHandler = Gateway | ControlEndpoint | ReplyTable


@dataclass(slots=True)
class GatewayRequest:
    """An HTTP request to a gateway. If a simulator fails, the reply is a 500 and the trial is errored."""

    gateway: Gateway
    context: RequestContext
    handler: RequestHandler

    def try_answer(self) -> Reply | None:
        """Answer the request if that is quick, else return None."""
        return self.handler.try_answer(self.context)

    def answer(self) -> Reply:
        """Answer the request, however long it takes."""
        return self.handler.answer(self.context)

    def read(self, stream: ByteStream) -> bytes | None:
        """Return the next chunk of a streamed reply. If producing it fails, the trial is errored."""
        return guard(self.context.playground, self.context.title, lambda: next(stream, None))

    def open_websocket(self, workers: WorkerPool) -> SandboxClient:
        playground, sandbox = self.context.playground, self.context.sandbox
        assert sandbox is not None
        address = f"{self.context.playground_id}/{sandbox.name}"
        return GatewayClient(self.gateway, workers, playground, sandbox, address, WEBSOCKET)

    @property
    def queue(self) -> str:
        """The name of the worker queue: one per playground.

        The clock has its own queue: while it waits for a call to the agent, the agent may send requests to answer it.
        """
        context = self.context
        return f"{context.playground_id}/{CLOCK}" if context.sandbox_name == CLOCK else context.playground_id

    @property
    def waits(self) -> bool:
        """Whether the request may wait for a model, or for a call to the agent."""
        return self.gateway.may_wait(self.context)


class GatewayApplication:
    """The application that the HTTP server runs."""

    def __init__(
        self, gateway: Gateway, control: ControlEndpoint | None = None, network: SandboxNetwork = LOCAL_NETWORK
    ) -> None:
        self._gateway, self._control, self._numbers = gateway, control, count(1)
        self._network = network
        self.refuse, self.refuse_unreadable = gateway.refuse, gateway.refuse_unreadable

    def receive(self, incoming: IncomingRequest) -> PendingRequest:
        """Accept one request."""
        if incoming.playground_id == MODELS and self._gateway.models is not None:
            return ModelCallRequest(self._gateway.models, incoming, next(self._numbers))
        if incoming.sandbox_name == MCP:
            request: PendingRequest = load("clerkship.playground.tool_endpoints:ToolRequest")(
                self._gateway.tools, incoming, self._network
            )
            return request
        if incoming.playground_id == TRACES and self._gateway.traces is not None:
            return cast(
                PendingRequest, load("clerkship.playground.traces:TraceRequest")(self._gateway.traces, incoming)
            )
        context = RequestContext(
            incoming.playground_id,
            incoming.sandbox_name,
            HttpCall(incoming.request, incoming.base),
            transport_refusal=incoming.objection,
        )
        return GatewayRequest(self._gateway, context, self._find_handler(incoming))

    def _find_handler(self, incoming: IncomingRequest) -> RequestHandler:
        if incoming.playground_id == REPLIES:
            return self._gateway.replies
        if self._control is not None and self._control.covers(incoming):
            return self._control
        return self._gateway


def open_http(
    gateway: Gateway,
    network: SandboxNetwork = LOCAL_NETWORK,
    limits: ConnectionLimits | None = None,
    control: ControlEndpoint | None = None,
) -> HttpListener:
    """Build the HTTP server of a gateway. It starts to listen when its address is first read."""
    listener = HttpListener(GatewayApplication(gateway, control, network), network, limits)
    gateway.http_url, gateway.http_ports = listener.url, listener.ports
    return listener
