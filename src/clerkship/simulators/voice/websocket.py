"""The WebSocket of a telephone: JSON messages that call the operations, and pushes of what happens in calls."""

from typing import Any, ClassVar, NamedTuple

import orjson

from clerkship.sandbox.operation import NoInput, Operation, operation
from clerkship.sandbox.request import Refusal, Reply
from clerkship.sandbox.websocket import WebSocketCall, WebSocketHandler, WebSocketMessage, WebSocketSession
from clerkship.simulators.voice import operations as ops
from clerkship.simulators.voice.calls import WATCHED_EVENTS
from clerkship.simulators.voice.events import MessageWaitingChanged
from clerkship.simulators.voice.operations import Context
from clerkship.simulators.voice.records import CallStatus, PhoneCall
from clerkship.simulators.voice.state import VoiceState

COMMANDS: dict[str, Operation[Any, Any]] = {
    "dial": ops.dial,
    "hear": ops.hear,
    "wait": ops.wait,
    "say": ops.say,
    "press": ops.press,
    "hold": ops.hold,
    "resume": ops.resume,
    "hang_up": ops.hang_up,
    "answer": ops.answer,
    "reject": ops.reject,
    "calls": ops.list_calls,
    "call": ops.show_call,
    "voicemails": ops.list_voicemails,
    "read_voicemail": ops.read_voicemail,
    "mark_voicemail": ops.mark_voicemail,
    "delete_voicemail": ops.delete_voicemail,
}
"""What `do` may be -> the operation."""
ID_FIELDS = ("call", "voicemail")
"""What a message calls the id of a call or voicemail, because `id` is that of the message."""
_CALL_EVENTS = frozenset(event.kind for event in WATCHED_EVENTS)


class _SeenCall(NamedTuple):
    """What of a call was pushed already."""

    status: CallStatus
    turns: int
    sounds: int


class VoiceSocket(WebSocketHandler):
    """Calls operations, and pushes when a call rings, is answered or ends, and when there is something to hear.

    A message is `{"id": 1, "do": "say", "call": "call-1", "text": "Hello"}`, and its answer has the same `id`. Pushes
    have no text: `hear` returns it.
    """

    max_message: ClassVar[int] = 200_000
    watches_events: ClassVar[bool] = True

    def __init__(self) -> None:
        self._session: WebSocketSession | None = None
        self._id: Any = None
        self._seen: dict[str, _SeenCall] = {}
        self._changes: int | None = None
        """How many changes of calls it has looked at; None before the first."""

    def on_open(self, session: WebSocketSession) -> None:
        """Store the session."""
        self._session = session

    def on_message(self, message: WebSocketMessage) -> WebSocketCall[Any, Any]:
        """Return the call of the operation that `do` names; raises Refusal."""
        self._id = None
        fields = orjson.loads(message)
        if not isinstance(fields, dict):
            raise Refusal(400, "bad_message", 'a message is an object such as {"id": 1, "do": "dial", "to": "+1…"}')
        id, name = fields.pop("id", None), fields.pop("do", None)
        if not isinstance(id, int | str | None):
            raise Refusal(400, "bad_message", "id: expected a number or a text")
        self._id = id
        command = COMMANDS.get(name) if isinstance(name, str) else None
        if command is None:
            raise Refusal(400, "bad_message", f"do: expected one of {', '.join(COMMANDS)}")
        ids = [fields.pop(field) for field in ID_FIELDS if field in fields]
        if len(ids) > 1:
            raise Refusal(400, "bad_message", "expected either `call` or `voicemail`, not both")
        if ids:
            fields["id"] = ids[0]
        body = message.encode() if isinstance(message, str) else message
        return WebSocketCall(command, fields, body=body)

    def on_reply(self, reply: Reply) -> str:
        """Return the result or the error, with the id of the message."""
        content = orjson.loads(reply.body) if reply.body else {}
        key = "error" if reply.refusal is not None or not reply.ok else "result"
        value = content.get("error", content) if key == "error" and isinstance(content, dict) else content
        return orjson.dumps({"id": self._id, key: value}).decode()

    def on_event(self, kind: str, state: VoiceState) -> None:
        """Push what happened in the calls that changed."""
        if self._session is None:
            return
        if kind == MessageWaitingChanged.kind:
            self._push_unread(self._session, state)
        if kind not in _CALL_EVENTS:
            return
        calls = state.calls
        changed = calls.open_calls if self._changes is None else dict.fromkeys(calls.changed[self._changes :])
        self._changes = len(calls.changed)
        for id in changed:
            self._push_changes(calls.by_id[id])

    def _push_unread(self, session: WebSocketSession, state: VoiceState) -> None:
        """Push how many messages of each own mailbox are unread."""
        unread = {name: state.mailboxes.count_unread(name) for name in state.mailboxes.own}
        session.send(orjson.dumps({"event": "message_waiting", "unread": unread}).decode())

    def _push_changes(self, call: PhoneCall) -> None:
        now = _SeenCall(call.status, len(call.turns), len(call.sounds))
        before = self._seen.get(call.id)
        if before == now:
            return
        self._seen[call.id] = now
        if call.status == "ended":
            del self._seen[call.id]
        if before is None or before.status != now.status:
            event = {"ringing": "ringing", "connected": "answered", "ended": "ended"}[call.status]
            self._push(call, event)
        if before is not None and any(turn.speaker != "agent" for turn in call.turns[before.turns :]):
            self._push(call, "speech")
        if before is not None and now.sounds > before.sounds:
            self._push(call, "sound")

    def _push(self, call: PhoneCall, event: str) -> None:
        assert self._session is not None
        push = {"event": event, "call": call.id, "direction": call.direction}
        if event == "ended":
            push["outcome"] = call.outcome or ""
        self._session.send(orjson.dumps(push).decode())


@operation(tool=False)
def open_socket(context: Context, _: NoInput) -> WebSocketHandler:
    """Open a WebSocket over which calls are made and heard."""
    return VoiceSocket()
