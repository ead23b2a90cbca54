"""The HTTP server of a gateway."""

from dataclasses import dataclass

from clerkship.events.request_line import WEBSOCKET
from clerkship.playground.client import GatewayClient
from clerkship.playground.control import ControlEndpoint
from clerkship.playground.failure import guard
from clerkship.playground.gateway import Gateway
from clerkship.playground.handlers import CLOCK, RequestContext
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.request import ByteStream, Reply
from clerkship.sandbox.route import HttpCall
from clerkship.transports.executor import WorkerPool
from clerkship.transports.http_application import IncomingRequest
from clerkship.transports.http_listener import HttpListener
from clerkship.transports.limits import ConnectionLimits


@dataclass(slots=True)
class GatewayRequest:
    """A request on its way through a gateway. A simulator that fails is answered 500; its run is errored."""

    gateway: Gateway
    context: RequestContext
    handler: Gateway | ControlEndpoint

    def try_answer(self) -> Reply | None:
        """Answer if that is quick."""
        return self.handler.try_answer(self.context)

    def answer(self) -> Reply:
        """Answer, however long it takes."""
        return self.handler.answer(self.context)

    def read(self, stream: ByteStream) -> bytes | None:
        """Return the next chunk of a reply; where making it fails, the run is errored."""
        return guard(self.context.playground, self.context.title, lambda: next(stream, None))

    def open_websocket(self, workers: WorkerPool) -> SandboxClient:
        """Return the sandbox as a WebSocket reaches it."""
        playground, sandbox = self.context.playground, self.context.sandbox
        assert sandbox is not None
        address = f"{self.context.playground_id}/{sandbox.name}"
        return GatewayClient(self.gateway, workers, playground, sandbox, address, WEBSOCKET)

    @property
    def queue(self) -> str:
        """The playground. The clock has its own queue: while it waits for a call to the agent, the agent may send
        requests."""
        context = self.context
        return f"{context.playground_id}/{CLOCK}" if context.sandbox_name == CLOCK else context.playground_id

    @property
    def waits(self) -> bool:
        """Whether it waits for a model."""
        return self.gateway.thinks(self.context)


class GatewayApplication:
    """A gateway as the HTTP server sees it."""

    def __init__(self, gateway: Gateway, control: ControlEndpoint | None = None) -> None:
        self._gateway, self._control = gateway, control
        self.refuse, self.refuse_unreadable = gateway.refuse, gateway.refuse_unreadable

    def receive(self, incoming: IncomingRequest) -> GatewayRequest:
        """Accept one request."""
        context = RequestContext(
            incoming.playground_id,
            incoming.sandbox_name,
            HttpCall(incoming.request, incoming.base),
            objection=incoming.objection,
        )
        control = self._control
        handler = self._gateway if control is None or not control.covers(incoming) else control
        return GatewayRequest(self._gateway, context, handler)


def open_http(
    gateway: Gateway, port: int = 0, limits: ConnectionLimits | None = None, control: ControlEndpoint | None = None
) -> HttpListener:
    """Build the HTTP server of a gateway; it listens from the first time its address is asked for."""
    return HttpListener(GatewayApplication(gateway, control), port, limits)
