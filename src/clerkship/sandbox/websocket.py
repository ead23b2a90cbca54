"""WebSockets as a simulator has them: a handler for each, and calls of operations in their messages."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import orjson

from clerkship.events.request_line import WEBSOCKET
from clerkship.model.frozen import plain
from clerkship.sandbox.exchange import Refusal, Reply, Upgrade, refuse_as_json
from clerkship.sandbox.operation import OK, InputT, Interface, OperationCall, OperationContext, ProtocolCall, ResultT

WebSocketMessage = str | bytes


class WebSocketCall(OperationCall[InputT, ResultT]):
    """A message that calls an operation. Its result is written as it is if it is text or bytes, else as JSON; a refusal
    as JSON."""

    transport: ClassVar[str] = WEBSOCKET

    def render(self, context: OperationContext[Any], result: ResultT) -> Reply:
        """Write a result."""
        match result:
            case None:
                body = b""
            case bytes():
                body = result
            case str():
                body = result.encode()
            case _:
                body = orjson.dumps(result, default=plain)
        return Reply(OK, body, result=result)

    def refuse(self, refusal: Refusal, interface: Interface | None) -> Reply:
        """Write a refusal."""
        return Reply(refusal.status, refuse_as_json(refusal).body, refusal=refusal)


class WebSocketSession(Protocol):
    """An open WebSocket as its handler uses it. Both methods may be called from any thread."""

    def send(self, message: WebSocketMessage) -> None:
        """Send a message: text or bytes."""
        ...

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Close it."""
        ...


class WebSocketHandler(Upgrade):
    """What a simulator does with one WebSocket. Its methods are called one at a time; they must return soon.

    A message becomes a call of an operation, which goes through the gateway like any other: so it is in the log, and
    faults strike it.
    """

    subprotocols: ClassVar[Sequence[str]] = ()
    max_message: ClassVar[int] = 1_000_000
    """Bytes of a message; a longer one closes the WebSocket with 1009."""
    watches: ClassVar[bool] = False
    """Whether `noticed` is called with each event of the sandbox."""

    def opened(self, session: WebSocketSession) -> None:
        """Keep the session, and send what is to be sent first."""

    def received(self, message: WebSocketMessage) -> ProtocolCall | None:
        """Return the call that a message stands for, such as a WebSocketCall; None if it stands for none."""
        return None

    def replied(self, reply: Reply) -> WebSocketMessage | None:
        """Return what is sent back for the reply to a message: its body, unless overridden."""
        return reply.body.decode(errors="replace") or None

    def noticed(self, kind: str, state: Any) -> None:
        """Push what has changed: an event of this kind has happened. The state is locked meanwhile."""

    def closed(self, code: int) -> None:
        """Let go of the session."""
