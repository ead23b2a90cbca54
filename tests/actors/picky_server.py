"""An OpenAI-compatible endpoint that behaves as small local servers do: it rejects what it does not understand."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.actors.servers import Answered, Asked

TYPES = ("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref")
Reply = Callable[[dict[str, Any]], Answered]


def completion(message: dict[str, Any], finish: str = "stop") -> Answered:
    """Return a completion with a message."""
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    choices = [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]
    return 200, {}, json.dumps({"choices": choices, "usage": usage}).encode()


def error(status: int, message: str, **more: str) -> Answered:
    """Return an error in OpenAI's format."""
    return status, {}, json.dumps({"error": {"message": message, **more}}).encode()


def find_untyped(schema: Any, where: str) -> Iterator[str]:
    """Yield the places of a schema that have no type, and arrays without items."""
    if not any(keyword in schema for keyword in TYPES):
        yield where
    if "array" in schema.get("type", ()) and "items" not in schema:
        yield f"{where} (array schema missing items)"
    for name, part in {**schema.get("properties", {}), **schema.get("$defs", {})}.items():
        yield from find_untyped(part, f"{where}.{name}")
    for part in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from find_untyped(part, f"{where}[]")


def require_types(reply: Reply) -> Callable[[Asked], Answered]:
    """Return a server function that answers 500 to a tool whose schema has a part without a type."""

    def answer(asked: Asked) -> Answered:
        if asked.method != "POST":
            return 200, {}, b""
        body = json.loads(asked.body)
        functions = [tool["function"] for tool in body.get("tools", ())]
        untyped = [place for each in functions for place in find_untyped(each["parameters"], each["name"])]
        return error(500, f"Failed to parse tools: no type at {untyped[0]}") if untyped else reply(body)

    return answer
