"""The OpenAPI 3.1 description of the interface, with every refusal of every route."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from clerkship.api.authorization import ACCESS
from clerkship.api.problems import MEDIA_TYPE, PROBLEMS
from clerkship.model.server_objects import Problem

EXAMPLES = Path(__file__).with_name("examples.json")
"""What a server answered to requests of the tests, by the name of the route."""
_BEARER = {"type": "http", "scheme": "bearer", "description": "The key of a person, a solver key, or a run token."}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "description": "A new text for each request. If the request is sent again with it, it is not carried out again, "
    "and has the same answer. It is kept for a day.",
}
_LIMITED = ("start_benchmark_run", "start_task_run", "list_events")
"""Routes that begin what only so many may have under way."""
_ABOUT = (
    "Tasks and runs of Clerkship, for agents that hold a key. Errors are problems (RFC 9457). "
    "Objects have `id`, `created_at` and `updated_at`, which may be sent back as they were returned."
)


def describe_interface(app: FastAPI) -> dict[str, Any]:
    """Return the description of an application as JSON data."""
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    description = get_openapi(
        title=app.title, version=app.version, openapi_version="3.1.0", description=_ABOUT, routes=routes
    )
    components = description.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs") | {"Problem": problem}
    components["securitySchemes"] = {"bearer": _BEARER}
    examples = orjson.loads(EXAMPLES.read_bytes())
    for route in routes:
        method = min(route.methods or ())
        operation = description["paths"][route.path_format][method.lower()]
        _complete(operation, route, method)
        if route.name in examples:
            _add_example(operation, **examples[route.name])
    if app.state.root_path:
        description["servers"] = [{"url": app.state.root_path}]
    return description


def _complete(operation: dict[str, Any], route: APIRoute, method: str) -> None:
    """Add to an operation what holds for all: keys, idempotency and refusals."""
    operation["operationId"] = route.name
    operation["summary"] = route.name.replace("_", " ").capitalize()
    access = ACCESS[f"{method} {route.path}"]
    if not access.public:
        operation["security"] = [{"bearer": []}]
        kinds = {"person": "the key of a person", "solver": "a solver key", "run": "a run token"}
        extents = {"all": "", "own": " (for what is its own)"}
        allowed = [
            f"{words}{extents[extent]}" for kind, words in kinds.items() if (extent := getattr(access, kind)) != "no"
        ]
        operation["description"] = f"{operation.get('description', '')}\n\nKeys: {', '.join(allowed)}."
    if method == "POST":
        operation.setdefault("parameters", []).append(_IDEMPOTENCY_KEY)
    responses = operation["responses"]
    responses.pop("422", None)
    headers = {each["name"].lower() for each in operation.get("parameters", ())}
    if "if-none-match" in headers and method == "GET":
        responses["304"] = {"description": "The client has the current version."}
    for status in _list_refusals(operation, route, method, access.public):
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        responses.setdefault(str(status), {"description": PROBLEMS[status].title, "content": content})
    operation["responses"] = dict(sorted(responses.items()))


def _add_example(operation: dict[str, Any], status: int, request: Any = None, answer: Any = None) -> None:
    if request is not None:
        operation["requestBody"]["content"]["application/json"]["example"] = request
    if answer is not None:
        operation["responses"][str(status)]["content"]["application/json"]["example"] = answer


def _list_refusals(operation: dict[str, Any], route: APIRoute, method: str, public: bool) -> Iterator[int]:
    yield from (400,) if public else (400, 401, 403, 404)  # what a body or a query names may not be there either
    if method != "GET":
        yield 409
    if route.name in _LIMITED:
        yield 429
    if any(each["name"].lower() == "if-match" for each in operation.get("parameters", ())):
        yield 412
    if "requestBody" in operation:
        yield from (408, 413, 415)
    yield 500
    if route.path == "/readyz":
        yield 503
