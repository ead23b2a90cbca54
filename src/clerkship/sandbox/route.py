"""HTTP routes: bind requests to the operations of a simulator, parse their input and render their results."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, get_args
from urllib.parse import urlencode

import orjson
from pydantic import ValidationError

from clerkship.kit.depth import MAX_DEPTH, is_deeper_than
from clerkship.model.frozen import encode_model
from clerkship.sandbox.json_schema import convert_text, find_violation, get_types
from clerkship.sandbox.operation import Operation, OperationContext, ProtocolCall, SimulatorInterface
from clerkship.sandbox.request import MAX_BODY, ByteStream, Refusal, Reply, Request, refuse_as_json

MAX_LISTED_ROUTES = 12
"""Routes listed in the refusal of an unknown path."""
BYTES, TEXT = "application/octet-stream", "text/plain; charset=utf-8"
OK, NO_CONTENT, TOO_LARGE = 200, 204, 413
_PARAMETER = re.compile(r"\{(\w+)(\*?)\}")
_WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE"})


class Route:
    """An HTTP method and path bound to an operation.

    `{name}` in a path matches up to the next slash; `{name*}` also matches slashes.

    Each field of the operation's input is in one place of the request. It is in the path if the path has its name,
    and it is the body if `body` names it. All other fields are in the query of GET, HEAD and DELETE, and in a JSON
    object in the body of other methods. `query` names fields that are in the query of any method.

    `parse`, `render` and `refuse` replace how requests are read, and how results and refusals are written.
    """

    def __init__(  # noqa: PLR0913  (routes are declared in tables; all options are keyword-only)
        self,
        method: str,
        path: str,
        operation: Operation[Any, Any],
        *,
        body: str = "",
        query: Collection[str] = (),
        free_query: str = "",
        media: str = "",
        status: int = 200,
        parse: "ParseRequest | None" = None,
        render: "RenderResult | None" = None,
        refuse: Callable[[Refusal], Reply] | None = None,
        is_heavy: Callable[[Request], bool] | None = None,
        max_body: int = MAX_BODY,
        is_upgrade: bool = False,
    ) -> None:
        self.method, self.path, self.operation = method, path, operation
        self.body = body
        """The field that is the body: bytes, text, or JSON."""
        self.free_query = free_query
        """The text field that gets the whole query string, if any parameter is allowed."""
        self.media = media
        """The media type of the body, if the type of its field does not imply it."""
        self.status = status
        self.parse = parse or bind_input
        self.render = render or render_result
        self.refuse = refuse
        """Renders refusals, if not as the simulator does; OAuth has its own form."""
        self.is_heavy = is_heavy
        """Whether a request may take long, so that it is never handled on the event loop."""
        self.max_body = max_body
        """Maximum body size in bytes. The HTTP listener never accepts more than 20 MB."""
        self.is_upgrade = is_upgrade
        """Whether its reply hands the connection over to another protocol, such as WebSocket: models do not get it as a
        tool."""
        self.params = tuple(name for name, _ in _PARAMETER.findall(path))
        self._query = query
        self.pattern = _compile_path(path)
        self.slashes = None if "*}" in path else path.count("/")
        """The number of slashes in a path that it matches; None if a parameter may have some."""
        literals = _PARAMETER.split(path)[::3]
        self.literal = literals[-1] or max(literals, key=len)
        """A text that each path has that it matches, for a quick test. Paths that begin alike differ in their end."""

    @property
    def is_tool(self) -> bool:
        """Whether models get it as a tool."""
        return self.operation.tool and not self.is_upgrade

    @cached_property
    def query(self) -> tuple[str, ...]:
        """The fields that are in the query."""
        elsewhere = {*self.params, self.body, self.free_query}
        named = self.operation.fields if self.method in _WITHOUT_BODY else self._query
        return tuple(
            name for name in self.operation.schema.get("properties", ()) if name in named and name not in elsewhere
        )

    @cached_property
    def is_path_only(self) -> bool:
        """Whether the input is a model whose fields are all in the path."""
        elsewhere = (*self.query, *self.json_fields, self.body, self.free_query)
        return self.operation.input is not dict and not any(elsewhere)

    @cached_property
    def json_fields(self) -> tuple[str, ...]:
        """The fields that are in a JSON object in the body."""
        if self.body or self.method in _WITHOUT_BODY:
            return ()
        elsewhere = {*self.params, *self.query, self.free_query}
        return tuple(name for name in self.operation.schema.get("properties", ()) if name not in elsewhere)

    @cached_property
    def body_type(self) -> type[Any]:
        """The type of the field that is the body: bytes, str, or object for JSON."""
        if self.operation.input is dict:
            return self._schema_body_type()
        annotation = self.operation.input.model_fields[self.body].annotation
        types = (annotation, *get_args(annotation))
        return next((type for type in (bytes, str) if type in types), object)

    def _schema_body_type(self) -> type[Any]:
        schema = self.operation.schema
        field = schema["properties"][self.body]
        if get_types(field, schema.get("$defs", {})) != {"string"}:
            return object
        return bytes if field.get("format") == "binary" else str

    def unknown_fields(self) -> list[str]:
        """Return the names in the path, `body`, `query` and `free_query` that no field of the input has."""
        named = (*self.params, *self._query, *filter(None, (self.body, self.free_query)))
        return [name for name in dict.fromkeys(named) if name not in self.operation.fields]


ParseRequest = Callable[["HttpCall", OperationContext[Any]], Any]
"""Reads the input of an operation from a request; raises Refusal."""
RenderResult = Callable[["HttpCall", OperationContext[Any], Any], Reply]
"""Writes the result of an operation as a reply."""


class HttpCall(ProtocolCall):
    """One HTTP request to a sandbox, and its route."""

    def __init__(self, request: Request, base: str = "") -> None:
        self.request, self.base, self.body = request, base, request.body
        self.wants_body = request.method != "HEAD"
        self.route: Route | None = None
        self.operation = None
        self.params: Mapping[str, str] = {}

    @property
    def title(self) -> tuple[str, str]:
        """The method and the path."""
        return self.request.method, self.request.path

    def locate(self, interface: SimulatorInterface) -> None:
        """Find the route; raises Refusal if there is none. A second call does nothing."""
        if self.route is None:
            self.route, self.params = find_route(interface.routes, self.request)
            self.operation = self.route.operation

    def check_size(self) -> None:
        """Raise Refusal if the body is too large for the route."""
        limit = MAX_BODY if self.route is None else self.route.max_body
        if len(self.body) > limit:
            raise Refusal(TOO_LARGE, "too_large", f"a body may have {limit} bytes")

    def parse(self, context: OperationContext[Any]) -> Any:
        """Return the input of the operation; raises Refusal."""
        assert self.route is not None
        return self.route.parse(self, context)

    def render(self, context: OperationContext[Any], result: Any) -> Reply:
        """Write the result as the route does."""
        assert self.route is not None
        return self.route.render(self, context, result)

    def refuse(self, refusal: Refusal, interface: SimulatorInterface | None) -> Reply:
        """Write a refusal as the route does, or else the simulator."""
        refuse = refuse_as_json if interface is None else interface.refuse
        if self.route is not None and self.route.refuse is not None:
            refuse = self.route.refuse
        reply = refuse(refusal)
        return replace(reply, headers={**refusal.headers, **reply.headers}) if refusal.headers else reply

    def cost_key(self) -> tuple[str, ...] | None:
        """Return the names in the query; None for a request that may take long."""
        route, pairs = self.route, self.request.pairs
        if route is not None and route.is_heavy is not None and route.is_heavy(self.request):
            return None
        return tuple([name for name, _ in pairs]) if pairs else ()


def bind_input(call: HttpCall, context: OperationContext[Any]) -> Any:
    """Read the input of an operation from the path, query and body of the request."""
    route, request = call.route, call.request
    assert route is not None
    if route.is_path_only:
        return validate_input(route.operation, call.params)
    query = request.query
    values: dict[str, Any] = {name: query[name] for name in route.query if name in query} if query else {}
    if route.body:
        values[route.body] = _parse_body(route, request.body)
    elif route.json_fields:
        values |= _parse_object(request.body)
    if route.free_query:
        values[route.free_query] = urlencode(request.pairs)
    values |= call.params
    if route.operation.input is dict:
        values |= _convert_texts(route, values)
    return validate_input(route.operation, values)


def _convert_texts(route: Route, values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert values of the path and query to the types that the schema declares: integers, numbers and booleans."""
    schema = route.operation.schema
    fields, definitions = schema.get("properties", {}), schema.get("$defs", {})
    places = [name for name in (*route.params, *route.query) if name in values and name in fields]
    return {name: convert_text(fields[name], values[name], definitions) for name in places}


def validate_input(operation: Operation[Any, Any], values: Mapping[str, Any]) -> Any:
    """Return the values as the input of the operation; raises Refusal if they are not valid."""
    if not values.keys() <= operation.fields:
        unknown = sorted(map(str, values.keys() - operation.fields))
        raise Refusal(422, "invalid_input", f"{unknown[0]}: unknown; expected: {', '.join(sorted(operation.fields))}")
    if operation.input is dict:
        violation = find_violation(operation.schema, dict(values))
        if violation is not None:
            raise Refusal(422, "invalid_input", str(violation))
        return dict(values)
    try:
        return operation.input.__pydantic_validator__.validate_python(values)  # `model_validate` without its overhead
    except ValidationError as error:
        raise Refusal(422, "invalid_input", describe_first_error(error)) from None


def describe_first_error(error: ValidationError) -> str:
    """Return the first error of a validation in one line, with its location."""
    first = error.errors()[0]
    message = "expected a list" if first["type"] in ("tuple_type", "list_type") else first["msg"]
    return f"{'.'.join(map(str, first['loc'])) or 'input'}: {message}"


def _parse_body(route: Route, body: bytes) -> Any:
    if route.body_type is bytes:
        return body
    if route.body_type is not str:
        return _parse_json(body)
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise Refusal(400, "not_text", "the body is not UTF-8") from None


def _parse_object(body: bytes) -> dict[str, Any]:
    data = _parse_json(body) if body else {}
    if not isinstance(data, dict):
        raise Refusal(422, "invalid_input", "the body must be a JSON object")
    return data


def _parse_json(body: bytes) -> Any:
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Refusal(400, "not_json", "the body is not JSON") from None
    # Data is not nested more deeply than it has brackets.
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH and is_deeper_than(data):
        raise Refusal(422, "invalid_input", f"the body is nested more than {MAX_DEPTH} levels deep")
    return data


def render_result(call: HttpCall, context: OperationContext[Any], result: Any) -> Reply:
    """Write a result with the status of the route; None becomes 204."""
    assert call.route is not None
    status = call.route.status
    return to_reply(NO_CONTENT if result is None and status == OK else status, result)


def to_reply(status: int, result: Any) -> Reply:
    """Return a reply with the result as its body.

    Bytes, chunks and text are sent as they are, None as no body, and other data as JSON.
    """
    if type(result) is dict:  # nearly every result; to compare it with the types below takes longer than to write it
        return Reply(status, orjson.dumps(result, default=encode_model))
    match result:
        case None:
            return Reply(status)
        case Reply():
            return result
        case ByteStream():
            return Reply(status, media=BYTES, stream=result)
        case bytes():
            return Reply(status, result, BYTES)
        case str():
            return Reply(status, result.encode(), TEXT)
    return Reply(status, orjson.dumps(result, default=encode_model))


def _compile_path(path: str) -> re.Pattern[str]:
    literal, *rest = _PARAMETER.split(path)  # `rest` repeats name, star and literal
    parts = [
        f"(?P<{name}>{'.+' if star else '[^/]+'}){re.escape(text)}"
        for name, star, text in zip(rest[::3], rest[1::3], rest[2::3], strict=True)
    ]
    return re.compile(re.escape(literal) + "".join(parts))


def build_path(route: Route, params: Mapping[str, str]) -> str:
    """Return the path of a route with these parameters, decoded as a Request has it."""
    return _PARAMETER.sub(lambda match: params[match[1]], route.path)


def _find_head_or_refuse(
    routes: Sequence[Route], request: Request, path: str, allowed: list[str]
) -> tuple[Route, Mapping[str, str]]:
    """Return the route of GET for a HEAD request (RFC 9110 §9.3.2); refuse all other methods."""
    if request.method == "HEAD" and "GET" in allowed:
        return find_route(routes, Request("GET", path))
    if "GET" in allowed and "HEAD" not in allowed:
        allowed.insert(allowed.index("GET") + 1, "HEAD")
    listed = ", ".join(allowed)
    reason = f"{request.method} is not allowed here (allowed: {listed})"
    raise Refusal(405, "method_not_allowed", reason, {"Allow": listed})


def find_route(routes: Sequence[Route], request: Request) -> tuple[Route, Mapping[str, str]]:
    """Return the route of a request and its path parameters.

    Raises Refusal with 404 for an unknown path and 405 for a method that is not allowed (RFC 9110 §15.5.5, §15.5.6).
    """
    method, whole = request.method, request.path
    for path in (whole, whole.removesuffix("/")) if whole.endswith("/") else (whole,):
        slashes = path.count("/")
        for route in routes:
            if (
                route.literal in path
                and route.method == method
                and (route.slashes is None or route.slashes == slashes)
                and (match := route.pattern.fullmatch(path)) is not None
            ):
                return route, match.groupdict()
        allowed = list(dict.fromkeys([route.method for route in routes if route.pattern.fullmatch(path)]))
        if allowed:
            return _find_head_or_refuse(routes, request, path, allowed)
    listed = ", ".join(f"{route.method} {route.path}" for route in routes[:MAX_LISTED_ROUTES]) or "no HTTP route"
    more = f" and {len(routes) - MAX_LISTED_ROUTES} more" if len(routes) > MAX_LISTED_ROUTES else ""
    raise Refusal(404, "no_such_route", f"no route for {request.path[:200]}; routes: {listed}{more}")
