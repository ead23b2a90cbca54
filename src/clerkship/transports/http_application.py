"""The interface between the HTTP server and the application that answers its requests (the gateway)."""

from dataclasses import dataclass
from typing import Protocol

from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.request import ByteStream, Refusal, Reply, Request
from clerkship.transports.executor import WorkerPool


@dataclass(slots=True)
class IncomingRequest:
    """A parsed HTTP request, with the playground and the sandbox that it addresses."""

    playground_id: str
    sandbox_name: str
    request: Request
    base: str = ""
    """The address of the sandbox as the client wrote it; absolute links start with it."""
    objection: Refusal | None = None
    """What is wrong with the request. It is refused only after the client is authenticated."""


class PendingRequest(Protocol):
    """A request that the application has accepted and not answered yet."""

    def try_answer(self) -> Reply | None:
        """Answer on the event loop if that is quick; return None if a worker thread must call `answer`."""

    def answer(self) -> Reply:
        """Answer in a worker thread. If the application fails, the reply says so."""

    def read(self, stream: ByteStream) -> bytes | None:
        """Return the next chunk of a reply's body, or None at its end. Runs in a worker thread.

        Raise PlatformError if the stream failed; the application has recorded the failure.
        """

    def open_websocket(self, workers: WorkerPool) -> SandboxClient:
        """Return the client through which a WebSocket calls the sandbox."""

    @property
    def queue(self) -> str:
        """The name of the request's worker queue; requests of one queue are answered in order."""

    @property
    def waits(self) -> bool:
        """Whether answering mostly waits for a model rather than for the processor."""


class HttpApplication(Protocol):
    """The application that answers the requests of an HTTP server."""

    def receive(self, incoming: IncomingRequest) -> PendingRequest:
        """Accept one request."""

    def refuse(self, playground_id: str, sandbox: str, refusal: Refusal) -> Reply:
        """Render a refusal in the protocol of this sandbox."""

    def refuse_unreadable(self, playground_id: str, sandbox: str, refusal: Refusal) -> Reply:
        """Render a refusal of bytes that are not an HTTP request, and list it in the sidecar."""
