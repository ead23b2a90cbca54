"""The page about the REST interface of the server, from its OpenAPI description and its table of access."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from clerkship.api.app import build_routes
from clerkship.api.authorization import ACCESS
from clerkship.api.description import describe_interface
from clerkship.api.event_stream import MAX_STREAMS, MAX_STREAMS_OF_KEY
from clerkship.api.problems import PROBLEMS, VALIDATION
from clerkship.api.routing import MAX_BODY_BYTES, MAX_BODY_SECONDS
from clerkship.api.serving import MAX_CONNECTIONS
from clerkship.service.serving.keys import PREFIXES
from clerkship.service.serving.live_runs import MAX_LIVE_TRIALS, MAX_OPEN_RUNS, MAX_OPEN_RUNS_OF_SOLVER
from scripts.reference.render import render_page
from scripts.reference.tables import rows

_EXTENTS = {"all": "yes", "own": "its own", "no": ""}
_NAMED = {"Problem", "InvalidField"}


def api_page() -> str:
    """Return the page of the interface."""
    description = describe_interface(build_routes())
    schemas: dict[str, Any] = description["components"]["schemas"]
    tags: defaultdict[str, list[str]] = defaultdict(list)
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            tags[operation["tags"][0]].append(_describe_operation(f"{method.upper()} {path}", operation))
    objects = {name: schema for name, schema in schemas.items() if _is_shown(name, schema)}
    codes = [*PROBLEMS.values(), VALIDATION]
    return render_page(
        "api.md",
        access=rows((f"`{route}`", *_describe_access(route)) for route in ACCESS),
        codes=rows((f"`{kind.code}`", kind.status, kind.title.lower()) for kind in sorted(codes)),
        routes="\n".join(f"## {tag.capitalize()}\n\n{''.join(texts)}" for tag, texts in tags.items()),
        objects="\n".join(_describe_object(name, schema) for name, schema in sorted(objects.items())),
        prefixes=PREFIXES,
        MAX_BODY_MB=MAX_BODY_BYTES // 1_000_000,
        MAX_BODY_SECONDS=f"{MAX_BODY_SECONDS:g}",
        MAX_CONNECTIONS=f"{MAX_CONNECTIONS:,}",
        MAX_OPEN_RUNS=f"{MAX_OPEN_RUNS:,}",
        MAX_OPEN_RUNS_OF_SOLVER=MAX_OPEN_RUNS_OF_SOLVER,
        MAX_LIVE_TRIALS=f"{MAX_LIVE_TRIALS:,}",
        MAX_STREAMS=MAX_STREAMS,
        MAX_STREAMS_OF_KEY=MAX_STREAMS_OF_KEY,
    )


def _is_shown(name: str, schema: Mapping[str, Any]) -> bool:
    return bool(schema.get("properties")) and not name.startswith("ObjectList_") and name not in _NAMED


def _describe_access(route: str) -> tuple[str, ...]:
    access = ACCESS[route]
    public = "yes" if access.public else ""
    return (*(_EXTENTS[extent] for extent in (access.person, access.solver, access.run)), public)


def _describe_operation(route: str, operation: Mapping[str, Any]) -> str:
    text = operation["description"].partition("\n\nKeys:")[0].replace("\n", " ")
    parameters = [each for each in operation.get("parameters", ()) if each["in"] == "query"]
    queries = "; ".join(f"`{each['name']}`: {each.get('description', '')}".rstrip(". ") for each in parameters)
    lines = [f"### {route}", text]
    if queries:
        lines.append(f"Query: {queries}.")
    if body := operation.get("requestBody"):
        lines.append(f"Body: {_describe_content(body)}.")
    lines.append(f"Answers: {'; '.join(_describe_answers(operation['responses']))}.")
    return "\n\n".join(lines) + "\n\n"


def _describe_answers(responses: Mapping[str, Any]) -> Iterator[str]:
    refused = [status for status in responses if int(status) >= 400]
    for status, response in responses.items():
        if status not in refused:
            content = _describe_content(response)
            yield f"`{status}` {content}" if content else f"`{status}`"
    yield f"refusals {', '.join(f'`{status}`' for status in refused)}"


def _describe_content(holder: Mapping[str, Any]) -> str:
    for media_type, content in holder.get("content", {}).items():
        schema = content.get("schema", {})
        return f"`{media_type}`" if schema.get("format") == "binary" or not schema else _name_type(schema)
    return ""


def _describe_object(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    table = rows(
        (f"`{key}`", _name_type(each), "required" if key in required else "", each.get("description", ""))
        for key, each in schema["properties"].items()
    )
    about = schema.get("description", "").replace("\n", " ")
    return f"### {name}\n\n{about}\n\n| field | type | | |\n|---|---|---|---|\n{table}\n"


def _name_type(schema: Mapping[str, Any]) -> str:
    """Return the type of a value in words, with a link to the object that it is."""
    if ref := schema.get("$ref"):
        name = ref.rpartition("/")[2]
        if name == "JsonValue":
            return "any JSON"
        if name.startswith("ObjectList_"):
            inner = name.removeprefix("ObjectList_").removesuffix("_")
            return f"a list of {_link(inner)}"
        return _link(name)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_name_type(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_name_type(schema.get('items', {}))}"
    if schema.get("format") == "date-time":
        return "time"
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    return {**names, "object": "map", "null": "null"}.get(schema.get("type", ""), "anything")


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})" if name not in _NAMED else name
