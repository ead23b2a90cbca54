"""WebSockets of a simulator: a handler for each connection, and calls of operations from its messages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol, cast

from pydantic import BaseModel, ValidationError

from clerkship.events.request_line import WEBSOCKET
from clerkship.kit.depth import MAX_DEPTH, is_deeper_than
from clerkship.kit.text import describe_error
from clerkship.sandbox.operation import (
    NO_INPUT,
    OK,
    InputT,
    NoInput,
    Operation,
    OperationCall,
    OperationContext,
    ProtocolCall,
    ResultT,
    SimulatorInterface,
    operation,
)
from clerkship.sandbox.request import Refusal, Reply, Upgrade, refuse_as_json
from clerkship.sandbox.route import describe_first_error, to_reply, validate_input

WebSocketMessage = str | bytes
PARSE_ERRORS = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors of parsing that refuse a message of the agent instead of failing the run."""


class WebSocketCall(OperationCall[InputT, ResultT]):
    """A message that calls an operation.

    The result is sent as it is if it is text or bytes, else as JSON; a refusal is sent as JSON. The input is a
    model, or a mapping of its fields, such as a parsed JSON object. A mapping is validated when the call is handled.
    """

    transport: ClassVar[str] = WEBSOCKET

    def __init__(
        self,
        operation: Operation[InputT, ResultT],
        input: InputT | Mapping[str, Any],
        target: str = "",
        body: bytes = b"",
    ) -> None:
        super().__init__(operation, cast(InputT, input), target, body)

    def parse(self, context: OperationContext[Any]) -> InputT:
        """Return the input; raises Refusal."""
        values = self.input
        if isinstance(values, BaseModel):
            return values
        if not isinstance(values, Mapping):
            raise Refusal(422, "invalid_input", "the message must be an object")
        if is_deeper_than(values):
            raise Refusal(422, "invalid_input", f"the message is nested more than {MAX_DEPTH} levels deep")
        return cast(InputT, validate_input(self.operation, values))

    def render(self, context: OperationContext[Any], result: ResultT) -> Reply:
        return replace(to_reply(OK, result), result=result)

    def refuse(self, refusal: Refusal, interface: SimulatorInterface | None) -> Reply:
        return Reply(refusal.status, refuse_as_json(refusal).body, refusal=refusal)


@operation(name="message", tool=False)
def no_operation(context: OperationContext[Any], input: NoInput) -> None:
    """Do nothing.

    This is the operation of a message for which the handler calls none. It is logged like any other, and faults
    apply.
    """


class RefusedMessage(WebSocketCall[NoInput, None]):
    """A message that is refused before its operation is known. It is recorded like any refused request."""

    def __init__(self, refusal: Refusal, message: WebSocketMessage) -> None:
        body = message.encode() if isinstance(message, str) else message
        super().__init__(no_operation, NO_INPUT, body=body)
        self._refusal = refusal

    def locate(self, interface: SimulatorInterface) -> None:
        """Raise the refusal."""
        raise self._refusal


class WebSocketSession(Protocol):
    """An open WebSocket, as its handler uses it. Both methods may be called from any thread."""

    def send(self, message: WebSocketMessage) -> None:
        """Send text or bytes."""

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the connection."""


class WebSocketHandler(Upgrade):
    """Handles one WebSocket of a simulator. Its methods are called one at a time and must return soon.

    A message becomes a call of an operation, which goes through the gateway like any other call: it is logged, and
    faults apply to it.
    """

    subprotocols: ClassVar[Sequence[str]] = ()
    max_message: ClassVar[int] = 1_000_000
    """Maximum message size in bytes; a longer one closes the WebSocket with 1009."""
    watches_events: ClassVar[bool] = False
    """Whether `on_event` is called after each event of the sandbox; once for several of a kind if many are waiting."""

    def on_open(self, session: WebSocketSession) -> None:
        """Store the session, and send the first messages."""

    def on_message(self, message: WebSocketMessage) -> ProtocolCall | None:
        """Return the call for a message, or None to ignore it.

        Raise Refusal for a message that is not valid: the refusal is sent back, and the connection stays open.
        Parsing errors, such as ValueError, KeyError and TypeError, refuse the message too (400 `bad_message`).
        """
        return None

    def on_reply(self, reply: Reply) -> WebSocketMessage | None:
        """Return the message to send for a reply: its body, unless overridden."""
        return reply.body.decode(errors="replace") or None

    def on_event(self, kind: str, state: Any) -> None:
        """Push changes to the client after an event of this kind. The state is locked meanwhile."""

    def on_close(self, code: int) -> None:
        """Release the session."""


def parse_message(handler: WebSocketHandler, message: WebSocketMessage) -> ProtocolCall | None:
    """Return the handler's call for a message; a RefusedMessage if the message is not valid."""
    try:
        return handler.on_message(message)
    except Refusal as refusal:
        return RefusedMessage(refusal, message)
    except PARSE_ERRORS as error:
        reason = describe_first_error(error) if isinstance(error, ValidationError) else describe_error(error)
        return RefusedMessage(Refusal(400, "bad_message", f"the message is not valid: {reason}"), message)
