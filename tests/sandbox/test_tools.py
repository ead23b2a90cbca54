"""Operations as tools of a model: names, parameter schemas, and conversion of calls to requests."""

import re
from typing import Annotated, Any

import jsonschema
import pytest
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import NoInput, Operation, OperationContext, operation
from clerkship.sandbox.route import Route
from clerkship.sandbox.tools import BadArguments, Tool, build_tool_name, build_tools, index_by_name
from clerkship.sandbox.websocket import WebSocketHandler
from clerkship.simulators.registry import KINDS
from clerkship.simulators.spec import Spec
from clerkship.transports.websocket_handshake import websocket_route


class Line(Frozen):
    """A model inside a model."""

    amount: int


class Order(Frozen):
    """A body with another model in it."""

    lines: tuple[Line, ...]


class OrderId(Frozen):
    """The id of an order."""

    id: str
    expand: Annotated[str, Field(description="what to show with it")] = ""


class Note(Frozen):
    """A named text."""

    name: str
    text: str = ""


class Scan(Frozen):
    """A named file."""

    name: str
    data: Annotated[bytes, Field(description="the pages")] = b""
    internal: SkipJsonSchema[bool] = False


class TypeAndId(Frozen):
    """A resource."""

    type: Annotated[str, Field(description="such as Patient")]
    id: str


class Criteria(Frozen):
    """A search."""

    type: str
    query: Annotated[str, Field(description="name=smith&date=ge2026")] = ""


def declare(name: str, input: type[Frozen], *, tool: bool = True) -> Operation[Any, Any]:
    """Declare an operation that does nothing."""

    def run(context: Any, input: Any) -> None:
        """Do it."""

    run.__annotations__["input"] = input
    return Operation(run, name=name, tool=tool)


ROUTES = (
    Route("GET", "/orders/special", declare("read_special", NoInput)),
    Route("GET", "/orders/{id}", declare("read_order", OrderId)),
    Route("POST", "/orders", declare("place_order", Order)),
    Route("PUT", "/notes/{name*}", declare("write_note", Note), body="text"),
    Route("PUT", "/scans/{name}", declare("write_scan", Scan), body="data"),
)
TOOLS = {tool.operation.name: tool for tool in build_tools("shop", ROUTES)}


@pytest.mark.parametrize("spec", [kind.spec for kind in KINDS], ids=lambda spec: spec.kind)
def test_tool_parameters_of_every_simulator_are_valid_json_schemas(spec: Spec) -> None:
    for tool in build_tools("box", spec.routes):
        jsonschema.Draft202012Validator.check_schema(tool.parameters)


def test_nested_models_are_validated() -> None:
    validator = jsonschema.Draft202012Validator(TOOLS["place_order"].parameters)
    assert validator.is_valid({"lines": [{"amount": 1}]})
    assert not validator.is_valid({"lines": [{"amount": "many"}]})
    assert not validator.is_valid({})


@pytest.mark.parametrize(
    ("operation", "arguments", "method", "path", "query", "body"),
    [
        ("read_order", {"id": 7, "expand": "lines"}, "GET", "/orders/7", {"expand": "lines"}, b""),
        ("read_order", {"id": "a b", "expand": None}, "GET", "/orders/a b", {}, b""),
        ("place_order", {"lines": []}, "POST", "/orders", {}, b'{"lines":[]}'),
        ("write_note", {"name": "a/b", "text": "für"}, "PUT", "/notes/a/b", {}, "für".encode()),
        ("write_note", {"name": "a"}, "PUT", "/notes/a", {}, b""),
        ("write_scan", {"name": "a", "data": "text"}, "PUT", "/scans/a", {}, b"text"),
        ("write_scan", {"name": "a", "data_base64": "/wA="}, "PUT", "/scans/a", {}, b"\xff\x00"),
    ],
)
def test_arguments_are_converted_to_a_request(
    operation: str, arguments: dict[str, Any], method: str, path: str, query: dict[str, str], body: bytes
) -> None:
    request = TOOLS[operation].build_request(arguments)
    assert (request.method, request.path, request.query, request.body) == (method, path, query, body)


@pytest.mark.parametrize(
    ("operation", "arguments", "message"),
    [
        ("read_order", {"id": "7/../8"}, "not a value that fits /orders/{id}"),
        ("read_order", {"id": "special"}, "not a value that fits"),
        ("read_order", {"id": ""}, "not a value that fits"),
        ("read_order", {"id": True}, "`id` must be text, not boolean"),
        ("read_order", {"id": "\ud83d"}, "`id` is not Unicode"),
        ("read_order", {"id": "7", "expand": {}}, "`expand` must be text"),
        ("place_order", {"lines": [{"amount": 2**70}]}, "cannot be written as JSON"),
        ("place_order", {"body": {"lines": []}}, "unknown argument `body`; known: lines"),
        ("place_order", {}, "`lines` is missing"),
        ("write_scan", {"name": "a", "data_base64": "?"}, "`data_base64` is not base64"),
        ("write_scan", {"name": "a", "internal": True}, "unknown argument `internal`"),
    ],
)
def test_invalid_arguments_are_refused(operation: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadArguments, match=re.escape(message)):
        TOOLS[operation].build_request(arguments)


def test_tool_names_have_no_prefix_if_there_is_one_sandbox() -> None:
    assert [tool.name for tool in build_tools("shop", ROUTES[:2])] == ["shop__read_special", "shop__read_order"]
    assert [tool.name for tool in build_tools("shop", ROUTES[:2], is_only=True)] == ["read_special", "read_order"]


def test_input_may_be_declared_by_a_json_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"order": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}},
        "required": ["order", "lines"],
    }

    @operation(schema=schema)
    def reorder(context: Any, input: dict[str, Any]) -> None:
        """Order again."""

    [tool] = build_tools("shop", (Route("POST", "/orders/{order}/again", reorder),))
    assert tool.parameters["properties"] == schema["properties"]
    request = tool.build_request({"order": "7", "lines": [1, 2]})
    assert (request.path, request.body) == ("/orders/7/again", b'{"lines":[1,2]}')
    with pytest.raises(BadArguments, match="`lines` is missing"):
        tool.build_request({"order": "7"})


def test_tool_names_are_short_ascii_and_unique() -> None:
    assert build_tool_name("drop", "read_file") == "drop__read_file"
    long = [build_tool_name("x" * 60, f"operation_{number}") for number in range(3)]
    assert len(set(long)) == 3
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in (*long, build_tool_name("a", "$every.thing")))
    twins: list[Tool] = [*build_tools("a.b", ROUTES[:1]), *build_tools("a$b", ROUTES[:1])]
    assert list(index_by_name(twins)) == ["a_b__read_special", "a_b__read_special_2"]


def test_free_query_is_given_as_one_text_argument() -> None:
    routes = (Route("GET", "/{type}", declare("search", Criteria), free_query="query"),)
    [tool] = build_tools("ehr", routes)
    expected = {"type": "string", "default": "", "description": "name=smith&date=ge2026"}
    assert tool.parameters["properties"]["query"] == expected
    request = tool.build_request({"type": "Patient", "query": "?name=a%20b&name=c&_count=2"})
    assert request.pairs == (("name", "a b"), ("name", "c"), ("_count", "2"))
    assert tool.build_request({"type": "Patient"}).pairs == ()
    with pytest.raises(BadArguments, match="must be text"):
        tool.build_request({"type": "Patient", "query": ["name=x"]})


def test_request_has_the_media_type_of_its_route() -> None:
    media = "application/x-www-form-urlencoded"
    routes = (Route("POST", "/notes/{name}", declare("search", Note), body="text", media=media),)
    [tool] = build_tools("ehr", routes)
    assert tool.build_request({"name": "x", "text": "a=1"}).headers == {
        "content-type": "application/x-www-form-urlencoded"
    }


def test_path_may_contain_regular_expression_characters() -> None:
    route = Route("GET", "/{type}/$every.thing", declare("everything", Criteria))
    assert route.pattern.fullmatch("/Patient/$every.thing") is not None
    assert route.pattern.fullmatch("/Patient/$everything") is None


def test_path_parameters_are_described_and_operations_can_be_excluded() -> None:
    routes = (
        Route("GET", "/{type}/{id}", declare("read", TypeAndId)),
        Route("HEAD", "/{type}/{id}", declare("head", TypeAndId, tool=False)),
    )
    [tool] = build_tools("ehr", routes)
    assert tool.parameters["properties"] == {
        "type": {"type": "string", "description": "such as Patient"},
        "id": {"type": "string"},
    }
    assert tool.build_request({"type": "Patient", "id": "1"}).method == "GET"


def test_fhir_tools_are_few_and_described() -> None:
    [spec] = [kind.spec for kind in KINDS if kind.kind == "fhir"]
    tools = {tool.operation.name: tool for tool in build_tools("ehr", spec.routes)}
    assert tools.keys() == {
        *("read", "vread", "search_type", "everything", "history_instance"),
        *("create", "update", "patch", "delete", "bundle", "validate"),
    }
    for tool in tools.values():
        assert "FHIR R4" in tool.description
        assert all("description" in about for about in tool.parameters["properties"].values()), tool.name
    for pages in ("everything", "history_instance"):
        assert "`next` link" in tools[pages].parameters["properties"]["_cursor"]["description"]


def test_websocket_route_is_not_a_tool() -> None:
    @operation()
    def listen(context: OperationContext[Any], input: NoInput) -> WebSocketHandler:
        """Open a WebSocket."""
        return WebSocketHandler()

    routes = (websocket_route("/live", listen), *ROUTES[:1])
    assert [tool.name for tool in build_tools("shop", routes)] == ["shop__read_special"]
