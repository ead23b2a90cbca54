"""The operations of a sandbox as tools that a model can call, with flat arguments described by a JSON Schema."""

import base64
import binascii
import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

import orjson

from clerkship.model.environment import Toolset
from clerkship.sandbox.json_schema import add_types
from clerkship.sandbox.operation import Operation
from clerkship.sandbox.request import JSON, QueryParams, Refusal, Request
from clerkship.sandbox.route import BYTES, TEXT, Route, build_path, find_route

MAX_NAME_LENGTH = 64
MAX_DESCRIPTION_LENGTH = 1000
MAX_EXPECTED_LENGTH = 300
"""Characters of the description of an argument in an error message."""
_JSON_TYPES: Mapping[type, str] = {dict: "object", list: "array", bool: "boolean"}
BASE64_SUFFIX = "_base64"
"""Suffix of the argument for a bytes field whose content is not text."""


class BadArguments(Exception):
    """The arguments of a call cannot be converted to a request; the message says which one, why, and what is
    expected.
    """

    def __init__(self, problem: str, argument: str = "", *, expected: str = "") -> None:
        super().__init__(f"{problem} (expected: {expected})" if expected else problem)
        self.argument = argument
        """The argument that is wrong; empty if it is not one argument."""


@dataclass(frozen=True)
class Tool:
    """One operation of one sandbox, as a model calls it."""

    name: str
    sandbox: str
    operation: Operation[Any, Any]
    route: Route | None = None
    """The HTTP route; an operation without one is called by name."""
    routes: Sequence[Route] = ()
    """All routes of the sandbox, to check that a call reaches its own route."""

    @property
    def description(self) -> str:
        """What the tool does, for the model."""
        return (self.operation.description or self.operation.name)[:MAX_DESCRIPTION_LENGTH]

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        schema = dict(self.operation.schema)
        schema.pop("title", None)
        schema.pop("description", None)
        properties = {name: _without_title(field) for name, field in schema.get("properties", {}).items()}
        for name in [name for name, field in properties.items() if field.pop("format", "") == "binary"]:
            description = f"`{name}` in base64, where it is not text"
            properties[f"{name}{BASE64_SUFFIX}"] = {"type": "string", "description": description}
        params = () if self.route is None else self.route.params
        required = [*dict.fromkeys([*params, *schema.get("required", ())])]
        return add_types(
            schema | {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        )

    def build_request(self, arguments: Mapping[str, Any]) -> Request:
        """Return the HTTP request for a call with these arguments."""
        route = self.route
        assert route is not None
        values = self._check_arguments(arguments)
        params = {name: _to_text(name, values[name]) for name in route.params}
        body, media = _encode_body(route, values)
        headers = {"content-type": route.media or media} if body else {}
        request = Request(route.method, build_path(route, params), _build_query(route, values), headers, body)
        _check_reaches(route, self.routes, request, params)
        return request

    def parse_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name, with base64 decoded."""
        values = self._check_arguments(arguments)
        for name in [name for name in values if name.endswith(BASE64_SUFFIX) and name not in self.operation.fields]:
            values[name.removesuffix(BASE64_SUFFIX)] = _decode_base64(name, values.pop(name))
        return values

    def _check_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: value for name, value in arguments.items() if value is not None}
        self._check_names(values)
        return values

    def _check_names(self, arguments: Mapping[str, Any]) -> None:
        known, required = self.parameters["properties"], self.parameters["required"]
        unknown = sorted(arguments.keys() - known.keys())
        missing = [name for name in required if name not in arguments and f"{name}{BASE64_SUFFIX}" not in arguments]
        if unknown:
            raise BadArguments(f"unknown argument `{unknown[0]}`; known: {', '.join(known) or 'none'}", unknown[0])
        if missing:
            raise BadArguments(f"`{missing[0]}` is missing", missing[0], expected=_describe_field(known[missing[0]]))


def _check_reaches(route: Route, routes: Sequence[Route], request: Request, params: Mapping[str, str]) -> None:
    """Raise BadArguments if a value leads to another route, such as an empty one or one with a slash."""
    try:
        reached, path_values = find_route(routes, request)
    except Refusal:
        reached, path_values = None, {}
    if reached is not route or path_values != params:
        wrong = next((name for name in route.params if path_values.get(name) != params[name]), "")
        raise BadArguments(f"{', '.join(route.params)}: not a value that fits {route.path}", wrong)


def _describe_field(schema: Mapping[str, Any]) -> str:
    """Return the type and the description of a field, for an error message."""
    types = schema.get("type", ())
    type_text = types if isinstance(types, str) else " or ".join(types)
    return ": ".join(filter(None, (type_text, schema.get("description", ""))))[:MAX_EXPECTED_LENGTH]


def _without_title(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a field without its title, which tells a model nothing."""
    return {name: value for name, value in field.items() if name != "title"}


def build_tools(
    sandbox: str,
    routes: Sequence[Route],
    operations: Iterable[Operation[Any, Any]] = (),
    *,
    is_only: bool = False,
    toolset: Toolset = "all",
) -> list[Tool]:
    """Return the operations of a sandbox that are tools: those with a route first, then those without.

    Their names begin with that of the sandbox, unless it is the only one. A kind that declares no operation as
    essential has all of them in both toolsets.
    """
    routed = {route.operation.name for route in routes}
    pairs: list[tuple[Operation[Any, Any], Route | None]] = [(route.operation, route) for route in routes]
    pairs += [(operation, None) for operation in operations if operation.name not in routed]
    pairs = [(operation, route) for operation, route in pairs if (operation.tool if route is None else route.is_tool)]
    if toolset == "essential":
        pairs = [pair for pair in pairs if pair[0].essential] or pairs
    prefix = "" if is_only else sandbox
    return [
        Tool(build_tool_name(prefix, operation.name), sandbox, operation, route, routes) for operation, route in pairs
    ]


def index_by_name(tools: Iterable[Tool], taken: Collection[str] = ()) -> dict[str, Tool]:
    """Return tools by name.

    If two names differ only in characters that a tool name cannot have, the second gets a number. So does one that is
    taken.
    """
    by_name: dict[str, Tool] = {}
    for tool in tools:
        name, count = tool.name, 1
        while name in by_name or name in taken:
            count += 1
            name = f"{tool.name[: MAX_NAME_LENGTH - 4]}_{count}"
        by_name[name] = tool
    return by_name


def build_tool_name(sandbox: str, operation: str) -> str:
    """Return `drop__read_file`, or `read_file` without a sandbox: letters, digits, `_` and `-`, at most 64 of them."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{sandbox}__{operation}" if sandbox else operation)
    if len(name) <= MAX_NAME_LENGTH:
        return name
    return f"{name[: MAX_NAME_LENGTH - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _build_query(route: Route, arguments: Mapping[str, Any]) -> QueryParams:
    named = {name: _to_text(name, arguments[name], flags=True) for name in route.query if name in arguments}
    free_query = _to_text(route.free_query, arguments.get(route.free_query, "")) if route.free_query else ""
    return QueryParams((*named.items(), *parse_qsl(free_query.removeprefix("?"), keep_blank_values=True)))


def _to_text(name: str, value: Any, *, flags: bool = False) -> str:
    if flags and isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadArguments(f"`{name}` must be text, not {_JSON_TYPES.get(type(value), type(value).__name__)}", name)
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadArguments(f"`{name}` is not Unicode", name) from None
    return text


def _encode_body(route: Route, arguments: Mapping[str, Any]) -> tuple[bytes, str]:
    name = route.body
    if not name:
        content = {field: arguments[field] for field in route.json_fields if field in arguments}
        return (_encode_json("the arguments", content), JSON) if route.json_fields else (b"", JSON)
    if route.body_type is object:
        return _encode_json(f"`{name}`", arguments[name]) if name in arguments else b"", JSON
    encoded, media = arguments.get(f"{name}{BASE64_SUFFIX}"), BYTES if route.body_type is bytes else TEXT
    if encoded is None:
        return _to_text(name, arguments.get(name, "")).encode(), media
    return _decode_base64(f"{name}{BASE64_SUFFIX}", encoded), media


def _decode_base64(name: str, encoded: Any) -> bytes:
    try:
        return base64.b64decode(_to_text(name, encoded), validate=True)
    except (binascii.Error, ValueError):
        raise BadArguments(f"`{name}` is not base64", name) from None


def _encode_json(what: str, value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise BadArguments(f"{what} cannot be written as JSON: {error}") from None
