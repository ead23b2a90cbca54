"""A sandbox's operations as tools that a model can call: each route described as JSON Schema, each call a request."""

import base64
import binascii
import hashlib
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import orjson

from clerkship.sandbox.exchange import JSON, Query, Refusal, Request
from clerkship.sandbox.route import Route, find_route, path_of

LONGEST_NAME = 64
OPEN_QUERY = "query"
"""The argument that has what stands behind the `?`, where any name may."""
_MEDIA = {"text": "text/plain; charset=utf-8", "bytes": "application/octet-stream"}


class BadArguments(Exception):
    """A call that cannot be made into a request; it says what is wrong with it."""


@dataclass(frozen=True)
class Tool:
    """One operation of one sandbox."""

    name: str
    description: str
    parameters: dict[str, Any]
    sandbox: str
    route: Route
    routes: Sequence[Route]
    """All of its sandbox's: a call must reach its own."""

    def request(self, arguments: Mapping[str, Any]) -> Request:
        """The request a call means."""
        self._check_names(arguments)
        route = self.route
        params = {name: _text(name, arguments[name]) for name in route.params}
        body, media = _body(route, arguments)
        headers = {"content-type": route.media or media} if body else {}
        request = Request(route.method, path_of(route, params), _query(route, arguments), headers, body)
        self._check_reaches(request, params)
        return request

    def _check_names(self, arguments: Mapping[str, Any]) -> None:
        known, required = self.parameters["properties"], self.parameters["required"]
        unknown = sorted(arguments.keys() - known.keys())
        missing = [name for name in required if arguments.get(name) is None]
        if unknown:
            raise BadArguments(f"unknown argument `{unknown[0]}`; known: {', '.join(known) or 'none'}")
        if missing:
            raise BadArguments(f"`{missing[0]}` is missing")

    def _check_reaches(self, request: Request, params: Mapping[str, str]) -> None:
        """A value with a slash in it, or an empty one, would lead elsewhere."""
        try:
            found, values = find_route(self.routes, request)
        except Refusal:
            found, values = None, {}
        if found is not self.route or values != params:
            raise BadArguments(f"{', '.join(self.route.params)}: not a value that fits {self.route.path}")


def tools_of(sandbox: str, routes: Sequence[Route]) -> list[Tool]:
    """The operations of a sandbox that are tools."""
    return [
        Tool(
            tool_name(sandbox, route.operation),
            (inspect.getdoc(route.handler) or route.operation)[:1000],
            _parameters(route),
            sandbox,
            route,
            routes,
        )
        for route in routes
        if route.tool
    ]


def table(tools: Iterable[Tool]) -> dict[str, Tool]:
    """By name; of two whose names differ only in signs that a tool's name cannot have, one gets a number."""
    found: dict[str, Tool] = {}
    for tool in tools:
        name, count = tool.name, 1
        while name in found:
            count += 1
            name = f"{tool.name[: LONGEST_NAME - 4]}_{count}"
        found[name] = tool
    return found


def tool_name(sandbox: str, operation: str) -> str:
    """`drop__read_file`: letters, digits, `_` and `-`, at most 64 of them."""
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{sandbox}__{operation}")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _parameters(route: Route) -> dict[str, Any]:
    properties: dict[str, Any] = {
        name: {"type": "string"} | ({"description": route.about[name]} if name in route.about else {})
        for name in route.params
    }
    properties |= {name: {"type": "string", "description": about} for name, about in route.query.items()}
    if route.open_query:
        properties[OPEN_QUERY] = {"type": "string", "description": route.open_query}
    required = list(route.params)
    defs: dict[str, Any] = {}
    if isinstance(route.body, str):
        properties["body"] = {"type": "string", "description": route.about.get("body", "the body, as text")}
    elif route.body is not None:
        schema = route.body.model_json_schema()
        defs = schema.pop("$defs", {})  # `#/$defs/…` is looked up from the top
        properties["body"] = schema
        required.append("body")
    if route.body == "bytes":
        properties["body_base64"] = {"type": "string", "description": "the body in base64, where it is not text"}
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return schema | ({"$defs": defs} if defs else {})


def _query(route: Route, arguments: Mapping[str, Any]) -> Query:
    named = {name: _text(name, arguments[name]) for name in route.query if arguments.get(name) is not None}
    written = _text(OPEN_QUERY, arguments.get(OPEN_QUERY) or "") if route.open_query else ""
    return Query((*named.items(), *parse_qsl(written.removeprefix("?"), keep_blank_values=True)))


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadArguments(f"`{name}` must be text, not {type(value).__name__}")
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadArguments(f"`{name}` is not Unicode") from None
    return text


def _body(route: Route, arguments: Mapping[str, Any]) -> tuple[bytes, str]:
    if route.body is None:
        return b"", JSON
    if not isinstance(route.body, str):
        try:
            return orjson.dumps(arguments["body"]), JSON
        except TypeError as error:
            raise BadArguments(f"`body` cannot be written as JSON: {error}") from None
    encoded = arguments.get("body_base64")
    if encoded is None:
        return _text("body", arguments.get("body") or "").encode(), _MEDIA[route.body]
    try:
        return base64.b64decode(_text("body_base64", encoded), validate=True), _MEDIA[route.body]
    except (binascii.Error, ValueError):
        raise BadArguments("`body_base64` is not base64") from None
