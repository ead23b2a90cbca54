"""Requests, tools, bundle entries and direct calls lead to the same interaction."""

from typing import Any

import pytest

from clerkship.sandbox.operation import Operation, OperationContext
from clerkship.sandbox.tools import build_tools
from clerkship.simulators.fhir import SPEC
from clerkship.simulators.fhir.rest_hook import REST_HOOK_OPERATIONS
from clerkship.simulators.fhir.search import TypeSearch, search_type
from clerkship.simulators.fhir.transaction import FhirResponse
from clerkship.simulators.fhir.write import CreateInput, DeleteInput, create, delete
from tests.simulators.fhir.server import ADA, BEN, POTASSIUM, Server, bundle, entry, remove_elements

TOOLS = {tool.name: tool for tool in build_tools("box", SPEC.routes, is_only=True)}
NEW = remove_elements(BEN, "id", "meta")


def run(server: Server, operation: Operation[Any, FhirResponse], input: Any) -> FhirResponse:
    """Call an operation in process, as the agent."""
    return operation.run(OperationContext(server.state, server.rig.playground.context_for("box", "agent")), input)


def test_operation_names_are_unique() -> None:
    names = [operation.name for operation in SPEC.operations]
    assert len(names) == len(set(names)) == len(SPEC.routes) + len(REST_HOOK_OPERATIONS)


@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        ("read", {"type": "Patient", "id": "ada"}, 200),
        ("vread", {"type": "Patient", "id": "ada", "version": "1"}, 200),
        ("search_type", {"type": "Patient", "query": "name=okafor&_count=1"}, 200),
        ("everything", {"id": "ada", "_count": 2, "_type": "Observation"}, 200),
        ("history_instance", {"type": "Patient", "id": "ada", "_count": 1}, 200),
        ("create", {"type": "Patient", "resource": NEW}, 201),
        ("update", {"type": "Patient", "id": "ada", "resource": {**ADA, "active": True}}, 200),
        ("patch", {"type": "Patient", "id": "ada", "operations": [{"op": "remove", "path": "/birthDate"}]}, 200),
        ("delete", {"type": "Observation", "id": "k1"}, 204),
        ("validate", {"type": "Patient", "resource": NEW}, 200),
        ("bundle", {"resource": bundle("batch", entry("GET", "Patient/ada"))}, 200),
    ],
)
def test_tools_take_flat_arguments_only(name: str, arguments: dict[str, Any], status: int) -> None:
    server = Server()
    reply = server.rig.send(TOOLS[name].build_request(arguments))
    assert reply.status == status, reply.body


def test_every_tool_has_an_example() -> None:
    tried = test_tools_take_flat_arguments_only.pytestmark[0].args[1]
    assert {name for name, _, _ in tried} == TOOLS.keys()


def test_request_entry_and_direct_call_create_same_resource() -> None:
    request, entries, call = Server(), Server(), Server()
    request.send("POST", "Patient", NEW)
    entries.send("POST", "", bundle("transaction", entry("POST", "Patient", NEW)))
    run(call, create, CreateInput(type="Patient", resource=NEW))
    assert request.state.dump().keys() == entries.state.dump().keys() == call.state.dump().keys()
    assert [server.kinds()[0] for server in (request, entries, call)] == ["fhir.resource.created"] * 3


def test_direct_call_accepts_query_as_text() -> None:
    server = Server()
    by_text = run(server, search_type, TypeSearch.model_validate({"type": "Patient", "query": "?name=okafor"}))
    by_pairs = run(server, search_type, TypeSearch(type="Patient", query=(("name", "okafor"),)))
    assert by_text.body == by_pairs.body
    assert b'"total":1' in by_text.body


def test_refused_direct_call_changes_nothing() -> None:
    server = Server()
    before = server.state.dump()
    with pytest.raises(Exception, match="there is no Patient/nobody"):
        run(
            server,
            create,
            CreateInput(type="Observation", resource=POTASSIUM | {"subject": {"reference": "Patient/nobody"}}),
        )
    assert server.state.dump() == before
    assert run(server, delete, DeleteInput(type="Patient", id="nobody")).status == 200


@pytest.mark.parametrize("type", ["batch", "transaction"])
def test_unknown_parameter_in_bundle_entry_is_refused(type: str) -> None:
    answer = Server().send("POST", "", bundle(type, entry("POST", "Patient?colour=red", NEW)))
    assert b"unknown parameter `colour`" in answer.body
