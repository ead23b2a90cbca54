"""Describe the REST API as OpenAPI 3.1, from the models of its operations."""

import inspect
from collections.abc import Iterable, Sequence
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from clerkship.sandbox.request import JSON, Reply
from clerkship.sandbox.route import BYTES, Route
from clerkship.simulators.portal.api.results import ApiError
from clerkship.transports.multipart import FORM

_ERRORS = {
    "401": "No valid credential.",
    "403": "The account has no access.",
    "404": "There is no such record, or the API is closed.",
    "409": "It is not possible in this state.",
    "422": "Something is wrong in the fields.",
}
_REFERENCE = "#/components/schemas/{model}"


def build_description(routes: Sequence[Route], base_url: str) -> dict[str, Any]:
    """Return the description of some routes."""
    paths, schemas = _describe_routes(tuple(routes))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Payer portal",
            "version": "1",
            "description": "Eligibility, prior authorizations and claims, with the checks and words of the pages.",
        },
        "servers": [{"url": base_url or "/"}],
        "security": [{"bearer": []}, {"basic": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
    }


@cache
def _describe_routes(routes: tuple[Route, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    inputs = {route: route.operation.input for route in routes}
    results = {route: _find_result(route) for route in routes}
    wanted: list[tuple[Any, JsonSchemaMode]] = [(model, "validation") for model in inputs.values()]
    wanted += [(model, "serialization") for model in (*results.values(), ApiError) if model is not None]
    adapters = [(model, mode, TypeAdapter(model)) for model, mode in dict.fromkeys(wanted)]
    refs, definitions = TypeAdapter.json_schemas(adapters, ref_template=_REFERENCE)
    schemas: dict[str, Any] = definitions["$defs"]
    paths: dict[str, Any] = {}
    for route in routes:
        name = refs[inputs[route], "validation"]["$ref"].rpartition("/")[2]
        result = results[route]
        answer = None if result is None else refs[result, "serialization"]
        entry = _describe_operation(route, schemas[name], answer, refs[ApiError, "serialization"])
        paths.setdefault(route.path, {})[route.method.lower()] = entry
    used = set(_find_references(paths))
    while more := {name for each in used for name in _find_references(schemas[each])} - used:
        used |= more
    return paths, {name: schemas[name] for name in schemas if name in used}


def _find_references(schema: Any) -> Iterable[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].rpartition("/")[2]
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from _find_references(each)


def _find_result(route: Route) -> type[Any] | None:
    """Return the type of the result; None for no content or a file."""
    returned = get_type_hints(inspect.unwrap(route.operation.run))["return"]
    [model] = get_args(returned) or (None,)
    return None if model is NoneType else model


def _describe_operation(route: Route, schema: dict[str, Any], result: Any, error: Any) -> dict[str, Any]:
    fields, required = schema.get("properties", {}), set(schema.get("required", ()))
    entry: dict[str, Any] = {
        "operationId": route.operation.name,
        "summary": " ".join(route.operation.description.partition(". ")[0].split()).rstrip(".") + ".",
        "description": " ".join(route.operation.description.split()),
        "parameters": [
            {
                "name": name,
                "in": "path" if name in route.params else "query",
                "required": name in route.params or (name in required and not route.body),
                "description": fields[name].get("description", ""),
                "schema": fields[name],
            }
            for name in (*route.params, *route.query)
        ],
        "responses": {
            **_describe_success(route, result),
            **{code: {"description": text, "content": {JSON: {"schema": error}}} for code, text in _ERRORS.items()},
        },
    }
    if route.body:
        upload = {"file": {"type": "string", "format": "binary"}, "type": fields["type"]}
        form = {"type": "object", "properties": upload, "required": ["file"]}
        entry["requestBody"] = {"required": True, "content": {FORM: {"schema": form}, BYTES: {"schema": {}}}}
    elif route.json_fields:
        body = {
            "type": "object",
            "properties": {name: fields[name] for name in route.json_fields},
            "required": sorted(required & set(route.json_fields)),
            "additionalProperties": False,
        }
        entry["requestBody"] = {"required": bool(body["required"]), "content": {JSON: {"schema": body}}}
    return entry


def _describe_success(route: Route, result: Any) -> dict[str, Any]:
    if result is not None:
        return {str(route.status): {"description": "Done.", "content": {JSON: {"schema": result}}}}
    if get_type_hints(inspect.unwrap(route.operation.run))["return"] is Reply:
        return {"200": {"description": "The file.", "content": {BYTES: {"schema": {}}}}}
    return {"204": {"description": "Done."}}
