"""Documents that a FHIR client reads before it has a credential."""

import httpx
import pytest

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.simulators import fhir


def test_metadata_and_smart_configuration_need_no_token_and_are_not_logged() -> None:
    with SimulatorRig(fhir.SPEC) as rig, httpx.Client(base_url=rig.url()) as client:
        before = rig.playground.now
        statement, smart = client.get("/metadata"), client.get("/.well-known/smart-configuration")
        assert statement.json()["resourceType"] == "CapabilityStatement"
        assert statement.json()["implementation"]["url"] == rig.url()
        assert statement.json()["rest"][0]["security"]["cors"] is True
        assert smart.headers["content-type"] == "application/json"
        assert smart.json()["capabilities"] == []
        assert "token_endpoint" not in smart.json()
        assert (rig.lines, rig.playground.now) == ([], before)
        assert rig.playground.sidecar.unauthenticated.count == 2


def test_metadata_and_smart_configuration_with_token_are_logged() -> None:
    with SimulatorRig(fhir.SPEC) as rig:
        headers = {"Authorization": f"Bearer {rig.token}"}
        for path in ("/metadata", "/.well-known/smart-configuration"):
            assert httpx.get(f"{rig.url()}{path}", headers=headers).status_code == 200
        kinds = [event.kind for event in rig.playground.log.events]
        assert kinds == ["fhir.capabilities.read", "sandbox.answered"]


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/.well-known/x"])
def test_other_well_known_documents_are_not_found(path: str) -> None:
    with SimulatorRig(fhir.SPEC) as rig:
        reply = httpx.get(f"{rig.url()}{path}")
        assert (reply.status_code, reply.json()["resourceType"]) == (404, "OperationOutcome")


@pytest.mark.parametrize("path", ["/Patient", "/Patient/ada", "/", "/_history"])
def test_resources_need_a_token(path: str) -> None:
    with SimulatorRig(fhir.SPEC) as rig:
        reply = httpx.get(f"{rig.url()}{path}", headers={"Origin": "https://app.example"})
        assert (reply.status_code, reply.json()["issue"][0]["code"]) == (401, "login")
        assert reply.headers["access-control-allow-origin"] == "*"
        assert rig.lines == []
