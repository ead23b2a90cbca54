"""Many messages and many patients: the cost of a request does not grow with them, and their number is limited."""

from dataclasses import replace
from functools import partial

import orjson
import pytest

from clerkship.model.dataset import Dataset
from clerkship.sandbox.request import Request
from clerkship.simulators.messages.config import DEFAULT_ACCOUNT_SID, MessagesConfig
from clerkship.simulators.messages.contacts import PatientContacts
from clerkship.simulators.messages.outgoing import IncomingMessage, OutgoingMessage
from clerkship.simulators.messages.state import MessagesState
from clerkship.simulators.messages.twilio.form import FORM
from tests.call_count import count_lines, measure_alone
from tests.simulators.messages.desk import ANA, OWN, FrontDesk
from tests.waiting import processor_limit

FLOOD = 10_000
FEW = 200
ACCOUNT = f"/2010-04-01/Accounts/{DEFAULT_ACCOUNT_SID}"
REQUESTS = {
    "send": Request("POST", "/messages", {}, {}, orjson.dumps({"channel": "sms", "to": [ANA], "text": "x"})),
    "send by Twilio": Request(
        "POST", f"{ACCOUNT}/Messages.json", {}, {"content-type": FORM}, b"To=%2B15555550142&From=%2B15550100100&Body=x"
    ),
    "organization": Request("GET", "/"),
    "messages": Request("GET", "/messages", {"count": "10"}),
    "unread": Request("GET", "/messages", {"count": "10", "unread": "true"}),
    "last messages": Request("GET", "/messages", {"count": "10", "after": "LAST"}),
    "of an address": Request("GET", "/messages", {"count": "10", "address": "+15550000007"}),
    "threads": Request("GET", "/threads", {"count": "10"}),
    "last threads": Request("GET", "/threads", {"count": "10", "after": "THREAD"}),
    "Twilio's list": Request("GET", f"{ACCOUNT}/Messages.json", {"PageSize": "10"}),
    "Twilio's last page": Request("GET", f"{ACCOUNT}/Messages.json", {"PageSize": "10", "PageToken": "PALAST"}),
    "Twilio's list of a number": Request("GET", f"{ACCOUNT}/Messages.json", {"To": "+15550000007"}),
}


def fill(desk: FrontDesk, count: int) -> None:
    """Let messages be sent and arrive, each with another number."""
    state, action = desk.rig.playground.state(MessagesState, None)
    for number in range(count // 2):
        address = f"+1555{number:07d}"
        state.send(action, OutgoingMessage(channel="sms", to=(address,), text="Hello"), in_past=True)
        state.receive(action, IncomingMessage(channel="sms", sender=address, text="Hi"))


def measure_requests() -> list[int]:
    """Return the lines that each request takes with few messages, and then those with many."""
    counts = []
    for count in (FEW, FLOOD):
        with FrontDesk() as desk:
            fill(desk, count)
            last = next(record for record in desk.state.mailbox.in_order[20:] if not record.is_inbound)
            names = {"LAST": last.id, "PALAST": f"PA{last.id}", "THREAD": last.header.thread}
            for request in REQUESTS.values():
                query = {name: names.get(value, value) for name, value in request.query.items()}
                sent = partial(desk.rig.send, replace(request, query=query))
                counts.append(count_lines(sent))
    return counts


@pytest.mark.slow
def test_requests_cost_the_same_with_many_messages_as_with_few() -> None:
    counts = measure_alone(measure_requests)
    ratios = {name: many / few for name, few, many in zip(REQUESTS, counts, counts[len(REQUESTS) :], strict=False)}
    assert len(ratios) == len(REQUESTS)
    assert {name: ratio for name, ratio in ratios.items() if ratio > 1.2} == {}


def test_pages_of_threads_list_each_once_while_messages_arrive() -> None:
    with FrontDesk() as desk:
        fill(desk, 100)
        page = desk.get("/threads", count="7")
        ids = [thread["id"] for thread in page["threads"]]
        while "next" in page:
            page = desk.get("/threads", count="7", after=page["next"])
            ids += [thread["id"] for thread in page["threads"]]
        assert ids == list(reversed(desk.state.mailbox.threads))
        assert len(set(ids)) == 50


@pytest.mark.slow
def test_100000_patients_are_read_once_and_in_bounded_time() -> None:
    lines = tuple(
        b'{"resourceType":"Patient","id":"p%d","name":[{"family":"F%d"}],"telecom":[{"system":"phone","use":"mobile",'
        b'"value":"+1555%07d"},{"system":"email","value":"p%d@home.example"}]}' % ((number,) * 4)
        for number in range(100_000)
    )
    with processor_limit(10):
        patients = PatientContacts((Dataset(name="many", type="fhir", lines=lines),))
        directory = patients.open_directory(MessagesConfig())
        assert [entry.id for entry in directory.find("sms", "+15550099999")] == ["Patient/p99999"]
    with processor_limit(1):
        other = patients.open_directory(MessagesConfig(organization="Other"))
        assert [entry.id for entry in other.find("email", "P7@home.example")] == ["Patient/p7"]


@pytest.mark.parametrize(
    ("channel", "to", "code"),
    [("sms", ANA, "20429"), ("email", "ana@mail.example", "452"), ("portal", "Patient/ada", "too_many_messages")],
)
def test_messages_beyond_the_limit_are_refused_with_429_and_an_event(channel: str, to: str, code: str) -> None:
    with FrontDesk(max_messages=2) as desk:
        desk.send("sms", ANA)
        desk.receive("sms", ANA, "One more")
        reply = desk.post(orjson.dumps({"channel": channel, "to": [to], "text": "x"}))
        assert (reply.status, orjson.loads(reply.body)["error"]["code"]) == (429, code)
        desk.receive("sms", ANA, "What arrives is not limited")
        assert desk.kinds.count("message.refused") == 1
        assert desk.kinds.count("message.arrived") == 2


def test_twilio_refuses_messages_beyond_the_limit_with_20429() -> None:
    with FrontDesk(max_messages=1) as desk:
        reply = desk.rig.send(REQUESTS["send by Twilio"])
        assert (reply.status, orjson.loads(reply.body)["from"]) == (201, OWN)
        reply = desk.rig.send(REQUESTS["send by Twilio"])
        assert (reply.status, orjson.loads(reply.body)["code"]) == (429, 20429)
        assert desk.kinds.count("message.refused") == 1
