"""Voicemails: left by the agent and for the agent, over HTTP and by phone."""

from datetime import UTC, datetime
from typing import Any

import pytest

from clerkship.model.errors import InputError
from clerkship.playground.playground import replay
from clerkship.sandbox.request import Request
from clerkship.simulators.voice import mailboxes
from clerkship.simulators.voice.mailbox_tree import LOCKED
from clerkship.simulators.voice.steps.voicemail import LeaveVoicemailStep
from tests.simulators.voice.office_phone import ANSWERPHONE, OWN, OfficePhone

ACCESS = "+15550100199"
GREETING = "You have reached the night service of our office. We are closed now. Please leave a message."
MAILBOXES: list[dict[str, Any]] = [
    {"name": "main", "number": OWN, "access_number": ACCESS, "pin": "2580"},
    {"name": "night", "greeting": GREETING, "is_own": False},
]


@pytest.fixture
def phone() -> Any:
    with OfficePhone(mailboxes=MAILBOXES) as office:
        yield office


def leave(office: OfficePhone, text: str = "Please call me back.", **fields: Any) -> None:
    step = {"from": "+15550100123", "text": text} | ({} if {"mailbox", "to"} & fields.keys() else {"mailbox": "main"})
    LeaveVoicemailStep.model_validate(step | fields).run(office.rig.playground)


def test_a_step_leaves_a_voicemail_and_the_agent_is_told_that_a_message_waits(phone: OfficePhone) -> None:
    leave(phone)
    assert phone.kinds == ["voicemail.left", "message_waiting.changed"]
    listed = phone.get("/voicemails")
    assert listed["unread"] == {"main": 1}
    assert [message["from"] for message in listed["voicemails"]] == ["+15550100123"]
    assert "text" not in listed["voicemails"][0]


def test_reading_marks_a_voicemail_as_read_once(phone: OfficePhone) -> None:
    leave(phone)
    assert phone.get("/voicemails/voicemail-1")["text"] == "Please call me back."
    assert phone.get("/voicemails/voicemail-1")["read"] is True
    assert [change.change for change in phone.events("voicemail.changed")] == ["read"]
    assert [waiting.unread for waiting in phone.events("message_waiting.changed")] == [1, 0]


def test_a_voicemail_is_marked_as_unread_and_deleted(phone: OfficePhone) -> None:
    leave(phone)
    phone.get("/voicemails/voicemail-1")
    assert phone.post("/voicemails/voicemail-1", read=False)["read"] is False
    assert phone.get("/voicemails", unread="true")["unread"] == {"main": 1}
    assert phone.rig.send(Request("DELETE", "/voicemails/voicemail-1")).status == 200
    assert phone.get("/voicemails") == {"voicemails": [], "unread": {"main": 0}}
    assert phone.rig.send(Request("DELETE", "/voicemails/voicemail-1")).status == 404
    assert [waiting.unread for waiting in phone.events("message_waiting.changed")] == [1, 0, 1, 0]


def test_mailboxes_of_others_cannot_be_read(phone: OfficePhone) -> None:
    leave(phone, mailbox="night")
    assert phone.get("/voicemails") == {"voicemails": [], "unread": {"main": 0}}
    for request in (
        Request("GET", "/voicemails", {"mailbox": "night"}),
        Request("GET", "/voicemails/voicemail-1"),
        Request("DELETE", "/voicemails/voicemail-1"),
    ):
        assert phone.rig.send(request).status == 404
    assert phone.events("voicemail.changed") == []


def test_voicemails_are_listed_by_time_in_pages(phone: OfficePhone) -> None:
    leave(phone, "The second.")
    leave(phone, "The first.", received="2026-01-02T08:00:00Z")
    leave(phone, "The third.")
    page = phone.get("/voicemails", count="2")
    assert [message["id"] for message in page["voicemails"]] == ["voicemail-2", "voicemail-1"]
    rest = phone.get("/voicemails", count="2", after=page["next"])
    assert [message["id"] for message in rest["voicemails"]] == ["voicemail-3"]
    assert "next" not in rest
    assert phone.state.mailboxes.messages["voicemail-2"].received_at == datetime(2026, 1, 2, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"mailbox": "attic"}, "there is no mailbox 'attic' (expected: main, night)"),
        ({"to": "+15550100777"}, "the number +15550100777 has no mailbox"),
        ({"received": "2030-01-01T00:00:00Z"}, "`received` is in the future"),
        ({"from": "Ana"}, "'Ana' is not a phone number"),
        ({"text": "\x00"}, "character U+0000 at 0 cannot be said"),
    ],
)
def test_a_step_that_leaves_a_voicemail_nowhere_is_an_input_error(
    phone: OfficePhone, fields: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError) as raised:
        leave(phone, **fields)
    assert problem in str(raised.value)
    assert phone.kinds == []


def test_a_step_finds_the_mailbox_of_a_number(phone: OfficePhone) -> None:
    leave(phone, to=OWN)
    leave(phone, to=ANSWERPHONE)
    assert [left.mailbox for left in phone.events("voicemail.left")] == ["main", "night"]


def test_what_is_said_after_the_beep_is_the_message(phone: OfficePhone) -> None:
    call = phone.dial(ANSWERPHONE)
    heard = phone.hear(call)
    assert [part.get("text") or part["sound"] for part in heard] == [GREETING, "beep"]
    phone.act(call, "say", text="This is the clinic.")
    phone.act(call, "say", text="Please call us.")
    phone.act(call, "hang-up")
    [left] = phone.events("voicemail.left")
    assert (left.text, left.before_beep, left.call) == ("This is the clinic. Please call us.", "", call)


def test_what_is_said_before_the_beep_is_lost(phone: OfficePhone) -> None:
    call = phone.dial(ANSWERPHONE)
    phone.hear(call, 21)
    phone.act(call, "say", text="Hi.")
    phone.hear(call)
    phone.act(call, "say", text="Please call us.")
    phone.act(call, "hang-up")
    [left] = phone.events("voicemail.left")
    assert (left.text, left.before_beep) == ("Please call us.", "Hi.")


def test_words_that_go_on_during_the_beep_are_split_there(phone: OfficePhone) -> None:
    call = phone.dial(ANSWERPHONE)
    phone.hear(call, 21)
    phone.act(
        call,
        "say",
        text="This is the clinic. We have news about your last visit, and we would like you to call us back today.",
    )
    phone.act(call, "hang-up")
    [left] = phone.events("voicemail.left")
    assert left.before_beep.startswith("This is")
    assert left.text.endswith("call us back today.")
    assert (
        f"{left.before_beep} {left.text}"
        == "This is the clinic. We have news about your last visit, and we would like you to call us back today."
    )


def test_hanging_up_before_the_beep_or_without_a_word_leaves_no_message(phone: OfficePhone) -> None:
    early = phone.dial(ANSWERPHONE)
    phone.hear(early, 21)
    phone.act(early, "say", text="Hi.")
    phone.act(early, "hang-up")
    silent = phone.dial(ANSWERPHONE)
    phone.hear(silent)
    phone.act(silent, "hang-up")
    assert phone.events("voicemail.left") == []


def test_the_agent_listens_to_its_mailbox_by_phone(phone: OfficePhone) -> None:
    leave(phone)
    call = phone.dial(ACCESS)
    assert phone.listen(call).startswith("Please enter your PIN")
    phone.act(call, "press", digits="2580#")
    heard = phone.listen(call)
    assert "Message one, from 1 5 5 5 0 1 0 0 1 2 3" in heard
    assert "Please call me back." in heard
    assert [(change.change, change.call) for change in phone.events("voicemail.changed")] == [("read", call)]
    phone.act(call, "press", digits="7")
    assert "no more messages" in phone.listen(call)
    assert phone.find(call).outcome == "completed"
    assert phone.get("/voicemails")["voicemails"] == []
    assert phone.find(call).ended_by == "line"


def test_a_wrong_pin_opens_no_mailbox(phone: OfficePhone) -> None:
    leave(phone)
    call = phone.dial(ACCESS)
    phone.hear(call)
    for _ in range(3):
        phone.act(call, "press", digits="0000#")
        heard = phone.listen(call)
    assert heard.endswith("Goodbye.")
    assert phone.find(call).status == "ended"
    assert phone.find(call).reprompts == 3
    assert phone.events("voicemail.changed") == []


def guess_pins(phone: OfficePhone, *pins: str) -> str:
    """Call the mailbox and enter PINs; return what was heard last."""
    call = phone.dial(ACCESS)
    heard = phone.listen(call)
    for pin in pins:
        phone.act(call, "press", digits=f"{pin}#")
        heard = phone.listen(call)
    if phone.find(call).status != "ended":
        phone.act(call, "hang-up")
    return heard


def test_wrong_pins_in_several_calls_lock_the_mailbox_for_calls_only(phone: OfficePhone) -> None:
    leave(phone)
    for n in range(2):
        assert guess_pins(phone, *(f"{n}00{guess}" for guess in range(3))).endswith("That PIN is not correct. Goodbye.")
    assert LOCKED in guess_pins(phone, "2000", "2001", "2002")
    assert guess_pins(phone) == f"{LOCKED} Goodbye."
    entered = phone.events("mailbox.pin_entered")
    assert [(each.is_right, each.is_locked) for each in entered] == [(False, False)] * 8 + [(False, True)]
    [message] = phone.get("/voicemails")["voicemails"]
    assert phone.get(f"/voicemails/{message['id']}")["text"] == "Please call me back."
    playground = phone.rig.playground
    prepared = {name: sandbox.prepared for name, sandbox in playground.sandboxes.items()}
    copy = replay(prepared, playground.log.events)[phone.rig.name]
    assert copy.dump() == phone.state.dump()
    assert copy.dump()["locked_mailboxes"] == ["main"]


def test_a_right_pin_lets_wrong_pins_be_counted_anew(phone: OfficePhone) -> None:
    leave(phone)
    for _ in range(3):
        assert "Please call me back." in guess_pins(phone, "0000", "0001", "2580")
        guess_pins(phone, "0000", "0001", "0002")
    assert not any(entered.is_locked for entered in phone.events("mailbox.pin_entered"))


def test_a_call_that_has_not_entered_its_pin_finds_the_mailbox_locked(phone: OfficePhone) -> None:
    waiting = phone.dial(ACCESS)
    phone.hear(waiting)
    phone.act(waiting, "press", digits="2")
    for _ in range(3):
        call = phone.dial(ACCESS)
        phone.hear(call)
        phone.act(call, "press", digits="0000#0001#0002#")
        phone.act(call, "hang-up")
    phone.act(waiting, "press", digits="580#")
    assert LOCKED in phone.listen(waiting)


def test_a_message_left_by_phone_waits_in_the_own_mailbox(phone: OfficePhone) -> None:
    call = phone.dial(OWN)
    phone.hear(call)
    phone.act(call, "say", text="A note to ourselves.")
    phone.act(call, "hang-up")
    assert phone.get("/voicemails")["unread"] == {"main": 1}


def test_voicemails_follow_from_the_log(phone: OfficePhone) -> None:
    leave(phone)
    call = phone.dial(ACCESS)
    phone.hear(call)
    phone.act(call, "press", digits="2580")
    phone.hear(call, 3)
    playground = phone.rig.playground
    prepared = {name: sandbox.prepared for name, sandbox in playground.sandboxes.items()}
    copy = replay(prepared, playground.log.events)[phone.rig.name]
    assert copy.dump() == phone.state.dump()
    assert copy.next_due() == phone.state.next_due()


def test_a_call_to_a_full_mailbox_ends_and_says_that_the_message_is_lost(
    phone: OfficePhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailboxes, "MAX_VOICEMAILS", 0)
    calls = [phone.dial(ANSWERPHONE) for _ in range(2)]
    for call in calls:
        phone.hear(call)
        phone.act(call, "say", text="Please call back.")
    phone.act(calls[0], "hang-up")
    phone.wait(30)
    assert [phone.find(call).status for call in calls] == ["ended"] * 2
    assert ["the message is lost" in ended.reason for ended in phone.events("call.ended")] == [True] * 2
    assert not phone.events("voicemail.left")
