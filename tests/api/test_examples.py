"""The examples of the OpenAPI description are current, complete and valid."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema

from clerkship.api.app import build_routes
from clerkship.api.description import EXAMPLES, describe_interface
from tests.api.examples import record, render


def test_examples_are_what_a_server_answers(tmp_path: Path) -> None:
    advice = "`uv run --group dev python -m tests.api.examples` writes them"
    assert render(record(tmp_path)) == EXAMPLES.read_text(encoding="utf-8"), advice


def test_each_json_body_has_a_valid_example() -> None:
    description = describe_interface(build_routes())
    wrong = []
    for name, content in _list_json_contents(description):
        if "example" not in content:
            wrong.append(f"{name}: no example")
            continue
        schema = {**content["schema"], "components": description["components"]}
        errors = jsonschema.Draft202012Validator(schema).iter_errors(content["example"])
        wrong += [f"{name}: {error.message}" for error in errors]
    assert wrong == []


def _list_json_contents(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the JSON body of each request, and of one of its successes, if it has a schema."""
    for operations in description["paths"].values():
        for operation in operations.values():
            successes = [each for status, each in operation["responses"].items() if status < "300"]
            for part, holders in (("request", [operation.get("requestBody", {})]), ("answer", successes)):
                contents = [holder.get("content", {}).get("application/json", {}) for holder in holders]
                described = [
                    each for each in contents if each.get("schema") and each["schema"].get("format") != "binary"
                ]
                if described:
                    yield f"{operation['operationId']} {part}", max(described, key=lambda each: "example" in each)
