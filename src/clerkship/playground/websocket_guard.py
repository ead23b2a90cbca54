"""Run the handler of a WebSocket so that its failures error the run."""

from functools import partial
from typing import Any

from clerkship.playground.guard import guard
from clerkship.playground.playground import Playground
from clerkship.sandbox.exchange import Reply
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.websocket import WebSocketHandler, WebSocketMessage, WebSocketSession


class GuardedWebSocket(WebSocketHandler):
    """A handler whose every method raises SimulatorBroken where it fails."""

    def __init__(self, handler: WebSocketHandler, playground: Playground, title: str) -> None:
        self._handler, self._guard = handler, partial(guard, playground, title)
        self.watches, self.max_message = handler.watches, handler.max_message  # type: ignore[misc]

    def opened(self, session: WebSocketSession) -> None:
        """Pass it on."""
        self._guard(partial(self._handler.opened, session))

    def received(self, message: WebSocketMessage) -> ProtocolCall | None:
        """Pass it on."""
        return self._guard(partial(self._handler.received, message))

    def replied(self, reply: Reply) -> WebSocketMessage | None:
        """Pass it on."""
        return self._guard(partial(self._handler.replied, reply))

    def noticed(self, kind: str, state: Any) -> None:
        """Pass it on."""
        self._guard(partial(self._handler.noticed, kind, state))

    def closed(self, code: int) -> None:
        """Pass it on."""
        self._guard(partial(self._handler.closed, code))
