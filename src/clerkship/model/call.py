"""Assertions and steps as YAML has them: a map with one key, the name, whose value is the arguments."""

from collections.abc import Iterator
from typing import Any

from pydantic import ConfigDict, JsonValue, ValidationError, model_serializer, model_validator

from clerkship.model.duration import Duration, render_duration
from clerkship.model.frozen import Frozen
from clerkship.model.names import canonical_name

ANY_OF = "any_of"
"""The assertion whose arguments are other assertions: a list of them, or a map with the list under `assertions`."""
CallPath = tuple[int | str, ...]


def _replace_with_map_schema(schema: dict[str, Any]) -> None:
    """Replace the JSON Schema of a call by that of a map. The registry adds the known names."""
    schema.clear()
    schema.update({"type": "object", "minProperties": 1})


class AssertionCall(Frozen):
    """An assertion by name: `{file_present: {...}}` or `{assert: file-present, ...}`."""

    model_config = ConfigDict(json_schema_extra=_replace_with_map_schema)
    name: str
    args: JsonValue = None

    @model_validator(mode="before")
    @classmethod
    def _parse_one_key(cls, value: Any) -> Any:
        if isinstance(value, AssertionCall):
            return value
        if isinstance(value, str):
            return {"name": canonical_name(value), "args": None}
        if isinstance(value, dict) and isinstance(value.get("assert"), str):
            args = {key: item for key, item in value.items() if key != "assert"}
            return {"name": canonical_name(value["assert"]), "args": args}
        if not isinstance(value, dict) or len(value) != 1:
            indent = "; indent its arguments, and put `-` before each assertion" if isinstance(value, dict) else ""
            raise ValueError(f"expected a map with one key, the assertion's name{_describe_value(value)}{indent}")
        name, args = next(iter(value.items()))
        return {"name": canonical_name(str(name)), "args": args}

    @model_serializer
    def _serialize(self) -> dict[str, JsonValue]:
        return {self.name: self.args}

    def leaves(self, path: CallPath = ()) -> Iterator[tuple[CallPath, "AssertionCall"]]:
        """Yield the assertions this one consists of, each with its path: those inside an `any_of`, else itself."""
        if self.name != ANY_OF:
            yield (*path, self.name), self
            return
        for inner_path, nested in nested_calls(self.args):
            yield from nested.leaves((*path, self.name, *inner_path))


def nested_calls(args: JsonValue) -> Iterator[tuple[CallPath, AssertionCall]]:
    """Yield the assertions in the arguments of `any_of`, each with its path; skip anything else."""
    listed, path = (args.get("assertions"), ("assertions",)) if isinstance(args, dict) else (args, ())
    for number, written in enumerate(listed if isinstance(listed, list | tuple) else ()):
        try:
            yield (*path, number), AssertionCall.model_validate(written)
        except ValidationError:
            continue


class StepCall(Frozen):
    """A scenario step by name: `{files.drop: {...}}`. With `at: +10m` it runs while the agent works."""

    model_config = ConfigDict(json_schema_extra=_replace_with_map_schema)
    name: str
    args: JsonValue = None
    at: Duration | None = None

    @model_validator(mode="before")
    @classmethod
    def _parse_one_key_and_at(cls, value: Any) -> Any:
        if isinstance(value, StepCall):
            return value
        if not isinstance(value, dict):
            raise ValueError(f"expected a map with one key, the step's name{_describe_value(value)}")
        step = {key: item for key, item in value.items() if key != "at"}
        if len(step) != 1:
            raise ValueError(f"expected one step name beside `at`{_describe_value(step)}")
        name, args = next(iter(step.items()))
        return {"name": canonical_name(str(name)), "args": args, "at": value.get("at")}

    @model_serializer
    def _serialize(self) -> dict[str, JsonValue]:
        written: dict[str, JsonValue] = {self.name: self.args}
        return written if self.at is None else {"at": render_duration(self.at), **written}


def _describe_value(value: Any) -> str:
    if isinstance(value, dict):
        return f", not {len(value)} ({', '.join(map(str, value))[:80]})" if value else ", not an empty one"
    return ", not nothing" if value is None else f", not {'a list' if isinstance(value, list) else repr(value)[:60]}"
