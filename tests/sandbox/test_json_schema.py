"""JSON Schemas of operation inputs, compared with the `jsonschema` package on generated cases."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from clerkship.sandbox.json_schema import InvalidSchema, check_schema, convert_text, find_violation
from clerkship.sandbox.operation import OperationContext, operation
from clerkship.sandbox.route import Route
from clerkship.simulators.registry import BrokenSimulator, check_spec
from tests.examples import examples
from tests.transports.site import SPEC, Site, open_site

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 1},
        "urgent": {"type": "boolean"},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
    },
    "required": ["count"],
    "$defs": {"line": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}},
}
STRICT = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)
NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.0, 1.0, 0.5, -2.5]), st.text("abc", max_size=4)
)
INSTANCES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def _build_object_schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return schemas with any of the supported keywords."""
    small = st.integers(0, 3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(INSTANCES, min_size=1, max_size=3),
            "const": INSTANCES,
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, unique=True, max_size=2),
            "additionalProperties": inner,
            "items": inner,
            "uniqueItems": st.booleans(),
            "pattern": st.sampled_from(["^a", "b$", "[ab]{2}", "c"]),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=3),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "$ref": st.sampled_from(["#/$defs/text", "#/$defs/tree"]),
            "format": st.just("date"),
            **dict.fromkeys(
                ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), small
            ),
            **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.integers(-2, 2)),
        },
    )


SCHEMAS = st.recursive(st.booleans() | _build_object_schemas(st.booleans()), _build_object_schemas, max_leaves=4)
DEFINITIONS: Mapping[str, Any] = {
    "text": {"type": "string"},
    "tree": {"type": ["object", "array"], "additionalProperties": {"$ref": "#/$defs/tree"}},
}


@settings(max_examples=examples(40), deadline=None)
@given(schema=_build_object_schemas(SCHEMAS), instances=st.lists(INSTANCES, min_size=1, max_size=5))
def test_violations_agree_with_the_jsonschema_package(schema: dict[str, Any], instances: list[Any]) -> None:
    whole = {**schema, "$defs": DEFINITIONS}
    check_schema(whole)
    for instance in instances:
        violation = find_violation(whole, instance)
        assert (violation is None) == STRICT(whole).is_valid(instance), (instance, violation)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"patternProperties": {}}, "schema: the keyword `patternProperties` is not supported"),
        ({"properties": {"a": {"multipleOf": 2}}}, "schema.properties.a: the keyword `multipleOf` is not supported"),
        ({"properties": {"a": {"type": "interger"}}}, 'schema.properties.a.type: "interger" is not valid'),
        ({"items": {"$ref": "#/$defs/nothing"}}, "schema.items.$ref"),
        ({"items": {"$ref": "https://example.org/x"}}, "schema.items.$ref"),
        ({"required": "count"}, "schema.required"),
        ({"minLength": -1}, "schema.minLength"),
        ({"pattern": "("}, "schema.pattern: not a regular expression"),
        ({"not": {"$defs": {}}}, "schema.not: $defs must be at the top"),
        ({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}, "$defs.a: refers to itself through a -> a"),
    ],
)
def test_unsupported_or_malformed_schema_is_refused(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSchema) as refused:
        check_schema(schema)
    assert str(refused.value).startswith(message)


def test_operation_with_an_unsupported_schema_cannot_be_declared() -> None:
    def order(context: OperationContext[Any], input: dict[str, Any]) -> None:
        """Order."""

    with pytest.raises(InvalidSchema, match="operation `order`: schema: the keyword `if` is not supported"):
        operation(schema={"if": {}})(order)
    with pytest.raises(InvalidSchema, match="`count` is required, and not in its properties"):
        operation(schema={"required": ["count"]})(order)
    with pytest.raises(TypeError, match="needs a `schema`"):
        operation()(order)


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, "5.5", "5.5"),
        ({"type": "number"}, "5.5", 5.5),
        ({"type": "boolean"}, "true", True),
        ({"type": "integer"}, "true", "true"),
        ({"type": ["integer", "string"]}, "5", "5"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
        ({"$ref": "#/$defs/count"}, "5", 5),
        ({"type": "array"}, "[]", "[]"),
        ({}, "5", "5"),
    ],
)
def test_query_text_is_converted_to_the_type_of_its_schema(schema: dict[str, Any], text: str, value: Any) -> None:
    assert convert_text(schema, text, {"count": {"type": "integer"}}) == value


@operation(schema=SCHEMA)
def order(context: OperationContext[Any], input: dict[str, Any]) -> dict[str, Any]:
    """Order."""
    return {"next": input["count"] + 1, "urgent": input.get("urgent")}


def _send(site: Site, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
    with site.ask(method, path, body) as reply:
        answer = orjson.loads(reply.read())
        return reply.status, answer if reply.status == 200 else answer["error"]["message"]


def test_input_that_violates_the_schema_is_refused_with_422() -> None:
    with open_site(Route("POST", "/order", order), Route("GET", "/order", order)) as site:
        assert _send(site, "POST", "/order", b'{"count": "abc"}') == (422, "count: must be of type integer")
        assert _send(site, "POST", "/order", b'{"count": 0}') == (422, "count: must be at least 1")
        assert _send(site, "POST", "/order", b'{"count": 1, "lines": [{"code": "a"}, {}]}') == (
            422,
            "lines.1.code: missing",
        )
        assert _send(site, "POST", "/order", b"{}") == (422, "count: missing")
        assert _send(site, "GET", "/order?count=x") == (422, "count: must be of type integer")
        assert _send(site, "GET", "/order?count=5&urgent=true") == (200, {"next": 6, "urgent": True})
        assert site.playground.broken is None


def test_a_path_parameter_is_converted_by_the_schema() -> None:
    with open_site(Route("POST", "/order/{count}", order)) as site:
        assert _send(site, "POST", "/order/7") == (200, {"next": 8, "urgent": None})
        assert _send(site, "POST", "/order/seven") == (422, "count: must be of type integer")


@pytest.mark.parametrize(
    ("field", "body", "status"),
    [
        ({"type": "array", "items": {"type": "string"}}, b'["a"]', 200),
        ({"type": "array", "items": {"type": "string"}}, b"[1]", 422),
        ({"type": "string"}, b"plain text", 200),
        ({"type": "string", "format": "binary"}, bytes(range(256)), 200),
    ],
)
def test_a_field_of_a_schema_may_be_the_body(field: dict[str, Any], body: bytes, status: int) -> None:
    @operation(schema={"type": "object", "properties": {"content": field}, "required": ["content"]})
    def store(context: OperationContext[Any], input: dict[str, Any]) -> int:
        """Store."""
        return len(input["content"])

    with open_site(Route("POST", "/store", store, body="content")) as site:
        assert _send(site, "POST", "/store", body)[0] == status
        assert site.playground.broken is None


@pytest.mark.parametrize(
    ("route", "name"),
    [
        (Route("GET", "/order/{number}", order), "number"),
        (Route("POST", "/order", order, body="content"), "content"),
        (Route("POST", "/order", order, query=("count", "page")), "page"),
        (Route("GET", "/order", order, free_query="search"), "search"),
    ],
)
def test_route_with_names_that_are_not_fields_of_its_operation_is_refused(route: Route, name: str) -> None:
    with pytest.raises(BrokenSimulator) as broken:
        check_spec(replace(SPEC, operations=(order,), routes=(route,)))
    assert f"route {route.method} {route.path}: operation `order` has no field `{name}`" in str(broken.value)
