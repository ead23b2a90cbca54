"""`fhir_was_read` and `fhir_was_not_read` distinguish reads with an access token with scopes from others."""

import urllib.request
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.cds.handle import Cds
from tests.simulators.cds.test_run import ENVIRONMENT, INFO
from tests.workbench import Workbench, written

CRITERIA = """
      - {label: by the service, assertion: {fhir_was_read: {id: Patient/ana, with_scopes: true}}}
      - {label: by the agent, assertion: {fhir_was_read: {id: Patient/ana, with_scopes: false}}}
      - {label: not by the agent, assertion: {fhir_was_not_read: {patient_other_than: [eva], with_scopes: false}}}
      - {label: at all, assertion: {fhir_was_read: {id: Patient/ana}}}
"""
PATHS = ("Patient/ana", "Patient?birthdate=1965-03-15", "Patient/ana/$everything")


def read_with_token(request: dict[str, Any], path: str) -> None:
    """Read the chart with the access token of a hook request."""
    headers = {"authorization": f"Bearer {request['fhirAuthorization']['access_token']}"}
    with urllib.request.urlopen(urllib.request.Request(f"{request['fhirServer']}/{path}", headers=headers)) as response:
        response.read()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("has_scopes", [True, False])
def test_reads_are_told_apart_by_the_token(bench: Workbench, path: str, has_scopes: bool) -> None:
    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
            if has_scopes:
                read_with_token(request, path)
            else:
                url = urlsplit(path)
                sandboxes["ehr"].request("GET", f"/{url.path}", query=parse_qsl(url.query))
            return [INFO]

        with sandboxes.get_as(Cds).serve({"patient-view": answer}):
            sandboxes.wait("1m")

    environment = ENVIRONMENT.replace("CONFIG", "").replace("STEP", "")
    entities = "    entities: [{id: eva, dataset: chart, type: Patient, where: {_id: eva}}]\n    criteria:"
    bench.write("clinic.yml", environment.rstrip().replace("    criteria:", entities) + CRITERIA)
    results = {each.label: each.passed for each in written(bench.run_one(agent))}
    assert results == {
        "chart": True,
        "by the service": has_scopes,
        "by the agent": not has_scopes,
        "not by the agent": has_scopes,
        "at all": True,
    }
