"""The HTTP server of a gateway."""

from dataclasses import dataclass

from clerkship.events.request_line import WEBSOCKET
from clerkship.playground.client import GatewayClient
from clerkship.playground.control import ControlDoor
from clerkship.playground.failure import SimulatorBroken, guard
from clerkship.playground.gateway import CLOCK, Gateway, RequestContext
from clerkship.sandbox.exchange import ByteStream, Refusal, Reply
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.route import HttpCall
from clerkship.transports.executor import WorkerPool
from clerkship.transports.http_application import IncomingRequest
from clerkship.transports.http_listener import HttpListener
from clerkship.transports.limits import ConnectionLimits

RequestHandler = Gateway | ControlDoor


@dataclass(slots=True)
class GatewayRequest:
    """A request on its way through a gateway. A simulator that fails is answered 500; its run is errored."""

    handler: RequestHandler
    context: RequestContext

    def try_answer(self) -> Reply | None:
        """Answer if that is quick."""
        try:
            return self.handler.try_handle(self.context)
        except SimulatorBroken:
            return self._broken()

    def answer(self) -> Reply:
        """Answer, however long it takes."""
        try:
            return self.handler.handle(self.context)
        except SimulatorBroken:
            return self._broken()

    def read(self, stream: ByteStream) -> bytes | None:
        """Return the next chunk of a reply; where making it fails, the run is errored."""
        return guard(self.context.playground, self.context.title, lambda: next(stream, None))

    def open_websocket(self, workers: WorkerPool) -> SandboxClient:
        """Return the sandbox as a WebSocket reaches it."""
        playground, sandbox = self.context.playground, self.context.sandbox
        assert sandbox is not None
        gateway = self.handler.gateway if isinstance(self.handler, ControlDoor) else self.handler
        address = f"{self.context.playground_id}/{sandbox.name}"
        return GatewayClient(gateway, workers, playground, sandbox, address, WEBSOCKET)

    @property
    def queue(self) -> str:
        """The playground. The clock has its own queue: while it waits for a call to the agent, the agent may send
        requests."""
        context = self.context
        return f"{context.playground_id}/{CLOCK}" if context.sandbox_name == CLOCK else context.playground_id

    @property
    def waits(self) -> bool:
        """Whether it waits for a model."""
        return self.handler.thinks(self.context)

    def _broken(self) -> Reply:
        broken = Refusal(500, "internal_error", "the simulator failed; the run will be errored")
        return self.handler.refuse(self.context.playground_id, self.context.sandbox_name, broken)


class GatewayApplication:
    """A gateway as the HTTP server sees it."""

    def __init__(self, handler: RequestHandler) -> None:
        self._handler = handler
        self.refuse, self.refuse_unreadable = handler.refuse, handler.refuse_unreadable

    def receive(self, incoming: IncomingRequest) -> GatewayRequest:
        """Accept one request."""
        context = RequestContext(
            incoming.playground_id,
            incoming.sandbox_name,
            HttpCall(incoming.request, incoming.base),
            objection=incoming.objection,
        )
        return GatewayRequest(self._handler, context)


def open_http(handler: RequestHandler, port: int = 0, limits: ConnectionLimits | None = None) -> HttpListener:
    """Build the HTTP server of a gateway; it listens from the first time its address is asked for."""
    return HttpListener(GatewayApplication(handler), port, limits)
