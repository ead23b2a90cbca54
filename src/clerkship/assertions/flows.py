"""Flows by their ids, one or several: what `flow_started`, its negation and clarifications take."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from clerkship.assertions.occurrence import Name, NotEmpty


def _one_alone(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float) else value


def _any_case(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _or_one(schema: dict[str, Any]) -> None:
    several = {key: schema.pop(key) for key in ("type", "items") if key in schema}
    schema["anyOf"] = [{"type": "string", "minLength": 1}, {**several, "minItems": 1}]


FlowIds = Annotated[tuple[Name, ...], BeforeValidator(_one_alone), NotEmpty, Field(json_schema_extra=_or_one)]
Operator = Annotated[Literal["any", "all"], BeforeValidator(_any_case)]
