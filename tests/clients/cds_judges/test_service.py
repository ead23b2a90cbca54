"""A service written with healthchain is discovered and called by an EHR, which accepts its cards."""

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.cds.handle import Cds
from tests.clients.cds_judges.judges import PROGRAMS, find_healthchain, healthchain_errors
from tests.processes import start_process
from tests.workbench import Workbench

ENVIRONMENT = """
environment: {name: clinic, simulators: {emr: {kind: cds}}}
tasks:
  - name: Answer hooks
    environment: clinic
    task_item: {instruction: Serve.}
    scenario:
      steps:
        - cds.fire: {hook: patient-view, patient: pat-7, user: Practitioner/doc}
        - cds.fire: {hook: encounter-discharge, patient: pat-8, encounter: enc-2, user: Practitioner/doc}
    criteria:
      - label: patient
        assertion: {cds_card: {hook: patient-view, service: greeter, summary: Patient pat-7, count: 1, max_cards: 1}}
      - {label: silence, assertion: {cds_card: {hook: encounter-discharge, service: silent, none: true}}}
      - {label: time, assertion: {cds_latency: {max: 10s, count: 2}}}
"""


@pytest.fixture
def service_url() -> Iterator[str]:
    """The base URL of a running service."""
    command = [find_healthchain(), str(PROGRAMS / "healthchain_serve.py")]
    with start_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/cds"
        process.communicate(timeout=30)


def test_healthchain_service_answers_the_hooks_of_an_ehr(bench: Workbench, service_url: str) -> None:
    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        sandboxes.get_as(Cds).register(service_url)
        sandboxes.wait("1m")

    bench.write("clinic.yml", ENVIRONMENT)
    run = bench.run_one(agent)
    assert [(each.label, each.passed) for each in run.criteria][:3] == [
        ("patient", True),
        ("silence", True),
        ("time", True),
    ], run.criteria
    requests = [event["payload"]["request"] for event in bench.events(run) if event["kind"] == "cds.hook.fired"]
    assert healthchain_errors([("request", request) for request in requests]) == [[], []]
