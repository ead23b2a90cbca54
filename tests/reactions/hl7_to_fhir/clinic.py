"""A chart whose reactions file the messages of an hl7 sandbox."""

from typing import Any

from clerkship.events.event import Event
from clerkship.events.lifecycle import RequestRefused
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import Resource, render_resource
from clerkship.formats.fhir.validation import validate
from clerkship.formats.hl7.message import parse_message
from clerkship.formats.hl7.validation import validate_message as flaws
from clerkship.model.environment import Environment, apply_environment_zone
from clerkship.playground.playground import Playground, replay
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators import fhir, hl7
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.events import ResourceDeleted, ResourceWritten
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.events import ARRIVED_EVENTS, SENT_EVENTS

MRN = "http://clinic.example/mrn"
_MR = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": "MR"}]}
ANA: Resource = {
    "resourceType": "Patient",
    "id": "ana",
    "active": True,
    "identifier": [
        {"use": "usual", "type": _MR, "system": MRN, "value": "4711"},
        {
            "type": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": "MB"}]},
            "value": "4712",
        },
    ],
    "name": [
        {"use": "official", "family": "Silva", "given": ["Ana", "Maria"], "text": "Ana Maria Silva"},
        {"use": "maiden", "family": "Souza", "given": ["Ana"]},
    ],
    "birthDate": "1965-03-15",
    "gender": "female",
    "address": [{"use": "home", "line": ["1 Elm St"], "city": "Riverbend", "state": "NY", "postalCode": "00101"}],
    "telecom": [
        {"system": "phone", "use": "home", "value": "(518) 555-0107"},
        {"system": "email", "use": "home", "value": "ana@mail.example"},
    ],
}
EVA: Resource = {
    "resourceType": "Patient",
    "id": "eva",
    "active": True,
    "identifier": [{"type": _MR, "system": MRN, "value": "4712"}],
    "name": [{"family": "Brandt", "given": ["Eva"]}],
    "birthDate": "1971-07-01",
}
MAY: Resource = {
    "resourceType": "Practitioner",
    "id": "may",
    "identifier": [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "9999910000"}],
    "name": [{"family": "May", "given": ["Ida"]}],
}
WARD: Resource = {
    "resourceType": "Location",
    "id": "ward",
    "identifier": [{"value": "W3"}],
    "name": "Ward 3",
    "status": "active",
}
BOOK: Resource = {"resourceType": "Schedule", "id": "book", "actor": [{"reference": "Practitioner/may"}]}
SLOTS: tuple[Resource, ...] = tuple(
    {
        "resourceType": "Slot",
        "id": f"slot-{hour}",
        "schedule": {"reference": "Schedule/book"},
        "status": "busy" if hour == "11" else "free",
        "start": f"2026-03-05T{hour}:00:00-05:00",
        "end": f"2026-03-05T{hour}:30:00-05:00",
    }
    for hour in ("09", "10", "11")
)
ORDER: Resource = {
    "resourceType": "ServiceRequest",
    "id": "order-1",
    "status": "active",
    "intent": "order",
    "code": {"text": "Metabolic panel"},
    "subject": {"reference": "Patient/ana"},
}
CHART = (ANA, EVA, MAY, WARD, BOOK, *SLOTS, ORDER)
PID = "PID|1||4711^^^CLINIC^MR||Silva^Ana||19650315|F"
NOW = "2026-03-02T09:00:00-05:00"


def build_msh(type: str, id: str = "1", version: str = "2.5.1") -> str:
    return f"MSH|^~\\&|LAB|VALLEY|EHR|CLINIC|20260302085500||{type}|{id}|P|{version}"


class Clinic:
    """One chart that receives messages."""

    def __init__(self, *resources: Resource, **config: Any) -> None:
        environment = Environment.model_validate(
            {
                "name": "clinic",
                "now": NOW,
                "simulators": {"ehr": {"kind": "fhir"}, "lab": {"kind": "hl7"}},
                "reactions": [f"lab.{type.lower()} -> ehr" for type in SENT_EVENTS],
            }
        )
        chart = Chart(render_resource(resource) for resource in resources or CHART)
        settings = apply_environment_zone(FhirConfig(**config), environment)
        self.rooms = {
            "ehr": PreparedSimulator(fhir.SPEC, settings, chart),
            "lab": PreparedSimulator(hl7.SPEC, Hl7Config()),
        }
        self.playground = Playground(environment, self.rooms, "clinic")

    @property
    def state(self) -> FhirState:
        state = self.playground.sandboxes["ehr"].state
        assert isinstance(state, FhirState)
        return state

    def receive(self, *segments: str, direction: str = "sent", checked: bool = True) -> list[Event]:
        """Deliver a message, and return the chart's reaction. With `checked`, the message must be valid HL7."""
        text = "".join(f"{line}\r" for line in segments)
        message = parse_message(text)
        if checked:
            assert flaws(message) == []
        common = {"control_id": message.control_id, "trigger": message.trigger, "message": text}
        if direction == "sent":
            payload: Any = SENT_EVENTS[message.type](**common)
        else:
            payload = ARRIVED_EVENTS[message.type](id="1", **common)
        event = self.playground.emit("lab", payload, "agent")
        found = [each for each in self.playground.log.events if each.seq > event.seq]
        assert all((each.source, each.actor, each.cause) == ("ehr", "reaction", event.seq) for each in found)
        for each in found:
            if isinstance(each.payload, ResourceWritten):
                assert [issue for issue in validate(each.payload.resource) if issue.severity == "error"] == []
        return found

    def file(self, *segments: str, direction: str = "sent") -> list[str]:
        """Deliver a message that is filed; return the keys of the written resources in order."""
        found = self.receive(*segments, direction=direction)
        assert [each.payload for each in found if isinstance(each.payload, RequestRefused)] == []
        written = (each.payload for each in found)
        return [f"{one.type}/{one.id}" for one in written if isinstance(one, ResourceWritten | ResourceDeleted)]

    def refusal_text(self, *segments: str, checked: bool = True) -> str:
        """Deliver a message that is refused; return the reason, and check that nothing changed."""
        return self.objection(*segments, checked=checked).reason

    def objection(self, *segments: str, checked: bool = True) -> RequestRefused:
        """Deliver a message that is refused; return the refusal."""
        before, ids = self.state.dump(), self.playground.ids.mark()
        [event] = self.receive(*segments, checked=checked)
        assert isinstance(event.payload, RequestRefused), event
        assert (self.state.dump(), self.playground.ids.mark()) == (before, ids)
        return event.payload

    def find_one(self, type: str, *pairs: tuple[str, str]) -> Resource:
        """Return the only resource that a search matches."""
        [found] = self.state.find(type, pairs)
        return found

    def get(self, key: str) -> Resource:
        found = self.state.resource(key)
        assert found is not None
        return found

    def replay(self) -> Any:
        """Return the state after replaying the log."""
        return replay(self.rooms, self.playground.log.events)["ehr"].dump()
