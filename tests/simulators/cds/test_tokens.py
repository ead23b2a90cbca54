"""The address and the access token of the chart in hook requests, and the public keys of the EHR."""

import urllib.error
import urllib.request
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.cds.config import CdsConfig
from clerkship.simulators.cds.handle import Cds
from tests.simulators.cds.test_run import ENVIRONMENT, INFO, payloads
from tests.workbench import Workbench


def read(url: str, token: str = "") -> Any:
    """Return the JSON at a URL."""
    request = urllib.request.Request(url, headers={"authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=10) as response:
        return orjson.loads(response.read())


class Ward:
    """Runs a task in which the service of an agent in this process gets a hook."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.requests: list[dict[str, Any]] = []
        self.results: list[Any] = []

    def fire(self, config: str = "", environment: str = ENVIRONMENT, path: str = "") -> list[dict[str, Any]]:
        """Return the events of a run; the service reads a path of the chart."""

        def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
            self.requests.append(request)
            if path:
                token = request["fhirAuthorization"]["access_token"]
                self.results.append(read(f"{request['fhirServer']}/{path}", token))
            return [INFO]

        def agent(task_item: Any, sandboxes: Sandboxes) -> None:
            with sandboxes.get_as(Cds).serve({"patient-view": answer}):
                sandboxes.wait("1m")

        self.bench.write("clinic.yml", environment.replace("CONFIG", config).replace("STEP", ""))
        run = self.bench.run_one(agent)
        assert run.verdict == "pass", run
        return self.bench.events(run)


@pytest.fixture
def ward(bench: Workbench) -> Ward:
    """A ward with two patients."""
    return Ward(bench)


def test_service_of_an_agent_in_this_process_reads_the_chart_over_http(ward: Ward) -> None:
    events = ward.fire(path="ServiceRequest?_count=10")
    [bundle] = ward.results
    assert [entry["resource"]["id"] for entry in bundle["entry"]] == ["lab-ana"]
    [fired] = payloads(events, "cds.hook.fired")
    assert fired["request"].keys() == {"hook", "hookInstance", "context"}


def test_request_has_no_token_without_scopes(ward: Ward) -> None:
    ward.fire("scopes: []")
    assert not {"fhirServer", "fhirAuthorization"} & ward.requests[0].keys()


def test_request_has_no_token_without_a_chart_that_reacts(ward: Ward) -> None:
    ward.fire(environment=ENVIRONMENT.replace("emr.* -> ehr", "emr.suggestion.accepted -> ehr"))
    assert not {"fhirServer", "fhirAuthorization"} & ward.requests[0].keys()


def test_same_run_has_the_same_log_with_other_tokens(ward: Ward) -> None:
    first, second = (ward.fire(path="Patient/ana") for _ in range(2))
    tokens = [request["fhirAuthorization"]["access_token"] for request in ward.requests]
    assert tokens[0] != tokens[1]
    assert first == second


def test_public_keys_are_read_without_a_token(bench: Workbench) -> None:
    results: list[Any] = []

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        url = sandboxes["emr"].url
        results.append(read(f"{url}/jwks.json"))
        with pytest.raises(urllib.error.HTTPError, match="401"):
            read(f"{url}/hooks")

    bench.write("clinic.yml", ENVIRONMENT.replace("CONFIG", "").replace("STEP", ""))
    run = bench.run_one(agent)
    assert run.verdict == "fail", run  # it served nothing; if it raised, this is an error
    [[key]] = [result["keys"] for result in results]
    assert (key["kty"], key["crv"], key["use"]) == ("EC", "P-384", "sig")
    assert "d" not in key


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"scopes": ["patient/Observation.write"]}, "unsupported scope `patient/Observation.write`"),
        ({"scopes": ["launch"]}, "unsupported scope `launch`"),
        ({"token_lifetime": "100ms"}, "token_lifetime is from 1 second to 1 hour"),
        ({"token_lifetime": "2h"}, "token_lifetime is from 1 second to 1 hour"),
    ],
)
def test_config_with_a_scope_or_lifetime_that_cannot_be_granted_is_refused(config: Any, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        CdsConfig.model_validate(config)
