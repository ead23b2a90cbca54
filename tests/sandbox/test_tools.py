"""A sandbox's operations as tools: names a model may call, schemas that hold, calls that go where they should."""

import re
from typing import Any

import jsonschema
import pytest

from clerkship.model.frozen import Frozen
from clerkship.sandbox.exchange import Reply
from clerkship.sandbox.route import Call, Route
from clerkship.sandbox.tools import BadArguments, Tool, table, tool_name, tools_of
from clerkship.simulators.registry import SPECS
from clerkship.simulators.spec import Spec


class Line(Frozen):
    """A model inside a model."""

    amount: int


class Order(Frozen):
    """A body with another model in it."""

    lines: tuple[Line, ...]


def handler(call: Call) -> Reply:
    """Do it."""
    return Reply(200)


ROUTES = (
    Route("GET", "/orders/special", "read_special", handler),
    Route("GET", "/orders/{id}", "read_order", handler, query={"expand": "what to show with it"}),
    Route("POST", "/orders", "place_order", handler, body=Order),
    Route("PUT", "/notes/{name*}", "write_note", handler, body="text"),
)
TOOLS = {tool.route.operation: tool for tool in tools_of("shop", ROUTES)}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.kind)
def test_every_simulators_tools_are_schemas_that_a_validator_takes(spec: Spec) -> None:
    for tool in tools_of("box", spec.routes):
        jsonschema.Draft202012Validator.check_schema(tool.parameters)


def test_a_schema_inside_a_schema_is_found() -> None:
    validator = jsonschema.Draft202012Validator(TOOLS["place_order"].parameters)
    assert validator.is_valid({"body": {"lines": [{"amount": 1}]}})
    assert not validator.is_valid({"body": {"lines": [{"amount": "many"}]}})
    assert not validator.is_valid({})


@pytest.mark.parametrize(
    ("operation", "arguments", "method", "path", "query", "body"),
    [
        ("read_order", {"id": 7, "expand": "lines"}, "GET", "/orders/7", {"expand": "lines"}, b""),
        ("read_order", {"id": "a b", "expand": None}, "GET", "/orders/a b", {}, b""),
        ("place_order", {"body": {"lines": []}}, "POST", "/orders", {}, b'{"lines":[]}'),
        ("write_note", {"name": "a/b", "body": "für"}, "PUT", "/notes/a/b", {}, "für".encode()),
        ("write_note", {"name": "a"}, "PUT", "/notes/a", {}, b""),
    ],
)
def test_a_call_is_a_request(
    operation: str, arguments: dict[str, Any], method: str, path: str, query: dict[str, str], body: bytes
) -> None:
    request = TOOLS[operation].request(arguments)
    assert (request.method, request.path, request.query, request.body) == (method, path, query, body)


@pytest.mark.parametrize(
    ("operation", "arguments", "said"),
    [
        ("read_order", {"id": "7/../8"}, "not a value that fits /orders/{id}"),
        ("read_order", {"id": "special"}, "not a value that fits"),
        ("read_order", {"id": ""}, "not a value that fits"),
        ("read_order", {"id": True}, "`id` must be text, not bool"),
        ("read_order", {"id": "\ud83d"}, "`id` is not Unicode"),
        ("read_order", {"id": "7", "expand": {}}, "`expand` must be text"),
        ("place_order", {"body": {"n": 2**70}}, "cannot be written as JSON"),
    ],
)
def test_a_value_that_leads_elsewhere_is_no_call(operation: str, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArguments, match=re.escape(said)):
        TOOLS[operation].request(arguments)


def test_names_are_short_plain_and_different() -> None:
    assert tool_name("drop", "read_file") == "drop__read_file"
    long = [tool_name("x" * 60, f"operation_{number}") for number in range(3)]
    assert len(set(long)) == 3
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in (*long, tool_name("a", "$every.thing")))
    twins: list[Tool] = [*tools_of("a.b", ROUTES[:1]), *tools_of("a$b", ROUTES[:1])]
    assert list(table(twins)) == ["a_b__read_special", "a_b__read_special_2"]


def test_where_any_name_may_stand_in_a_query_it_is_written_as_text() -> None:
    routes = (Route("GET", "/{type}", "search", handler, open_query="name=smith&date=ge2026"),)
    [tool] = tools_of("ehr", routes)
    assert tool.parameters["properties"]["query"] == {"type": "string", "description": "name=smith&date=ge2026"}
    asked = tool.request({"type": "Patient", "query": "?name=a%20b&name=c&_count=2"})
    assert asked.pairs == (("name", "a b"), ("name", "c"), ("_count", "2"))
    assert tool.request({"type": "Patient"}).pairs == ()
    with pytest.raises(BadArguments, match="must be text"):
        tool.request({"type": "Patient", "query": ["name=x"]})


def test_a_body_is_called_what_its_route_says() -> None:
    routes = (Route("POST", "/search", "search", handler, body="text", media="application/x-www-form-urlencoded"),)
    [tool] = tools_of("ehr", routes)
    assert tool.request({"body": "a=1"}).headers == {"content-type": "application/x-www-form-urlencoded"}


def test_a_path_may_have_signs_that_patterns_are_made_of() -> None:
    route = Route("GET", "/{type}/$every.thing", "everything", handler)
    assert route.pattern.fullmatch("/Patient/$every.thing") is not None
    assert route.pattern.fullmatch("/Patient/$everything") is None


def test_what_a_path_takes_is_described_and_a_route_may_be_no_tool() -> None:
    routes = (
        Route("GET", "/{type}/{id}", "read", handler, about={"type": "such as Patient"}),
        Route("HEAD", "/{type}/{id}", "head", handler, tool=False),
    )
    [tool] = tools_of("ehr", routes)
    assert tool.parameters["properties"] == {
        "type": {"type": "string", "description": "such as Patient"},
        "id": {"type": "string"},
    }
    assert tool.request({"type": "Patient", "id": "1"}).method == "GET"


def test_a_health_records_tools_are_few_and_each_stands_alone() -> None:
    [spec] = [spec for spec in SPECS if spec.kind == "fhir"]
    tools = {tool.route.operation: tool for tool in tools_of("ehr", spec.routes)}
    assert tools.keys() == {
        *("read", "vread", "search_type", "everything", "history_instance"),
        *("create", "update", "patch", "delete", "bundle", "validate"),
    }
    for tool in tools.values():
        assert "FHIR R4" in tool.description
        assert all("description" in about for about in tool.parameters["properties"].values()), tool.name
    for pages in ("everything", "history_instance"):
        assert "`next` link" in tools[pages].parameters["properties"]["_cursor"]["description"]
