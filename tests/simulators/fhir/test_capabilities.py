"""The CapabilityStatement matches the server."""

import pytest

from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.search_parameters import get_parameters
from clerkship.formats.fhir.validation import validate
from clerkship.simulators.fhir.capabilities import (
    EXTENDED_OPERATIONS,
    SYSTEM_INTERACTIONS,
    TYPE_INTERACTIONS,
    WRITE_INTERACTIONS,
)
from clerkship.simulators.fhir.export import EXPORT_ROUTES
from clerkship.simulators.fhir.routes import ROUTES
from scripts.fhir_limits import NOT_DONE, NotDone
from tests.simulators.fhir.server import BASE, Server


def test_statement_is_valid_and_lists_routed_interactions() -> None:
    statement = Server().get("metadata").json
    assert [issue for issue in validate(statement) if issue.severity == "error"] == []
    assert statement["implementation"]["url"] == BASE
    [rest] = statement["rest"]
    assert {resource["type"] for resource in rest["resource"]} == RESOURCE_TYPES - {"Parameters"}
    assert {code["code"] for code in rest["interaction"]} == {"transaction", "batch", "search-system", "history-system"}
    patient = next(resource for resource in rest["resource"] if resource["type"] == "Patient")
    assert {code["code"] for code in patient["interaction"]} == set(TYPE_INTERACTIONS.values())
    assert {found["name"] for found in patient["searchParam"]} == set(get_parameters("Patient"))
    assert {found["name"] for found in patient["operation"]} == {"everything", "export", "validate"}
    assert [found["name"] for found in rest["operation"]] == ["export"]
    assert "_totalMethod" in rest["documentation"]
    notes = {each["type"] for each in rest["resource"] if "documentation" in each}
    assert notes == {"CodeSystem", "Subscription", "ValueSet"}
    assert "Patient:general-practitioner" in patient["searchInclude"]
    assert {"Observation:subject", "Patient:link"} <= set(patient["searchRevInclude"])
    assert "Patient:general-practitioner" not in patient["searchRevInclude"]


def test_statement_of_read_only_server_has_no_writes() -> None:
    [rest] = Server(read_only=True).get("metadata").json["rest"]
    codes = {code["code"] for resource in rest["resource"] for code in resource["interaction"]}
    assert codes == {"read", "vread", "history-instance", "history-type", "search-type"}
    assert not {"transaction"} & {code["code"] for code in rest["interaction"]}


def test_every_route_is_in_statement() -> None:
    operations = {route.operation.name for route in ROUTES}
    told = TYPE_INTERACTIONS.keys() | SYSTEM_INTERACTIONS.keys() | EXTENDED_OPERATIONS.keys()
    variants = {name for name in operations if name.startswith("conditional_") or name.endswith("_by_post")}
    assert told <= operations
    variants |= {name for name in operations if name.removesuffix("_instance") in EXTENDED_OPERATIONS}
    exports = {route.operation.name for route in EXPORT_ROUTES}
    assert operations - told - variants - exports == {"capabilities", "search_compartment"}
    assert {route.operation.name for route in ROUTES if route.in_bundle} == operations - exports - {
        "capabilities",
        "bundle",
        "search_type_by_post",
        "search_system_by_post",
        "search_compartment_by_post",
    }
    assert operations >= WRITE_INTERACTIONS


def test_capabilities_read_is_logged() -> None:
    server = Server()
    server.get("metadata")
    assert server.kinds() == ["fhir.capabilities.read"]
    assert server.get("metadata?colour=red").status == 400


@pytest.mark.parametrize("one", NOT_DONE, ids=lambda one: one.what)
def test_unsupported_requests_are_refused_as_documented(one: NotDone) -> None:
    server = Server({"resourceType": "Patient", "id": "p1"}, {"resourceType": "Patient", "id": "p2"})
    with server.assert_unchanged():
        reply = server.rig.send(one.request)
        assert reply.status == one.status, reply.body
        assert b'"resourceType":"OperationOutcome"' in reply.body
