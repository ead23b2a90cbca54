"""Calls to the agent: they are answered, rejected, taken by a mailbox, or end without an answer."""

from collections.abc import Iterator
from typing import Any

import pytest

from clerkship.model.errors import InputError
from clerkship.playground.playground import replay
from clerkship.simulators.voice.steps.call import CallAgent
from tests.simulators.voice.office_phone import OWN, OfficePhone

ANA = "+15550100001"
MAILBOXES: list[dict[str, Any]] = [{"name": "main", "number": OWN, "greeting": "Please leave a message."}]
LINES = ["This is Ana Rivera.", "I need my results.", "Thank you."]


@pytest.fixture
def phone() -> Iterator[OfficePhone]:
    with OfficePhone(mailboxes=MAILBOXES) as office:
        yield office


def ring(office: OfficePhone, **fields: Any) -> str:
    """Let Ana call; return the id of the call."""
    step = {"from": ANA, "says": LINES} | fields
    CallAgent.model_validate(step).run(office.rig.playground)
    return list(office.state.calls.by_id)[-1]


def test_a_call_rings_and_is_answered(phone: OfficePhone) -> None:
    call = ring(phone)
    assert phone.get("/")["ringing"] == [call]
    answered = phone.act(call, "answer")
    assert (answered["status"], answered["direction"], answered["from"]) == ("connected", "inbound", ANA)
    assert phone.find(call).far_end == ANA


def test_a_caller_says_one_line_after_each_thing_and_hangs_up_at_the_end(phone: OfficePhone) -> None:
    call = ring(phone)
    phone.act(call, "answer")
    heard = []
    for words in ("Lakeside Clinic.", "How can I help?", "Of course.", "Goodbye."):
        phone.act(call, "say", text=words)
        heard.append(phone.listen(call))
    assert heard == [*LINES, ""]
    record = phone.find(call)
    assert (record.status, record.ended_by, record.outcome) == ("ended", "person", "completed")
    assert [turn.speaker for turn in record.turns if turn.text in LINES] == ["person"] * 3


def test_a_caller_speaks_first_if_the_agent_is_silent_and_then_gives_up(phone: OfficePhone) -> None:
    call = ring(phone)
    phone.act(call, "answer")
    assert phone.listen(call) == LINES[0]
    assert phone.listen(call) == "Hello? Are you there?"
    phone.wait(120)
    record = phone.find(call)
    assert (record.status, record.ended_by) == ("ended", "person")
    assert LINES[1] not in [turn.text for turn in record.turns]


def test_a_caller_whom_the_agent_interrupts_goes_on_with_the_next_line(phone: OfficePhone) -> None:
    call = ring(phone, says=["This is a very long sentence that nobody will ever listen to until its end", "Yes."])
    phone.act(call, "answer")
    phone.hear(call, 3)
    phone.act(call, "say", text="Is this Ana?")
    assert phone.listen(call).endswith("Yes.")
    assert len(phone.events("speech.cut")) == 1


def test_a_rejected_call_ends(phone: OfficePhone) -> None:
    call = ring(phone, voicemail="Call me.")
    phone.act(call, "reject")
    assert phone.find(call).outcome == "rejected"
    phone.wait(120)
    assert phone.events("voicemail.left") == []
    assert phone.refusal(call, "answer") == "call_ended"


def test_an_unanswered_call_leaves_a_message_after_the_greeting_and_the_beep(phone: OfficePhone) -> None:
    call = ring(phone, voicemail="Please call me back.")
    phone.wait(24)
    assert phone.find(call).status == "ringing"
    phone.wait(20)
    assert [kind for kind in phone.kinds if kind not in ("session.changed", "step.ran")] == [
        "call.started",
        "beep.played",
        "voicemail.left",
        "message_waiting.changed",
        "call.ended",
    ]
    [left] = phone.events("voicemail.left")
    assert (left.mailbox, left.from_number, left.text, left.call) == ("main", ANA, "Please call me back.", call)
    record = phone.find(call)
    assert (record.outcome, record.ended_by, record.answered_at) == ("no_answer", "person", None)


def test_a_call_that_the_mailbox_has_taken_cannot_be_answered(phone: OfficePhone) -> None:
    call = ring(phone, voicemail="Please call me back.")
    phone.wait(26)
    assert phone.find(call).status == "ringing"
    assert phone.refusal(call, "answer") == "not_ringing"
    assert phone.get("/")["ringing"] == []


def test_a_caller_without_a_message_hangs_up(phone: OfficePhone) -> None:
    call = ring(phone)
    phone.wait(60)
    assert (phone.find(call).outcome, phone.events("voicemail.left")) == ("no_answer", [])


def test_a_call_to_a_number_without_a_mailbox_is_not_answered() -> None:
    with OfficePhone(mailboxes=[], lines=[]) as phone:
        call = ring(phone, voicemail="Please call me back.")
        phone.wait(60)
        assert (phone.find(call).outcome, phone.events("voicemail.left")) == ("no_answer", [])


def test_other_calls_go_on_while_one_rings(phone: OfficePhone) -> None:
    menu = phone.reach_menu()
    call = ring(phone)
    phone.act(menu, "press", digits="2")
    assert "claims office is closed" in phone.listen(menu)
    phone.act(call, "answer")
    phone.act(call, "say", text="Hello.")
    assert phone.listen(call) == LINES[0]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"to": "+15550100999"}, "+15550100999 is not a number of the organization"),
        ({"from": None, "says": [], "person": "Ana"}, "no person named 'Ana' can be reached by phone"),
        ({"says": ["..."]}, "there is nothing to say"),
    ],
)
def test_a_call_that_cannot_ring_is_an_input_error(phone: OfficePhone, fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as raised:
        ring(phone, **fields)
    assert problem in str(raised.value)
    assert phone.kinds == []


@pytest.mark.parametrize(
    "fields", [{}, {"says": ["Hi."]}, {"person": "Ana", "says": ["Hi."]}, {"person": "Ana", "from": ANA}]
)
def test_a_call_needs_one_kind_of_caller(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected either|missing|no effect"):
        CallAgent.model_validate(fields)


def test_incoming_calls_follow_from_the_log(phone: OfficePhone) -> None:
    ring(phone, voicemail="Please call me back.")
    taken = ring(phone)
    phone.act(taken, "answer")
    phone.act(taken, "say", text="Hello.")
    for seconds in (1, 3, 20, 4, 10):
        phone.wait(seconds)
        playground = phone.rig.playground
        prepared = {name: sandbox.prepared for name, sandbox in playground.sandboxes.items()}
        copy = replay(prepared, playground.log.events)[phone.rig.name]
        assert (copy.dump(), copy.next_due()) == (phone.state.dump(), phone.state.next_due())
