"""fhirpy drives a FHIR server over HTTP, with its sync and async clients."""

import asyncio
import json
from typing import Any

import pytest
from fhirpy import AsyncFHIRClient, SyncFHIRClient
from fhirpy.base.exceptions import AuthorizationError, MultipleResourcesFound, OperationOutcome, ResourceNotFound

from clerkship.playground.listeners import ListenerPool
from tests.clients.conftest import MRN, Ehr, observation, patient
from tests.simulators.agent_server import AgentServer
from tests.waiting import wait_until

BIRTH = "urn:uuid:61ebe359-bfdc-4613-8bf2-c5e300945f0a"
TOGETHER: dict[str, Any] = {
    "resourceType": "Bundle",
    "type": "transaction",
    "entry": [
        {
            "fullUrl": BIRTH,
            "resource": {"resourceType": "Patient", "name": [{"family": "Together"}]},
            "request": {"method": "POST", "url": "Patient"},
        },
        {
            "resource": {
                "resourceType": "Observation",
                "status": "final",
                "code": {"text": "weight"},
                "subject": {"reference": BIRTH},
            },
            "request": {"method": "POST", "url": "Observation"},
        },
    ],
}
ACTIVATE: Any = [{"op": "replace", "path": "/active", "value": False}]


def sync_client(ehr: Ehr, **headers: str) -> SyncFHIRClient:
    return SyncFHIRClient(ehr.url, authorization=f"Bearer {ehr.token}", extra_headers=headers)


def async_client(ehr: Ehr, **headers: str) -> AsyncFHIRClient:
    return AsyncFHIRClient(ehr.url, authorization=f"Bearer {ehr.token}", extra_headers=headers)


def test_fhirpy_creates_reads_updates_and_deletes(ehr: Ehr) -> None:
    client = sync_client(ehr)
    made = client.resource("Patient", name=[{"family": "Hébert", "given": ["Ana"]}], birthDate="1971-05-02")
    made.save()
    assert made["meta"]["versionId"] == "1"
    assert client.reference("Patient", made["id"]).to_resource()["name"][0]["family"] == "Hébert"
    made["gender"] = "female"
    made.save()
    assert made["meta"]["versionId"] == "2"
    assert dict(client.get("Patient", "p1")) == patient(1)
    client.delete(made)
    with pytest.raises(ResourceNotFound, match="deleted"):
        client.get("Patient", str(made["id"]))
    assert [kind for kind in ehr.kinds() if "read" not in kind][:3] == [
        "fhir.resource.created",
        "fhir.resource.updated",
        "fhir.resource.deleted",
    ]


def test_fhirpy_searches_and_pages(ehr: Ehr) -> None:
    client = sync_client(ehr)
    results = client.resources("Observation")
    paged = results.search(code="2823-3").limit(10)
    assert len(paged.fetch()) == 10
    assert {found["id"] for found in paged.fetch_all()} == {f"o{number}" for number in range(25)}
    window = results.search(date__ge="2026-02-03", date__lt="2026-02-06").sort("-date").fetch()
    assert [found["id"] for found in window] == ["o4", "o3", "o2"]
    chained = results.search(patient__Patient__identifier=f"{MRN}|MRN2").fetch_all()
    assert {found["id"] for found in chained} == {"o2", "o9", "o16", "o23"}
    one = client.resources("Patient").search(identifier=f"{MRN}|MRN3").first()
    assert one is not None
    assert one["id"] == "p3"
    with_subject = results.search(_id="o1").include("Observation", "subject").fetch_raw()
    assert {entry["resource"]["resourceType"] for entry in with_subject["entry"]} == {"Observation", "Patient"}


def test_fhirpy_patches_and_updates_with_if_match(ehr: Ehr) -> None:
    patching = sync_client(ehr, **{"Content-Type": "application/json-patch+json"})
    assert patching.execute("Patient/p1", method="patch", data=ACTIVATE)["active"] is False
    second = sync_client(ehr).get("Patient", "p1")
    with pytest.raises(MultipleResourcesFound):  # fhirpy's exception for a 412
        sync_client(ehr, **{"If-Match": 'W/"1"'}).execute("Patient/p1", method="put", data=second)
    assert sync_client(ehr, **{"If-Match": 'W/"2"'}).execute("Patient/p1", method="put", data=second)
    assert ehr.handle.read("Patient", "p1")["meta"]["versionId"] in (
        "2",
        "3",
    )  # unchanged content may not create a version


def test_fhirpy_counts_and_is_warned_of_its_total_method(ehr: Ehr) -> None:
    """Its `count` asks for a `_totalMethod`, a parameter of Aidbox."""
    client = sync_client(ehr)
    results = client.resources("Observation").search(code="2823-3")
    assert results.count() == 25
    assert "fhir.parameters.ignored" in ehr.kinds()
    bundle = results.search(_totalMethod="count").limit(0).fetch_raw()
    [outcome] = [entry for entry in bundle["entry"] if entry["search"]["mode"] == "outcome"]
    assert "_totalMethod" in outcome["resource"]["issue"][0]["diagnostics"]
    with pytest.raises(OperationOutcome, match="_totalMethod"):
        sync_client(ehr, Prefer="handling=strict").resources("Observation").count()
    assert sync_client(ehr, Prefer="handling=lenient").resources("Patient").search(shoesize="42").count() == 7


def test_fhirpy_get_or_create_is_refused(ehr: Ehr) -> None:
    """It puts the condition into the URL."""
    client = sync_client(ehr)
    known = client.resources("Patient").search(identifier=f"{MRN}|MRN3")
    again = client.resource("Patient", identifier=[{"system": MRN, "value": "MRN3"}])
    with pytest.raises(OperationOutcome, match="identifier"):
        known.get_or_create(again)
    once = sync_client(ehr, **{"If-None-Exist": f"identifier={MRN}|MRN3"})
    assert once.execute("Patient", data=dict(again))["id"] == "p3"
    assert client.resources("Patient").count() == 7


def test_fhirpy_subscribes_and_its_endpoint_gets_new_results(ehr: Ehr) -> None:
    client, pool, endpoint = sync_client(ehr), ListenerPool(ehr.gateway), AgentServer()
    channel = {"type": "rest-hook", "endpoint": endpoint.url, "payload": "application/fhir+json"}
    hook = client.resource("Subscription", status="requested", reason="potassium", channel=channel)
    hook["criteria"] = "Observation?code=http://loinc.org|2823-3"
    hook.save()
    assert hook["status"] == "active"
    known = observation(1)
    result = client.resource("Observation", status="final", code=known["code"], subject=known["subject"])
    result.save()
    wait_until(lambda: bool(endpoint.posted))
    assert (endpoint.posted[0].method, endpoint.posted[0].path) == ("PUT", f"/Observation/{result['id']}")
    assert endpoint.posted[0].json == ehr.handle.read("Observation", result["id"])
    pool.close()
    endpoint.close()


def test_fhirpy_transaction_is_atomic(ehr: Ehr) -> None:
    client = sync_client(ehr)
    answer = client.execute("", data=TOGETHER)
    assert [entry["response"]["status"][:3] for entry in answer["entry"]] == ["201", "201"]
    [weight] = client.resources("Observation").search(patient__Patient__family="Together").fetch()
    assert weight.code.text == "weight"
    broken = json.loads(json.dumps(TOGETHER))
    broken["entry"][1]["resource"]["status"] = "perhaps"
    before = len(ehr.playground.log.events)
    with pytest.raises(OperationOutcome) as refused:
        client.execute("", data=broken)
    assert refused.value.resource["issue"][0]["severity"] == "error"
    assert len(client.resources("Patient").search(family="Together").fetch()) == 1
    assert "fhir.resource.created" not in [event.kind for event in ehr.playground.log.events[before:]]


def test_fhirpy_errors_are_operation_outcomes(ehr: Ehr) -> None:
    client = sync_client(ehr)
    with pytest.raises(OperationOutcome) as wrong:
        client.resource("Patient", birthDate="1970-02-30").save()
    assert "birthDate" in json.dumps(wrong.value.resource)
    with pytest.raises(OperationOutcome):
        client.resources("Patient").search(shoesize="42").fetch()
    with pytest.raises(ResourceNotFound):
        client.get("Patient", "nobody")
    stranger = SyncFHIRClient(ehr.url, authorization="Bearer wrong")
    with pytest.raises(AuthorizationError, match="OperationOutcome"):
        stranger.get("Patient", "p1")
    ehr.end()
    with pytest.raises(AuthorizationError, match="OperationOutcome"):
        client.get("Patient", "p1")


def test_fhirpy_async_client(ehr: Ehr) -> None:
    async def work() -> None:
        client = async_client(ehr)
        made = await asyncio.gather(
            *(client.resource("Patient", name=[{"family": "Many", "given": [str(n)]}]).save() for n in range(20))
        )
        assert len({one["id"] for one in made}) == 20
        found = await client.resources("Patient").search(family="Many").limit(6).fetch_all()
        assert len(found) == 20
        found[0]["gender"] = "other"
        await found[0].save()
        assert found[0]["meta"]["versionId"] == "2"
        patching = async_client(ehr, **{"Content-Type": "application/json-patch+json"})
        patched = await patching.execute("Patient/p2", method="patch", data=ACTIVATE)
        assert patched["active"] is False
        with pytest.raises(MultipleResourcesFound):
            await async_client(ehr, **{"If-Match": 'W/"1"'}).execute("Patient/p2", method="put", data=patched)
        answer = await client.execute("", data=TOGETHER)
        assert len(answer["entry"]) == 2
        await client.delete(found[0])
        with pytest.raises(ResourceNotFound):
            await client.get("Patient", str(found[0]["id"]))
        assert dict(await client.get("Observation", "o1")) == observation(1)

    asyncio.run(work())
