"""Threads, whatever is sent, arrives, is read and is closed: every message is in one, and counts are right."""

from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clerkship.sandbox.request import Refusal
from clerkship.simulators.messages.mailbox import normalize_subject
from clerkship.simulators.messages.outgoing import IncomingMessage, OutgoingMessage
from clerkship.simulators.messages.state import MessagesState
from tests.examples import examples
from tests.simulators.messages.desk import OWN, FrontDesk

SECOND = "+15550100101"
NUMBERS = ("+15555550142", "(555) 555-0142", "+15555550171", "+15555559999")
EMAILS = ("ana@mail.example", "ANA@mail.example", "eve@else.example")
SUBJECTS = ("Visit", "RE: visit", "Fwd: Re[2]:  VISIT", "Bill", "", None)
MESSAGES = st.one_of(
    st.fixed_dictionaries(
        {"channel": st.just("sms"), "other": st.sampled_from(NUMBERS), "own": st.sampled_from((OWN, SECOND))}
    ),
    st.fixed_dictionaries(
        {"channel": st.just("email"), "other": st.sampled_from(EMAILS), "subject": st.sampled_from(SUBJECTS)}
    ),
    st.fixed_dictionaries({"channel": st.just("portal"), "other": st.just("Patient/ada")}),
)
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(("send", "receive", "send", "receive", "answer", "read", "unread", "close", "wait")),
        MESSAGES,
        st.integers(0, 30),
    ),
    max_size=25,
)


def act(desk: FrontDesk, kind: str, fields: dict[str, Any], place: int) -> None:
    """Do one action; those that name a message choose one of those that exist."""
    state, action = desk.rig.playground.state(MessagesState, None)
    own = (fields["own"],) if "own" in fields else ()
    common = {"channel": fields["channel"], "subject": fields.get("subject"), "text": "Hello"}
    if kind == "send":
        state.send(action, OutgoingMessage(to=(fields["other"],), sender="".join(own), **common))
    elif kind == "receive":
        state.receive(action, IncomingMessage(sender=fields["other"], to=own, **common))
    elif kind == "wait":
        desk.wait(place)
    elif state.messages:
        record = state.mailbox.in_order[place % len(state.messages)]
        if kind == "answer":
            state.send(action, OutgoingMessage(channel=record.header.channel, text="Thanks", in_reply_to=record.id))
        elif kind == "close":
            state.close_thread(action, record.header.thread)
        else:
            state.mark_read(action, record.id, unread=kind == "unread")


def check_threads(state: MessagesState) -> None:
    """Check what holds after each action."""
    listed = [number for thread in state.threads.values() for number in thread.messages]
    assert sorted(listed) == [record.number for record in state.mailbox.in_order]
    for thread in state.threads.values():
        records = [state.mailbox.in_order[number - 1] for number in thread.messages]
        assert thread.messages == sorted(thread.messages)
        assert {record.header.thread for record in records} == {thread.id}
        assert {record.header.channel for record in records} == {thread.channel}
        assert thread.unread == sum(record.unread for record in records)
        assert set(thread.correspondents) == {other for record in records for other in record.correspondents}
    latest = [thread.messages[-1] for thread in state.mailbox.list_threads()]
    assert latest == sorted(latest, reverse=True), "the thread with the latest message comes first"
    assert state.mailbox.unread == sum(record.unread for record in state.mailbox.in_order)


def check_keys(state: MessagesState) -> None:
    """Check that text messages of two numbers are one thread, and that an answer is in the thread of its message."""
    pairs: dict[tuple[str, str], set[str]] = {}
    for record in state.mailbox.in_order:
        header = record.header
        if header.channel == "sms":
            own, other = (header.to[0], header.sender) if record.is_inbound else (header.sender, header.to[0])
            pairs.setdefault((own, other), set()).add(header.thread)
        if header.in_reply_to is not None and header.channel != "sms":
            assert header.thread == state.messages[header.in_reply_to].header.thread
    assert all(len(threads) == 1 for threads in pairs.values())
    assert len({thread for threads in pairs.values() for thread in threads}) == len(pairs)


@given(ACTIONS)
@settings(deadline=None, max_examples=examples(80), suppress_health_check=[HealthCheck.too_slow])
def test_threads_stay_consistent(actions: list[tuple[str, dict[str, Any], int]]) -> None:
    with FrontDesk(numbers=[OWN, SECOND]) as desk:
        for kind, fields, place in actions:
            with suppress(Refusal):
                act(desk, kind, fields, place)
            check_threads(desk.state)
        check_keys(desk.state)
        copy = desk.rig.playground.build_copy(desk.rig.playground.log.events)
        assert copy.sandboxes[desk.rig.name].state.dump() == desk.state.dump(), "a replay gives the same threads"


@given(ACTIONS, st.integers(1, 7))
@settings(deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
def test_pages_show_every_thread_and_message_once(actions: list[tuple[str, dict[str, Any], int]], count: int) -> None:
    with FrontDesk(numbers=[OWN, SECOND]) as desk:
        for kind, fields, place in actions:
            with suppress(Refusal):
                act(desk, kind, fields, place)
        desk.wait(3600)  # requests take time, in which bounces would arrive
        for name, ids in (
            ("threads", [thread.id for thread in desk.state.mailbox.list_threads()]),
            ("messages", list(desk.state.messages)),
        ):
            listed: list[str] = []
            page = desk.get(f"/{name}", count=str(count))
            while True:
                listed += [entry["id"] for entry in page[name]]
                if "next" not in page:
                    break
                page = desk.get(f"/{name}", count=str(count), after=page["next"])
            assert listed == ids
        assert desk.get("/")["unread"] == sum(record.unread for record in desk.state.messages.values())


@given(st.text(max_size=60), st.lists(st.sampled_from(("Re: ", "RE[3]: ", " fwd:", "AW: ")), max_size=4))
def test_subject_is_the_same_after_any_number_of_reply_prefixes(subject: str, prefixes: list[str]) -> None:
    plain = normalize_subject(subject)
    assert normalize_subject("".join(prefixes) + plain) == normalize_subject(plain)
