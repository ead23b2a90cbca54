"""Send garbage to the WebSockets of a simulator, in process."""

from collections.abc import Callable
from functools import partial
from typing import Any

from clerkship.checks.conformance.rig import SimulatorRig, require
from clerkship.playground.failure import guard
from clerkship.sandbox.request import Refusal, Request
from clerkship.sandbox.route import find_route
from clerkship.sandbox.websocket import WebSocketHandler, WebSocketMessage, parse_message

HANDSHAKE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}
MESSAGES: tuple[WebSocketMessage, ...] = (
    *("", "garbage", "{", "null", "5", "[]", "{}", '{"unknown": 1}', '{"text": 5}', "[" * 10_000),
    *(b"", b"{", b"[]", bytes(range(256))),
)


class DiscardingSession:
    """An open WebSocket whose client reads nothing."""

    def send(self, message: WebSocketMessage) -> None:
        """Discard the message."""

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Do nothing."""


def send_garbage_messages(rig: SimulatorRig) -> None:
    """Open each WebSocket that the exercise opens, and send garbage.

    Raises NotConforming or SimulatorBroken.
    """
    for request in rig.exercise:
        if isinstance(request, Request) and _opens_websocket(rig, request):
            headers = {**request.headers, **HANDSHAKE}
            handler = rig.send(Request(request.method, request.path, request.query, headers)).upgrade
            if isinstance(handler, WebSocketHandler):
                _send_to(rig, handler, partial(guard, rig.playground, f"WebSocket {request.path}"))


def _opens_websocket(rig: SimulatorRig, request: Request) -> bool:
    try:
        return find_route(rig.prepared_simulators[rig.name].spec.routes, request)[0].is_upgrade
    except Refusal:
        return False


def _send_to(rig: SimulatorRig, handler: WebSocketHandler, guarded: Callable[[Callable[[], Any]], Any]) -> None:
    guarded(partial(handler.on_open, DiscardingSession()))
    for message in MESSAGES:
        before, call = rig.dump(), guarded(partial(parse_message, handler, message))
        if call is None:
            continue
        reply = rig.call(call)
        require(reply.ok or rig.dump() == before, f"the message {message[:60]!r} was refused but changed something")
        guarded(partial(handler.on_reply, reply))
    guarded(partial(handler.on_close, 1000))
