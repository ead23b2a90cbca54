"""Patient portal messages are Communications in the chart, and new Communications are such messages."""

import base64
from typing import Any

import orjson
import pytest

from clerkship.engine.build import prepare_simulators
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.events.event import Event
from clerkship.formats.fhir.resource import Resource, render_resource
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground, replay
from clerkship.sandbox.handle import Refused
from clerkship.simulators.fhir.handle import Fhir
from clerkship.simulators.messages.handle import Messages
from clerkship.simulators.messages.outgoing import IncomingMessage, NewAttachment
from clerkship.simulators.messages.state import MessagesState

CHART = Dataset(
    name="chart",
    type="fhir",
    lines=tuple(
        render_resource({"resourceType": "Patient", "id": id, "name": [{"family": "Silva", "given": [given]}]})
        for id, given in (("ana", "Ana"), ("ben", "Ben"))
    ),
)
REPLY: Resource = {
    "resourceType": "Communication",
    "status": "completed",
    "recipient": [{"reference": "Patient/ana"}],
    "topic": {"text": "Refill"},
    "payload": [{"contentString": "Your refill is ready."}],
}


class Clinic:
    """A clinic with a chart and a portal that are connected in both directions."""

    def __init__(self) -> None:
        self.environment = Environment.model_validate(
            {
                "name": "clinic",
                "now": "2026-03-02T09:00:00-05:00",
                "datasets": ["chart"],
                "simulators": {
                    "ehr": {"kind": "fhir"},
                    "portal": {
                        "kind": "messages",
                        "config": {
                            "organization": "Cedar Clinic",
                            "contacts": [{"name": "Eva Silva", "portal": "proxy-eva"}],
                        },
                    },
                },
                "reactions": ["portal.message -> ehr", "ehr.resource.created -> portal"],
            }
        )
        catalog, datasets = build_catalog_without_plugins(), {"chart": CHART}
        self.prepared = prepare_simulators(self.environment, datasets, catalog)
        self.playground = Playground(self.environment, self.prepared, "clinic")
        sandboxes = open_sandboxes(Gateway(), self.playground, lambda *_: "http://localhost")
        self.ehr, self.portal = sandboxes.get_as(Fhir), sandboxes.get_as(Messages)

    def receive(self, text: str, sender: str = "Patient/ana", **fields: Any) -> str:
        state, action = self.playground.state(MessagesState, None)
        message = IncomingMessage.model_validate({"channel": "portal", "sender": sender, "text": text, **fields})
        id: str = vars(state.receive(action, message).payload)["header"].id
        return id

    def communications(self, **query: Any) -> list[Resource]:
        return list(self.ehr.search("Communication", **query))

    def events(self, kind: str) -> list[Event]:
        return [event for event in self.playground.log.events if event.kind == kind]


@pytest.fixture
def clinic() -> Clinic:
    return Clinic()


def test_portal_message_that_arrives_is_filed(clinic: Clinic) -> None:
    file = NewAttachment(name="rash.txt", content_type="text/plain", data=b"red")
    id = clinic.receive("May I have a refill?", subject="Refill", attachments=(file,))
    [filed] = clinic.communications(subject="Patient/ana")
    patient = {"reference": "Patient/ana", "display": "Ana Silva"}
    assert (filed["status"], filed["sender"], filed["subject"]) == ("completed", patient, patient)
    assert filed["recipient"] == [{"display": "Cedar Clinic"}]
    assert filed["sent"] == filed["received"]
    assert filed["sent"].endswith("-05:00")
    assert (filed["topic"]["text"], filed["identifier"][0]["value"]) == ("Refill", id)
    text, attachment = filed["payload"]
    assert text == {"contentString": "May I have a refill?"}
    assert base64.b64decode(attachment["contentAttachment"]["data"]) == b"red"
    assert clinic.communications(sender="Patient/ana", category="notification") == [filed]
    assert len(clinic.portal.messages()) == 1


def test_portal_message_that_is_sent_is_filed_as_the_answer(clinic: Clinic) -> None:
    id = clinic.receive("May I have a refill?")
    clinic.portal.reply(id, "Yes.")
    [asked] = clinic.communications(sender="Patient/ana")
    [answer] = clinic.communications(recipient="Patient/ana")
    assert answer["inResponseTo"] == [{"reference": f"Communication/{asked['id']}"}]
    assert (answer["sender"], answer["payload"]) == ({"display": "Cedar Clinic"}, [{"contentString": "Yes."}])
    assert len(clinic.events("messages.message.sent")) == 1


def test_message_to_two_patients_has_no_subject(clinic: Clinic) -> None:
    clinic.portal.send("portal", ["Patient/ana", "Patient/ben"], "We are closed on Friday.")
    [filed] = clinic.communications()
    assert "subject" not in filed
    assert [each["reference"] for each in filed["recipient"]] == ["Patient/ana", "Patient/ben"]


def test_account_that_the_chart_does_not_have_is_named(clinic: Clinic) -> None:
    clinic.receive("Hello", sender="proxy-eva")
    [filed] = clinic.communications()
    assert filed["sender"] == {"display": "Eva Silva"}
    assert "subject" not in filed


def test_other_channels_are_not_filed(clinic: Clinic) -> None:
    clinic.portal.send("sms", "+15555550142", "Hello")
    clinic.portal.send("email", "ana@mail.example", "Hello")
    assert clinic.communications() == []


def test_new_communication_is_sent_once_and_filed_once(clinic: Clinic) -> None:
    created = clinic.ehr.create(REPLY)
    [message] = clinic.portal.messages()
    assert (message["to"], message["subject"], message["text"]) == (["Patient/ana"], "Refill", "Your refill is ready.")
    assert [each["id"] for each in clinic.communications()] == [created["id"]]
    [event] = clinic.events("messages.message.sent")
    assert event.actor == "reaction"
    assert vars(event.payload)["header"].reference == f"Communication/{created['id']}"


def test_answers_join_the_thread_in_both_directions(clinic: Clinic) -> None:
    first = clinic.receive("May I have a refill?", subject="Refill")
    [asked] = clinic.communications()
    answer = clinic.ehr.create({**REPLY, "inResponseTo": [{"reference": f"Communication/{asked['id']}"}]})
    sent = clinic.portal.messages(direction="outbound")[0]
    assert (sent["in_reply_to"], len(clinic.portal.threads())) == (first, 1)
    last = clinic.receive("Thank you", in_reply_to=sent["id"])
    [thanks] = clinic.communications(identifier=last)
    assert thanks["inResponseTo"] == [{"reference": f"Communication/{answer['id']}"}]
    assert len(clinic.portal.threads()) == 1


def test_attachments_of_a_communication_are_sent(clinic: Clinic) -> None:
    content = {"title": "plan.txt", "contentType": "text/plain", "data": base64.b64encode(b"walk").decode()}
    clinic.ehr.create({**REPLY, "payload": [{"contentAttachment": content}]})
    [attachment] = clinic.portal.messages()[0]["attachments"]
    assert (attachment["name"], clinic.portal.attachment(attachment["id"])) == ("plan.txt", b"walk")


@pytest.mark.parametrize(
    "elements",
    [
        {"status": "preparation"},
        {"status": "not-done"},
        {"recipient": [{"display": "Ana"}]},
        {"sender": {"reference": "Patient/ana"}},
        {"medium": [{"coding": [{"code": "PHONE"}]}]},
        {"payload": []},
    ],
)
def test_communication_that_is_a_note_is_not_sent(clinic: Clinic, elements: dict[str, Any]) -> None:
    resource = {name: value for name, value in {**REPLY, **elements}.items() if value}
    clinic.ehr.create(resource)
    assert clinic.portal.messages() == []


@pytest.mark.parametrize(
    ("elements", "reason"),
    [
        ({"payload": [{"contentAttachment": {"url": "https://else.example/a.pdf"}}]}, "has no data"),
        ({"payload": [{"contentReference": {"reference": "Patient/ana"}}]}, "only contentString"),
        ({"topic": {"text": "a\nBcc: eve@else.example"}}, "line break"),
    ],
)
def test_refusal_of_the_portal_refuses_the_write(clinic: Clinic, elements: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused, match=reason) as raised:
        clinic.ehr.create({**REPLY, **elements})
    outcome = orjson.loads(raised.value.reply.body)
    assert (raised.value.reply.status, outcome["resourceType"]) == (422, "OperationOutcome")
    assert outcome["issue"][0]["code"] == "business-rule"
    assert clinic.communications() == clinic.portal.messages() == []
    assert len(clinic.events("fhir.resource.withdrawn")) == 1
    assert clinic.events("fhir.resource.deleted") == []


def test_refused_entry_undoes_the_whole_transaction(clinic: Clinic) -> None:
    bad = {**REPLY, "payload": [{"contentAttachment": {"url": "https://else.example/a.pdf"}}]}
    ben = clinic.ehr.read("Patient", "ben")
    entries = [
        {"request": {"method": "PUT", "url": "Patient/ben"}, "resource": {**ben, "gender": "male"}},
        {"request": {"method": "POST", "url": "Basic"}, "resource": {"resourceType": "Basic", "code": {"text": "x"}}},
        {"request": {"method": "POST", "url": "Communication"}, "resource": bad},
    ]
    with pytest.raises(Refused, match="has no data"):
        clinic.ehr.transaction({"resourceType": "Bundle", "type": "transaction", "entry": entries})
    assert "gender" not in clinic.ehr.read("Patient", "ben")
    assert list(clinic.ehr.search("Basic")) == clinic.communications() == []


def test_replay_gives_the_same_state(clinic: Clinic) -> None:
    clinic.receive("May I have a refill?")
    clinic.ehr.create(REPLY)
    with pytest.raises(Refused):
        clinic.ehr.create({**REPLY, "topic": {"text": "a\nb"}})
    states = replay(clinic.prepared, clinic.playground.log.events)
    for name, sandbox in clinic.playground.sandboxes.items():
        assert states[name].dump() == sandbox.state.dump()
