"""The Python client of a FHIR sandbox."""

import pytest

from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.sandbox.handle import Refused
from clerkship.simulators.fhir.handle import Fhir
from tests.simulators.fhir.server import ADA, POTASSIUM, Server, bundle, entry, remove_elements
from tests.simulators.fhir.test_search import MANY


def build_handle(server: Server) -> Fhir:
    """Return a handle with the in-process transport."""
    playground = server.rig.playground
    playground.id = ""
    return open_sandboxes(Gateway(), playground, server.rig.url).get_as(Fhir)


def test_handle_supports_every_interaction() -> None:
    ehr = build_handle(Server())
    assert ehr.read("Patient", "ada") == ADA
    made = ehr.create({"resourceType": "Patient", "name": [{"family": "Zimmer"}]})
    assert ehr.create(made, if_none_exist=f"_id={made['id']}")["id"] == made["id"]
    changed = ehr.update({**made, "active": True}, if_match="1")
    assert changed["meta"]["versionId"] == "2"
    assert ehr.patch("Patient", made["id"], [{"op": "remove", "path": "/active"}], if_match='W/"2"')["id"] == made["id"]
    assert "active" in ehr.vread("Patient", made["id"], "2")
    ehr.delete("Patient", made["id"])
    assert ["resource" in entry for entry in ehr.history("Patient", made["id"])] == [False, True, True, True]
    assert ehr.search("Patient", {"name": "okafor"}) == [ADA]
    assert ehr.search("Patient", birthdate=["ge1960", "le1970"], name__exact="Okafor") == [ADA]
    assert ehr.search("Observation", [("subject", "Patient/ada")], _include="Observation:subject") == [POTASSIUM]
    assert ehr.bundle("Observation", _include="Observation:subject")["total"] == 1
    assert {found["resourceType"] for found in ehr.everything("ada")} == {"Patient", "Observation", "Practitioner"}
    assert ehr.validate(ADA) == []
    assert ehr.validate({**ADA, "gender": "x"})[0]["code"] == "code-invalid"
    response = ehr.transaction(bundle("transaction", entry("POST", "Observation", remove_elements(POTASSIUM, "id"))))
    assert response["entry"][0]["response"]["status"] == "201 Created"
    assert ehr.capabilities()["fhirVersion"] == "4.0.1"
    assert ehr.search("", _type="Practitioner")[0]["id"] == "may"


def test_search_reads_all_pages() -> None:
    ehr = build_handle(Server(*MANY, page_size=10))
    assert [found["id"] for found in ehr.search("Patient", name="same")] == [patient["id"] for patient in MANY]


def test_refused_has_message_of_server() -> None:
    ehr = build_handle(Server())
    with pytest.raises(Refused, match=r"404: .*there is no Patient/zoe"):
        ehr.read("Patient", "zoe")
    with pytest.raises(Refused, match="412"):
        ehr.update(ADA, if_match="7")
