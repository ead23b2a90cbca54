"""Measure hooks: an EHR fires them at a service in the same process, with and without prefetch."""

import http.client
import json
import time
from typing import Any
from urllib.parse import urlsplit

from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import render_resource
from clerkship.model.environment import Environment
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators import cds, fhir
from clerkship.simulators.cds.handle import Cds, describe_service
from clerkship.simulators.cds.serving import ServiceServer
from clerkship.simulators.cds.state import CdsState

MAX_SECONDS = 60
CONTEXT = {"userId": "Practitioner/doc", "patientId": "p1"}
PREFETCH = {
    "patient": "Patient/{{context.patientId}}",
    "user": "{{context.userId}}",
    "results": "Observation?patient={{context.patientId}}&code=2823-3",
}
CARD = {"summary": "Potassium is high", "indicator": "warning", "source": {"label": "Checker"}}
RESOURCES: list[dict[str, Any]] = [
    {"resourceType": "Patient", "id": "p1", "birthDate": "1965-03-15"},
    {"resourceType": "Practitioner", "id": "doc"},
    *(
        {
            "resourceType": "Observation",
            "id": f"o{number}",
            "status": "final",
            "code": {"coding": [{"system": "http://loinc.org", "code": "2823-3"}]},
            "subject": {"reference": "Patient/p1"},
        }
        for number in range(5)
    ),
]


def run_hooks(hooks: int) -> dict[str, float]:
    """Return hooks per second without prefetch, with it, and the calls per second of a plain client."""
    return {"plain": fire_all(hooks, {}), "prefetch": fire_all(hooks, PREFETCH), "client": call_all(hooks)}


def fire_all(hooks: int, prefetch: dict[str, str]) -> float:
    """Fire so many hooks, and return how many were answered per second."""
    environment = Environment.model_validate(
        {
            "name": "clinic",
            "simulators": {"ehr": {"kind": "fhir"}, "emr": {"kind": "cds"}},
            "reactions": ["emr.* -> ehr"],
        }
    )
    chart = Chart(render_resource({**each, "meta": {"versionId": "1"}}) for each in RESOURCES)
    simulators = {
        "ehr": PreparedSimulator(fhir.SPEC, fhir.SPEC.config(), chart),
        "emr": PreparedSimulator(cds.SPEC, cds.SPEC.config()),
    }
    gateway = Gateway()
    listener, outbound = open_http(gateway), ListenerPool(gateway)
    playground = Playground(environment, simulators, "hooks")
    emr = open_sandboxes(gateway, playground, listener.url, outbound).get_as(Cds)
    service = describe_service("patient-view", lambda request: [CARD], id="check", prefetch=prefetch)
    try:
        with emr.serve([service]):
            began = time.perf_counter()
            with playground.lock:
                state, action = playground.state(CdsState, None)
                for _ in range(hooks):
                    state.trigger(action, "patient-view", dict(CONTEXT))
            while count_answers(playground) < hooks:
                assert time.perf_counter() - began < MAX_SECONDS, "the service was not called in time"
                time.sleep(0.002)
            return hooks / (time.perf_counter() - began)
    finally:
        playground.close()
        gateway.remove_playground(playground)
        outbound.close()
        listener.close()


def count_answers(playground: Playground) -> int:
    """Return how many hooks were answered."""
    with playground.lock:
        state, _ = playground.state(CdsState, None)
        calls = [call for hook in state.hooks.values() for call in hook.calls or ()]
    assert not [call.failure for call in calls if call.status == "failed"]
    return sum(call.status == "answered" for call in calls)


def call_all(calls: int) -> float:
    """Call the same service with a client that opens a connection for each call, and return calls per second."""
    service = describe_service("patient-view", lambda request: [CARD], id="check")
    server = ServiceServer([service], None)
    server.start()
    try:
        body = json.dumps({"hook": "patient-view", "hookInstance": "1", "context": CONTEXT})
        place, began = urlsplit(server.url), time.perf_counter()
        for _ in range(calls):
            connection = http.client.HTTPConnection(place.netloc, timeout=10)
            connection.request("POST", "/cds-services/check", body, {"Content-Type": "application/json"})
            assert json.loads(connection.getresponse().read())["cards"] == [CARD]
            connection.close()
        return calls / (time.perf_counter() - began)
    finally:
        server.stop()
