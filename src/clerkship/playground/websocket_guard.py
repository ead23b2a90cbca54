"""Run the handler of a WebSocket so that its failures error the run, and messages that are not valid do not."""

from functools import partial
from typing import Any

from pydantic import ValidationError

from clerkship.kit.traceback_text import describe
from clerkship.playground.guard import guard
from clerkship.playground.playground import Playground
from clerkship.sandbox.exchange import Refusal, Reply
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.route import first_error
from clerkship.sandbox.websocket import RefusedMessage, WebSocketHandler, WebSocketMessage, WebSocketSession

PARSE_ERRORS = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What parsing a message of the agent may raise: the message is refused, and the run goes on."""


class GuardedWebSocket(WebSocketHandler):
    """A handler whose methods raise SimulatorBroken where they fail; a message that is not valid is refused."""

    def __init__(self, handler: WebSocketHandler, playground: Playground, title: str) -> None:
        self._handler, self._guard = handler, partial(guard, playground, title, waits=False)
        self.watches, self.max_message = handler.watches, handler.max_message  # type: ignore[misc]

    def opened(self, session: WebSocketSession) -> None:
        """Call the handler."""
        self._guard(partial(self._handler.opened, session))

    def received(self, message: WebSocketMessage) -> ProtocolCall | None:
        """Call the handler; return a RefusedMessage if the message is not valid."""
        return self._guard(partial(self._parse, message))

    def _parse(self, message: WebSocketMessage) -> ProtocolCall | None:
        try:
            return self._handler.received(message)
        except Refusal as refusal:
            return RefusedMessage(refusal, message)
        except PARSE_ERRORS as error:
            reason = first_error(error) if isinstance(error, ValidationError) else describe(error)
            return RefusedMessage(Refusal(400, "bad_message", f"the message is not valid: {reason}"), message)

    def replied(self, reply: Reply) -> WebSocketMessage | None:
        """Call the handler."""
        return self._guard(partial(self._handler.replied, reply))

    def noticed(self, kind: str, state: Any) -> None:
        """Call the handler."""
        self._guard(partial(self._handler.noticed, kind, state))

    def closed(self, code: int) -> None:
        """Call the handler."""
        self._guard(partial(self._handler.closed, code))
