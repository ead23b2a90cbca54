"""A FHIR server with a small chart, and a client for tests."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.events.event import Event
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.exact import dumps
from clerkship.formats.fhir.resource import Resource, parse_resource, render_resource
from clerkship.playground.playground import replay
from clerkship.sandbox.request import QueryParams, Reply, Request
from clerkship.simulators.fhir import SPEC
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.outcome import FHIR_JSON
from clerkship.simulators.fhir.state import FhirState

BASE = "http://box.invalid"
ADA: Resource = {
    "resourceType": "Patient",
    "id": "ada",
    "meta": {"lastUpdated": "2026-01-01T08:00:00.000Z", "versionId": "1"},
    "identifier": [{"system": "http://clinic.example/mrn", "value": "A-1"}],
    "name": [{"family": "Okafor", "given": ["Ada"]}],
    "birthDate": "1965-03-15",
    "generalPractitioner": [{"reference": "Practitioner/may"}],
}
BEN: Resource = {
    "resourceType": "Patient",
    "id": "ben",
    "meta": {"lastUpdated": "2026-01-02T08:00:00.000Z"},
    "identifier": [{"system": "http://clinic.example/mrn", "value": "B-2"}],
    "name": [{"family": "Brandt", "given": ["Ben"]}],
    "birthDate": "1990-07-01",
}
MAY: Resource = {"resourceType": "Practitioner", "id": "may", "name": [{"family": "May"}]}
POTASSIUM: Resource = {
    "resourceType": "Observation",
    "id": "k1",
    "status": "final",
    "code": {"coding": [{"system": "http://loinc.org", "code": "2823-3"}]},
    "subject": {"reference": "Patient/ada"},
    "performer": [{"reference": "Practitioner/may"}],
    "effectiveDateTime": "2026-02-20T09:30:00Z",
    "valueQuantity": {"value": 3.1, "unit": "mmol/L", "system": "http://unitsofmeasure.org", "code": "mmol/L"},
}
CHART = (ADA, BEN, MAY, POTASSIUM)


class ServerResponse(NamedTuple):
    """A response of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Resource:
        return parse_resource(self.body)

    @property
    def entries(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.json.get("entry", [])
        return found

    @property
    def keys(self) -> list[str]:
        """The keys of the resources in a Bundle, such as `Patient/ada`."""
        found = [entry["resource"] for entry in self.entries if "resource" in entry]
        return [f"{resource['resourceType']}/{resource['id']}" for resource in found if "id" in resource]

    @property
    def codes(self) -> list[str]:
        """The issue codes of an OperationOutcome."""
        assert self.json["resourceType"] == "OperationOutcome", self.body
        return [issue["code"] for issue in self.json["issue"]]


class Server:
    """A FHIR server with a small chart."""

    def __init__(self, *resources: Resource, **config: Any) -> None:
        chart = Chart(render_resource(resource) for resource in resources or CHART)
        self.rig = SimulatorRig(replace(SPEC, prepare=lambda datasets: chart))
        self.state.config = FhirConfig(**config)

    @property
    def state(self) -> FhirState:
        state = self.rig.playground.sandboxes["box"].state
        assert isinstance(state, FhirState)
        return state

    def send(self, method: str, target: str, body: Any = None, **headers: str) -> ServerResponse:
        """Send a request for `Patient/ada` or `Patient?name=x`. A body that is not bytes is rendered as JSON."""
        path, _, query = target.partition("?")
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else b"" if body is None else dumps(body)
        if data:
            told.setdefault("content-type", FHIR_JSON if method != "PATCH" else "application/json-patch+json")
        pairs = QueryParams(tuple(parse_qsl(query, keep_blank_values=True)))
        return _to_response(self.rig.send(Request(method, f"/{path}", pairs, told, data)))

    def get(self, target: str, **headers: str) -> ServerResponse:
        return self.send("GET", target, **headers)

    def events(self) -> list[Event]:
        """Return all events, including refusals."""
        return list(self.rig.playground.log.events)

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events()]

    def replay_state(self) -> Any:
        """Return the state that a replay of the log gives."""
        states = replay(self.rig.prepared_simulators, self.events())
        return states["box"].dump()

    @contextmanager
    def assert_unchanged(self) -> Iterator[None]:
        """Assert that the block changes no state and no ids, and logs only refusals."""
        state, events, ids = self.state.dump(), len(self.events()), self.rig.playground.ids.mark()
        yield
        assert self.state.dump() == state
        assert {event.kind for event in self.events()[events:]} <= {"sandbox.refused"}
        assert self.rig.playground.ids.mark() == ids
        assert self.rig.playground.broken is None


def _to_response(reply: Reply) -> ServerResponse:
    assert reply.media == FHIR_JSON
    return ServerResponse(reply.status, reply.headers, reply.body)


def entry(method: str, url: str, resource: Any = None, full_url: str = "", **more: str) -> dict[str, Any]:
    """Return a bundle entry."""
    made: dict[str, Any] = {"request": {"method": method, "url": url, **more}}
    made |= {"resource": resource} if resource is not None else {}
    return made | ({"fullUrl": full_url} if full_url else {})


def bundle(type: str, *entries: dict[str, Any]) -> Resource:
    """Return a batch or transaction."""
    return {"resourceType": "Bundle", "type": type, "entry": list(entries)}


def remove_elements(resource: Resource, *names: str) -> Resource:
    """Return a copy without these elements."""
    return {name: value for name, value in resource.items() if name not in names}
