"""A service verifies the JWTs of an EHR with pyjwt, and reads the chart with the access token of each hook."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clerkship.model.run import TaskRun
from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.cds.handle import Cds
from tests.clients.cds_judges.judges import PROGRAMS
from tests.clients.installs import CannotInstall, python_environment
from tests.processes import start_process
from tests.workbench import Workbench

ENVIRONMENT = """
environment:
  name: clinic
  datasets: [chart]
  simulators: {ehr: {kind: fhir}, emr: {kind: cds, config: {CONFIG}}}
  reactions: [emr.* -> ehr]
dataset:
  name: chart
  type: fhir
  records:
    - {resourceType: Practitioner, id: doc}
    - {resourceType: Patient, id: ana}
    - {resourceType: Patient, id: eva}
tasks:
  - name: Answer the hook
    environment: clinic
    task_item: {instruction: Serve.}
    scenario:
      steps:
        - cds.fire: {hook: patient-view, patient: ana, user: Practitioner/doc, override: {reason: seen}}
    criteria:
      - {label: card, assertion: {cds_card: {service: reader, summary: Read}}}
"""


class VerifyingService:
    """A service that verifies JWTs, in a process of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.report: dict[str, Any] = {}
        """What happened; set when the service has ended."""

    def run_task(self, bench: Workbench, config: str = "") -> TaskRun:
        """Run the task with this service."""

        def agent(task_item: Any, sandboxes: Sandboxes) -> None:
            sandboxes.get_as(Cds).register(self.url)
            sandboxes.wait("1m")

        bench.write("clinic.yml", ENVIRONMENT.replace("CONFIG", config))
        run = bench.run_one(agent)
        assert run.verdict == "pass", run.criteria
        return run

    @property
    def statuses(self) -> list[dict[str, int]]:
        """The statuses of the reads with the token of each hook."""
        return [read["statuses"] for read in self.report["reads"]]


@contextmanager
def start_service() -> Iterator[VerifyingService]:
    """Start the service; skip the test if pyjwt cannot be installed."""
    try:
        python = python_environment("pyjwt", PROGRAMS / "pyjwt.txt")
    except CannotInstall as problem:
        pytest.skip(str(problem))
    command = [str(python), str(PROGRAMS / "pyjwt_serve.py")]
    with start_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        service = VerifyingService(f"http://127.0.0.1:{int(process.stdout.readline())}")
        try:
            yield service
        finally:
            service.report = json.loads(process.communicate(timeout=30)[0])


def test_discovery_hook_and_feedback_have_a_jwt_for_their_url(bench: Workbench) -> None:
    with start_service() as service:
        service.run_task(bench)
    verified = service.report["verified"]
    paths = ["/cds-services", "/cds-services/reader", "/cds-services/reader/feedback"]
    assert [(each["path"], each["own"]) for each in verified] == [(path, True) for path in paths]
    assert len({each["jti"] for each in verified}) == len(paths)


def test_access_token_reads_the_patient_of_the_hook_and_no_other(bench: Workbench) -> None:
    with start_service() as service:
        service.run_task(bench)
    [read] = service.report["reads"]
    terms = {"token_type": "Bearer", "expires_in": 300, "scope": "patient/*.read", "subject": "reader"}
    assert read["terms"] == {**terms, "patient": "ana"}
    assert read["statuses"] == {"Patient/ana": 200, "Patient/eva": 403, "Condition?patient=ana": 200}


def test_scopes_of_the_config_limit_what_the_token_reads(bench: Workbench) -> None:
    with start_service() as service:
        service.run_task(bench, "scopes: [user/Patient.rs]")
    assert service.statuses == [{"Patient/ana": 200, "Patient/eva": 200, "Condition?patient=ana": 403}]


def test_expired_token_and_one_of_another_run_are_refused(bench: Workbench) -> None:
    with start_service() as service:
        service.run_task(bench)
        service.run_task(bench, "token_lifetime: 1s")
    assert service.statuses[1]["Patient/ana"] == 200
    assert (service.statuses[1]["expired"], service.statuses[1]["earlier"]) == (401, 401)


def test_log_contains_no_token_and_no_address(bench: Workbench) -> None:
    with start_service() as service:
        run = service.run_task(bench)
    log = b"\n".join(bench.store.log(run)).decode()
    assert "cds.hook.fired" in log
    assert "Patient/eva" in log  # the requests of the service are logged
    [read] = service.report["reads"]
    for secret in (read["token"], read["chart"], "fhirAuthorization", "fhirServer", *service.report["tokens"]):
        assert secret not in log
