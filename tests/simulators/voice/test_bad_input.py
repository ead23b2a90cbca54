"""Agents that do what no caller should: bounded, logged, and without harm to other calls."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from clerkship.formats.phone_tree.step_draft import MAX_TYPED_AHEAD
from clerkship.simulators.voice.checks import MAX_DIGITS
from clerkship.simulators.voice.dialling import Caller, ring_agent
from clerkship.simulators.voice.state import VoiceState
from tests.choices import mark_slow_after
from tests.simulators.voice.office_phone import ANSWERPHONE, LINES, MAILBOXES, MENU, MENU_PROMPT, TREE, OfficePhone
from tests.simulators.voice.served_phone import ServedPhone
from tests.simulators.voice.test_websocket import ask
from tests.waiting import processor_limit

LONG = 100_000
REPRESENTATIVE, CODE = "+15550100301", "+15550100302"
FAR_ENDS: list[dict[str, Any]] = [
    *LINES,
    {
        "number": REPRESENTATIVE,
        "name": "Representative",
        "representatives": {
            "rita": {
                "name": "Rita",
                "greeting": "This is Rita.",
                "verify": {"name": "Your name?", "birth_date": "Your date of birth?", "phone": "Your number?"},
                "verify_hook": "chart.find_patient",
                "answers": [{"asks": ["opening hours", "when do you close"], "says": "At five."}],
            }
        },
    },
    {
        "number": CODE,
        "name": "Code",
        "tree": {
            "name": "code",
            "start": "ask",
            "nodes": {
                "ask": {
                    "type": "collect",
                    "prompt": "Say your code.",
                    "variable": "code",
                    "format": "letters_and_digits",
                    "confirm": True,
                    "next": "done",
                },
                "done": {"type": "end", "prompt": "Thank you for {code|letters}."},
            },
        },
    },
]
WORDS = {
    "words": "word ",
    "digits": "4 ",
    "one word": "x",
    "letters": "C as in Charlie ",
    "dates": "March 2, 1985, no, ",
    "denials": "not ",
    "signs": ",.;!? a",
    "spaces": "a          ",
}


def is_untouched(phone: OfficePhone, call: str) -> bool:
    """Return whether a call that waited at the menu still understands a choice."""
    phone.act(call, "press", digits="1")
    return "Enter your account number" in phone.listen(call)


def test_keys_faster_than_prompts_are_kept_up_to_a_limit() -> None:
    with OfficePhone() as phone, processor_limit():
        other, call = phone.reach_menu(), phone.dial()
        phone.hear(call, 4.5)  # the welcome plays, which cannot be interrupted
        for _ in range(20):
            phone.act(call, "press", digits="*" * MAX_DIGITS)
            session = phone.find(call).session
            assert session is None or len(getattr(session, "digits", "")) <= MAX_TYPED_AHEAD
        assert len(phone.events("digits.sent")) == 20
        assert phone.find(call).status == "connected"
        assert is_untouched(phone, other)


@pytest.mark.parametrize("number", [MENU, ANSWERPHONE, REPRESENTATIVE, CODE])
@pytest.mark.parametrize("kind", mark_slow_after(2, WORDS))
def test_a_hundred_thousand_characters_are_heard_in_bounded_time(number: str, kind: str) -> None:
    text = (WORDS[kind] * LONG)[:LONG]
    with OfficePhone(lines=FAR_ENDS, max_text=LONG, max_call_length="30m") as phone, processor_limit():
        call = phone.dial(number)
        phone.hear(call)
        phone.act(call, "say", text=text)
        assert phone.act(call, "wait", seconds=7_200)["status"] == "ended"
        assert phone.find(call).outcome in ("completed", "dropped")
        assert is_untouched(phone, phone.reach_menu())


def test_too_much_speech_and_control_characters_are_refused_and_logged() -> None:
    with OfficePhone() as phone:
        other, call = phone.reach_menu(), phone.reach_menu()
        for text in ("word " * (LONG // 5), "a\x00b", "\x1b[2J", "a\u2028b", "\x9b31m", "a\x7f"):
            assert phone.refusal(call, "say", text=text) in ("too_long", "bad_text")
        for keys in ("1\n", "\x00", "\u0661", "1 2", "1" * LONG):
            assert phone.refusal(call, "press", digits=keys) == "bad_digits"
        assert phone.post("/calls", to="\x00" * LONG)["error"]["code"] == "bad_number"
        assert not {"agent.spoke", "digits.sent"} & set(phone.kinds)
        assert len(phone.state.calls.by_id) == 2
        assert phone.kinds.count("sandbox.refused") == 12
        assert [len(event.to_number) for event in phone.events("call.refused")] == [40]
        assert is_untouched(phone, other)


@pytest.mark.parametrize("number", [MENU, ANSWERPHONE, REPRESENTATIVE, CODE])
def test_a_far_end_hangs_up_on_an_agent_that_never_speaks(number: str) -> None:
    with OfficePhone(lines=FAR_ENDS, max_call_length="30m") as phone:
        result = phone.act(phone.dial(number), "wait", seconds=600)
        assert (result["status"], result["outcome"]) == ("ended", "completed")


@pytest.mark.parametrize("answers", [True, False])
def test_a_caller_does_not_wait_for_ever(answers: bool) -> None:
    with OfficePhone(mailboxes=[*MAILBOXES, {"name": "main", "number": "+15550100100"}]) as phone:
        state, action = phone.rig.playground.state(VoiceState, None)
        ring_agent(state, action, "+15550100001", None, Caller(("This is Ana.", "Are you there?"), "Call me."))
        [call] = phone.get("/")["ringing"]
        if answers:
            phone.act(call, "answer")
        phone.wait(600)
        assert phone.find(call).status == "ended"
        assert [message["from"] for message in phone.get("/voicemails")["voicemails"]] == (
            [] if answers else ["+15550100001"]
        )


def test_lines_that_transfer_to_the_own_number_end_the_call() -> None:
    tree = {"name": "back", "start": "go", "nodes": {"go": {"type": "transfer", "number": "+15550100100"}}}
    line = {"number": "+15550100401", "name": "Back", "tree": tree}
    with OfficePhone(lines=[*LINES, line]) as phone:
        other = phone.reach_menu()
        assert phone.act(phone.dial("+15550100401"), "wait", seconds=60)["outcome"] == "busy"
        phone.act(other, "press", digits="*")
        assert phone.listen(other).endswith(MENU_PROMPT)


@contextmanager
def open_stalled_socket(served: ServedPhone) -> Iterator[socket.socket]:
    """Open a WebSocket with a small buffer whose client reads nothing after the handshake."""
    place = urlsplit(served.phone.url)
    lines = [
        f"GET {place.path}/socket HTTP/1.1",
        "Host: x",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        f"Authorization: Bearer {served.phone.token}",
    ]
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.settimeout(20)
        client.connect((place.hostname, place.port))
        client.sendall("\r\n".join([*lines, "", ""]).encode())
        assert client.recv(12) == b"HTTP/1.1 101"
        yield client


def frame(**fields: Any) -> bytes:
    """Return a masked text frame of a short message; the mask is zero."""
    body = orjson.dumps(fields)
    assert len(body) < 126
    return bytes([0x81, 0x80 | len(body)]) + bytes(4) + body


def test_a_socket_that_does_not_read_stops_no_call_and_no_other_socket() -> None:
    # Each request takes simulated time, also those of the stalled client: a patient menu waits meanwhile.
    tree = {**TREE, "nodes": {**TREE["nodes"], "main": {**TREE["nodes"]["main"], "timeout": "1h"}}}
    with (
        ServedPhone(lines=[{"number": MENU, "name": "Office", "tree": tree}, LINES[-1]]) as served,
        open_stalled_socket(served) as client,
    ):
        phone = served.phone
        for _ in range(30):  # so that a list of calls is long
            phone.hang_up(phone.dial(MENU))
        client.setblocking(False)
        with suppress(BlockingIOError):  # the sandbox stops reading from it as well
            while True:
                client.send(frame(id=1, do="calls") * 200)
        call = phone.dial(MENU)["id"]
        assert MENU_PROMPT in phone.listen(call)
        reader = served.open_socket()
        reader.send(orjson.dumps({"id": 2, "do": "press", "call": call, "digits": "2"}).decode())
        answers = [orjson.loads(reader.recv(timeout=20))]
        while answers[-1].get("id") != 2:
            answers.append(orjson.loads(reader.recv(timeout=20)))
        assert answers[-1].get("result", answers[-1])["id"] == call
        assert "closed today" in phone.listen(call)
        assert served.playground.broken is None


@pytest.mark.parametrize("seconds", [True, False, "5", "five", None, [5], {"value": 5}, 0, -1, 7_201])
@pytest.mark.parametrize("verb", ["hear", "wait"])
def test_seconds_that_are_no_number_in_range_are_refused_and_no_time_passes(verb: str, seconds: Any) -> None:
    with OfficePhone() as phone:
        call = phone.reach_menu()
        before = phone.state.dump()
        error = phone.act(call, verb, seconds=seconds)["error"]
        assert (error["code"], "seconds" in error["message"]) == ("invalid_input", True)
        assert phone.state.dump() == before
        assert phone.act(call, verb, seconds=5)["status"] == "connected"
        assert phone.act(call, verb, seconds=2.5)["status"] == "connected"


def test_numbers_over_a_websocket_are_no_flags_and_no_text() -> None:
    with ServedPhone() as served:
        client = served.open_socket()
        call = ask(client, do="dial", to=MENU)["result"]["id"]
        for command in ("hear", "wait"):
            for seconds in (True, "5", None):
                error = ask(client, do=command, call=call, seconds=seconds)["error"]
                assert "seconds" in error["message"]
        for command in ("calls", "voicemails"):
            assert "count" in ask(client, do=command, count=True)["error"]["message"]
            assert "result" in ask(client, do=command, count=1)


class UnsearchableList(list[Any]):
    """A list whose parts can be used by their place, but that cannot be searched from either end."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("all parts were looked at")

    __reversed__ = __iter__


def test_requests_in_a_call_do_not_look_at_all_of_its_turns_and_holds() -> None:
    with OfficePhone() as phone:
        call = phone.reach_menu()
        for _ in range(3):
            phone.act(call, "hold")
            phone.act(call, "resume")
        record = phone.find(call)
        record.turns, record.holds = UnsearchableList(record.turns), UnsearchableList(record.holds)
        phone.act(call, "press", digits="*")
        phone.act(call, "press", digits="*")  # cuts the prompt
        assert phone.listen(call).endswith(MENU_PROMPT)
        phone.act(call, "say", text="billing")
        assert "account number" in phone.listen(call)
        phone.act(call, "hold")
        phone.act(call, "hang-up")
        assert record.status == "ended"
