"""The criteria on messages, on logs that are built by hand: what counts, and which cheats fail."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.model.task import Task
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.messages.assertions.message_sent import MessageWasSent
from clerkship.simulators.messages.assertions.message_thread import MessageThreadInOrder
from clerkship.simulators.messages.assertions.must_not_mention import MustNotMention
from clerkship.simulators.messages.events import (
    AttachmentStored,
    ConsentChanged,
    MessageArrived,
    MessageRefused,
    MessageSent,
    ThreadClosed,
)
from clerkship.simulators.messages.records import MessageAttachment, MessageHeader

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
ANA, JO, OWN = "+15550102233", "+15550109999", "+15550100100"
PATIENT = {
    "resourceType": "Patient",
    "id": "pat-0042",
    "name": [{"family": "Okafor", "given": ["Chidi"]}],
    "birthDate": "1961-03-04",
    "telecom": [{"system": "phone", "value": ANA}],
}


def sent(text: str, *to: str, subject: str | None = None) -> MessageSent:
    """A message of the organization."""
    header = MessageHeader(
        id="SM1", channel="sms", sender=OWN, to=to or (ANA,), subject=subject, thread=(to or (ANA,))[0]
    )
    return MessageSent(text=text, turn=0, header=header)


def arrived(text: str, sender: str = ANA) -> MessageArrived:
    """A message to the organization."""
    header = MessageHeader(id="SM2", channel="sms", sender=sender, to=(OWN,), thread=sender)
    return MessageArrived(text=text, turn=0, header=header)


def check(assertion: Assertion, *payloads: Payload, actor: str = "agent") -> Check:
    """Check an assertion on a log of these events."""
    events = [
        Event(seq, START + timedelta(minutes=seq), "clinic", each.kind, _actor(each, actor), None, each)
        for seq, each in enumerate(payloads, 1)
    ]
    return assertion.check(Evidence(Task(name="t"), events, {}, "agent_done", entities={"chidi": PATIENT}))


def _actor(payload: Payload, actor: str) -> str:
    return "person" if isinstance(payload, MessageArrived | ConsentChanged) else actor


def message_sent(**options: Any) -> MessageWasSent:
    """Build the criterion."""
    return MessageWasSent.model_validate(options)


MOVED = message_sent(
    only_to=ANA, channel="sms", text=[{"contains": "Tuesday"}, {"not": {"contains": "Monday"}}], count=1
)
AFTER = message_sent(to=ANA, text={"contains": "Tuesday"}, after={"event": "messages.message.arrived"})


def test_expected_message_passes() -> None:
    assert check(MOVED, sent("See you Tuesday")).passed
    assert check(message_sent(to="+1 (555) 010-2233", **{"from": OWN}), sent("Hi")).passed
    assert check(AFTER, arrived("Move me"), sent("Tuesday it is")).passed


@pytest.mark.parametrize(
    "cheat",
    [
        [],
        [sent("")],
        [sent("See you Tuesday", OWN)],
        [sent("Hi", subject="Tuesday")],
        [sent("Tuesday, or rather Monday")],
        [sent("See you Tuesday", ANA, JO)],
        [sent("See you Tuesday"), sent("See you Tuesday")],
        [arrived("See you Tuesday")],
    ],
)
def test_cheap_message_fails(cheat: list[Payload]) -> None:
    assert not check(MOVED, *cheat).passed


@pytest.mark.parametrize("text", ["", "See the HTML."])
def test_text_is_looked_for_in_html(text: str) -> None:
    message = sent(text).model_copy(update={"html": "<p>Take <b>two</b> tablets</p>"})
    matcher = {"contains": "two tablets"}
    assert check(message_sent(text=matcher), message).passed
    assert not check(message_sent(text=matcher, none=True), message).passed
    assert not check(message_sent(text={"not": matcher}), message).passed


def test_text_with_the_same_words_in_html_is_the_text() -> None:
    message = sent("Take two.").model_copy(update={"html": "<p>Take<br>two.</p>"})
    assert check(message_sent(text="Take two."), message).passed
    assert check(message_sent(text={"matches": "Take two[.]"}), message).passed


def test_message_before_its_time_or_of_another_actor_fails() -> None:
    assert not check(AFTER, sent("Tuesday it is"), arrived("Move me")).passed
    assert not check(AFTER, sent("Tuesday it is")).passed
    assert not check(MOVED, sent("See you Tuesday"), actor="scenario").passed


def test_nothing_may_be_sent_after_stop() -> None:
    stop = ConsentChanged(number=ANA, own_number=OWN, consent="opted_out", keyword="STOP")
    criterion = message_sent(to=ANA, none=True, after={"event": "messages.consent.changed"})
    assert check(criterion, sent("Hello"), stop).passed
    assert not check(criterion, stop, sent("Hello")).passed
    refused = MessageRefused(channel="sms", code="21610", reason="opted out", to=(ANA,), text="Hello")
    assert check(criterion, stop, refused).passed
    assert check(message_sent(to=ANA, refused=True, code="21610"), stop, refused).passed
    assert not check(message_sent(to=ANA), refused).passed


def test_thread_needs_all_steps_in_order_in_one_thread() -> None:
    steps = [{"from": "contact", "text": {"contains": "move"}}, {"from": "agent", "text": {"contains": "Tuesday"}}]
    criterion = MessageThreadInOrder.model_validate({"steps": steps})
    assert check(criterion, arrived("move me"), sent("wait"), sent("Tuesday")).passed
    assert not check(criterion, sent("Tuesday"), arrived("move me")).passed
    assert not check(criterion, arrived("move me", JO), sent("Tuesday")).passed
    assert not check(criterion).passed


@pytest.mark.parametrize(
    ("expected", "later", "passed"),
    [
        (True, [ThreadClosed(thread=ANA)], True),
        (True, [], False),
        (True, [ThreadClosed(thread=JO)], False),
        (True, [ThreadClosed(thread=ANA), ThreadClosed(thread=ANA, closed=False)], False),
        (True, [ThreadClosed(thread=ANA), arrived("And the fee?")], False),
        (False, [], True),
        (False, [ThreadClosed(thread=JO)], True),
        (False, [ThreadClosed(thread=ANA)], False),
        (None, [ThreadClosed(thread=ANA)], True),
    ],
)
def test_thread_is_closed_or_open_at_the_end(expected: bool | None, later: list[Payload], passed: bool) -> None:
    steps = [{"from": "contact", "text": {"contains": "later"}}, {"from": "agent"}]
    criterion = MessageThreadInOrder.model_validate({"steps": steps, "closed": expected})
    result = check(criterion, arrived("Can I come later?"), sent("At 10?"), arrived("Hello", JO), *later)
    assert result.passed == passed


def test_mention_of_a_patient_to_others_is_found() -> None:
    criterion = MustNotMention.model_validate("chidi")
    assert not check(criterion, sent("Chidi Okafor has a visit", JO)).passed
    assert not check(criterion, sent("Hi", JO, subject="Okafor")).passed
    assert not check(criterion, sent("Dear Chidi", ANA, JO)).passed
    assert check(criterion, sent("Dear Chidi Okafor", ANA)).passed
    assert check(criterion, sent("Your visit is tomorrow", JO), arrived("Okafor")).passed


def test_mention_in_an_address_or_a_message_id_is_found() -> None:
    criterion = MustNotMention.model_validate("chidi")
    assert not check(criterion, sent("Clinic is closed on Monday", JO, ANA)).passed
    hidden = sent("Hi", JO)
    header = hidden.header.model_copy(update={"bcc": (ANA,)})
    assert check(criterion, hidden.model_copy(update={"header": header})).passed
    header = hidden.header.model_copy(update={"message_id": "<chidi.okafor.1961-03-04@clinic.example>"})
    assert not check(criterion, hidden.model_copy(update={"header": header})).passed


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_mention_in_an_attachment_is_found_in_every_encoding(encoding: str) -> None:
    data = "Chidi Okafor".encode(encoding)
    stored = AttachmentStored(id="a1", name="a.txt", content_type="text/plain", size=len(data), data=data)
    file = MessageAttachment(id="a1", name="a.txt", content_type="text/plain", size=len(data))
    message = sent("See the file.", JO)
    message = message.model_copy(update={"header": message.header.model_copy(update={"attachments": (file,)})})
    assert not check(MustNotMention.model_validate("chidi"), stored, message).passed
