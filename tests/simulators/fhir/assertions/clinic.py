"""A small chart, actors that change it, and the evidence from it."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.events.log import open_log
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import Resource, render_resource
from clerkship.kit.rng import Ids, Rng
from clerkship.model.task import Task
from clerkship.playground.component import Overlay
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.events import HistoryRead, ResourceRead, ResourcesExported, ResourcesSearched
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import delete_resource, patch_resource, put_resource

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
ANA: Resource = {
    "resourceType": "Patient",
    "id": "ana",
    "active": True,
    "birthDate": "1965-03-15",
    "name": [{"family": "Silva", "given": ["Ana", "Maria"]}],
    "address": [{"line": ["1 Elm St"], "city": "Springfield"}],
    "telecom": [{"system": "phone", "value": "555-0100"}],
}
EVA: Resource = {"resourceType": "Patient", "id": "eva", "name": [{"family": "Silva", "given": ["Eva"]}]}
CODES = [{"system": "http://loinc.org", "code": "2823-3"}, {"system": "urn:lab", "code": "K"}]


def potassium(id: str, patient: str, value: float, date: str, status: str = "final") -> Resource:
    """A potassium result."""
    return {
        "resourceType": "Observation",
        "id": id,
        "status": status,
        "code": {"coding": CODES, "text": "Potassium"},
        "subject": {"reference": f"Patient/{patient}"},
        "effectiveDateTime": date,
        "valueQuantity": {"value": value, "unit": "mmol/L"},
    }


def appointment(id: str | None, patient: str, status: str = "booked") -> Resource:
    """A booked appointment."""
    actor = {"actor": {"reference": f"Patient/{patient}"}, "status": "accepted"}
    times = {"start": "2026-03-09T10:00:00Z", "end": "2026-03-09T10:30:00Z"}
    made: Resource = {"resourceType": "Appointment", "status": status, **times, "participant": [actor]}
    return {**made, "id": id} if id is not None else made


RESOURCES: tuple[Resource, ...] = (
    ANA,
    EVA,
    potassium("k1", "ana", 4.1, "2026-01-05"),
    potassium("k2", "ana", 5.4, "2026-02-20"),
    potassium("k3", "eva", 3.9, "2026-02-21", "preliminary"),
    appointment("visit", "eva"),
    {"resourceType": "Practitioner", "id": "doc", "name": [{"family": "Okafor"}]},
    {
        "resourceType": "Encounter",
        "id": "enc",
        "status": "finished",
        "class": {"code": "AMB"},
        "subject": {"reference": "Patient/ana"},
    },
)


class Clinic:
    """A FHIR sandbox named `ehr`. Events are one second apart."""

    def __init__(self, resources: Iterable[Resource] = RESOURCES) -> None:
        self.state = FhirState(FhirConfig(references="unchecked"), Overlay(Chart(map(render_resource, resources))))
        self.log, self._writer = open_log()
        self._ids, self._rng = Ids("seed"), Rng("seed")

    @property
    def _now(self) -> datetime:
        return START + timedelta(seconds=len(self.log.events))

    def add_event(self, payload: Payload, actor: str = "agent") -> Event:
        """Add an event and apply it."""
        event = self._writer.append("ehr", payload, actor=actor, at=self._now)
        self.state.apply(event)
        return event

    def action_context(self, actor: str) -> ActionContext:
        """Return the context in which an actor changes the chart."""
        return ActionContext(actor, self._now, self._ids, self._rng, partial(self.add_event, actor=actor))

    def put(self, resource: Resource, actor: str = "agent") -> str:
        """Write a resource."""
        with Transaction(self.state, self.action_context(actor)) as transaction:
            return put_resource(transaction, resource, "put")

    def patch(self, key: str, path: str, value: Any, actor: str = "agent") -> None:
        """Set one value."""
        op = "replace" if path[-1].isdigit() else "add"  # or an item would be put before it
        with Transaction(self.state, self.action_context(actor)) as transaction:
            patch_resource(transaction, key, [{"op": op, "path": path, "value": value}])

    def delete(self, key: str, actor: str = "agent") -> None:
        """Delete a resource."""
        with Transaction(self.state, self.action_context(actor)) as transaction:
            delete_resource(transaction, key)

    def read(self, key: str, actor: str = "agent", version: str = "1") -> Event:
        """Record a read."""
        type, _, id = key.partition("/")
        return self.add_event(ResourceRead(type=type, id=id, version=version), actor)

    def search(self, type: str, query: str, *found: str, included: tuple[str, ...] = (), actor: str = "agent") -> Event:
        """Record a search with its results."""
        shown = ResourcesSearched(type=type, query=query, total=len(found), found=found, included=included)
        return self.add_event(shown, actor)

    def history(self, *found: str) -> Event:
        """Record a read of a history by the agent."""
        return self.add_event(HistoryRead(found=found))

    def export(self, type: str, *found: str) -> Event:
        """Record a download of a file of a bulk export by the agent."""
        versions = tuple(f"{key}/_history/1" for key in found)
        return self.add_event(ResourcesExported(id="e1", file=f"{type}.1.ndjson", type=type, found=versions))

    def evidence(self, about: str | None = None, instruction: str = "", **entities: Resource) -> Evidence:
        """Return the evidence of the run. Ana is the patient of the task."""
        records = {"patient": ANA, **entities}
        task = Task(name="A task", task_item={"instruction": instruction})
        evidence = Evidence(task, self.log.ordered(), {"ehr": self.state}, "agent_done", entities=records)
        return evidence.for_entity(about) if about is not None else evidence
