"""The WebSocket of a telephone, with a real client over loopback."""

from typing import Any, cast

import orjson
import pytest
from websockets.sync.client import ClientConnection

from clerkship.sandbox.websocket import WebSocketSession
from clerkship.simulators.voice.events import FarEndSpoke
from clerkship.simulators.voice.websocket import VoiceSocket
from tests.simulators.voice.office_phone import BUSY, MENU, MENU_PROMPT, OWN, OfficePhone
from tests.simulators.voice.served_phone import ServedPhone


def read_answer(client: ClientConnection) -> dict[str, Any]:
    """Return the next answer; pushes before it are skipped."""
    while True:
        message: dict[str, Any] = orjson.loads(client.recv(timeout=30))
        if "event" not in message:
            return message


def read_pushes(client: ClientConnection, last: str) -> list[str]:
    """Return the names of pushes up to one, without answers."""
    names: list[str] = []
    while last not in names:
        message = orjson.loads(client.recv(timeout=30))
        names += [message["event"]] if "event" in message else []
    return names


def ask(client: ClientConnection, **message: Any) -> dict[str, Any]:
    client.send(orjson.dumps(message).decode())
    return read_answer(client)


def test_a_call_is_made_and_heard_over_a_websocket() -> None:
    with ServedPhone() as served:
        client = served.open_socket()
        answer = ask(client, id=1, do="dial", to=MENU)
        assert answer["id"] == 1
        call = answer["result"]["id"]
        heard = ask(client, id="two", do="hear", call=call)
        assert heard["id"] == "two"
        assert heard["result"]["heard"][-1]["text"] == MENU_PROMPT
        ask(client, id=3, do="say", call=call, text="claims")
        ended = ask(client, id=4, do="hear", call=call)["result"]
        assert (ended["status"], ended["outcome"]) == ("ended", "completed")
        assert ask(client, do="call", call=call)["result"]["turns"][-1]["text"].endswith("Goodbye.")


def test_events_of_calls_are_pushed_without_words() -> None:
    with ServedPhone() as served:
        listener = served.open_socket()
        ask(listener, id=1, do="calls")
        call = served.phone.dial(MENU)
        assert read_pushes(listener, "ringing")[-1] == "ringing"
        served.phone.hear(call)
        assert read_pushes(listener, "speech")[-1] == "speech"
        served.phone.hang_up(call)
        assert read_pushes(listener, "ended")[-1] == "ended"
        served.phone.dial(BUSY)
        assert "ringing" in read_pushes(listener, "ringing")


def test_voicemails_are_read_and_a_waiting_message_is_pushed() -> None:
    mailbox = {"name": "main", "number": OWN, "greeting": "Leave a message."}
    with ServedPhone(mailboxes=[mailbox]) as served:
        client = served.open_socket()
        assert ask(client, id=1, do="voicemails")["result"]["voicemails"] == []
        call = served.phone.dial(OWN)
        served.phone.hear(call)
        served.phone.say(call, "Please call Ada.")
        served.phone.hang_up(call)
        assert "message_waiting" in read_pushes(client, "message_waiting")
        [listed] = ask(client, id=2, do="voicemails", unread=True)["result"]["voicemails"]
        read = ask(client, id=3, do="read_voicemail", voicemail=listed["id"])
        assert read["result"]["text"] == "Please call Ada."


@pytest.mark.parametrize(
    "message",
    [
        "not json",
        "[]",
        "null",
        "{}",
        '{"do": "fly"}',
        '{"do": ["dial"]}',
        '{"id": {"a": 1}, "do": "calls"}',
        '{"id": 5, "do": "dial"}',
        '{"id": 5, "do": "dial", "to": 7}',
        '{"id": 5, "do": "say", "call": "call-1", "text": "Hello"}',
        b"\xff\xfe",
    ],
)
def test_a_bad_message_is_answered_with_an_error_and_the_connection_stays(message: str | bytes) -> None:
    with ServedPhone() as served:
        client = served.open_socket()
        client.send(message)
        answer = read_answer(client)
        assert answer["error"]["message"]
        assert answer["id"] == (5 if '"id": 5' in str(message) else None)
        assert ask(client, id=2, do="calls") == {"id": 2, "result": {"calls": []}}


def test_a_message_with_the_id_of_a_call_and_of_a_voicemail_is_refused() -> None:
    with ServedPhone() as served:
        client = served.open_socket()
        call = ask(client, do="dial", to=MENU)["result"]["id"]
        answer = ask(client, id=2, do="hang_up", call=call, voicemail="voicemail-1")
        assert (answer["id"], answer["error"]["code"]) == (2, "bad_message")
        assert served.state.find_call(call).status == "ringing"


class ReadCounter(list[Any]):
    """A list that counts how many of its items are read."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(items)
        self.reads = 0

    def __getitem__(self, index: Any) -> Any:
        items = super().__getitem__(index)
        self.reads += len(items) if isinstance(index, slice) else 1
        return items

    def __iter__(self) -> Any:
        self.reads += len(self)
        return super().__iter__()

    def __contains__(self, item: object) -> bool:
        self.reads += len(self)
        return super().__contains__(item)


class PushList:
    """A session that keeps what is pushed."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def send(self, message: str) -> None:
        """Keep a message."""
        self.messages.append(orjson.loads(message))


def test_an_event_costs_the_same_in_a_long_call() -> None:
    """The socket of an agent looks only at what was said since the last event."""
    costs = []
    with OfficePhone() as phone:
        call = phone.find(phone.reach_menu())
        socket, session = VoiceSocket(), PushList()
        socket.on_open(cast(WebSocketSession, session))
        socket.on_event(FarEndSpoke.kind, phone.state)
        for repeats in (2, 40, 2):
            for _ in range(repeats):
                session.messages.clear()
                phone.act(call.id, "press", digits="*")
                counters = [ReadCounter(call.turns), ReadCounter(call.sounds), ReadCounter(phone.state.calls.changed)]
                call.turns, call.sounds, phone.state.calls.changed = counters
                socket.on_event(FarEndSpoke.kind, phone.state)
                costs.append([counter.reads for counter in counters])
                assert [message["event"] for message in session.messages] == ["speech"]
        assert len(call.turns) > 40
    assert costs[0] == costs[-1]
    assert sum(costs[0]) < 10
