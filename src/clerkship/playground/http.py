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
from clerkship.transports.tcp import LOOPBACK


@dataclass(slots=True)
class GatewayRequest:
    """An HTTP request to a gateway. If a simulator fails, the reply is a 500 and the trial is errored."""

    gateway: Gateway
    context: RequestContext
    handler: Gateway | ControlEndpoint

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
        """Return a client of the sandbox for a WebSocket."""
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

    def __init__(self, gateway: Gateway, control: ControlEndpoint | None = None) -> None:
        self._gateway, self._control = gateway, control
        self.refuse, self.refuse_unreadable = gateway.refuse, gateway.refuse_unreadable

    def receive(self, incoming: IncomingRequest) -> GatewayRequest:
        """Accept one request."""
        context = RequestContext(
            incoming.playground_id,
            incoming.sandbox_name,
            HttpCall(incoming.request, incoming.base),
            transport_refusal=incoming.objection,
        )
        control = self._control
        handler = self._gateway if control is None or not control.covers(incoming) else control
        return GatewayRequest(self._gateway, context, handler)


def open_http(
    gateway: Gateway,
    port: int = 0,
    limits: ConnectionLimits | None = None,
    control: ControlEndpoint | None = None,
    host: str = LOOPBACK,
) -> HttpListener:
    """Build the HTTP server of a gateway. It starts to listen when its address is first read."""
    listener = HttpListener(GatewayApplication(gateway, control), port, limits, host)
    gateway.http_url = listener.url
    return listener
