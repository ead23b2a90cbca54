"""Flow ids and the operator: fields of `flow_started`, `flow_not_started` and `pattern_clarification_contains`."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from clerkship.assertions.occurrence import Name, NotEmpty


def _wrap_single(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float) else value


def _to_lower_case(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _allow_single(schema: dict[str, Any]) -> None:
    several = {key: schema.pop(key) for key in ("type", "items") if key in schema}
    schema["anyOf"] = [{"type": "string", "minLength": 1}, {**several, "minItems": 1}]


FlowIds = Annotated[tuple[Name, ...], BeforeValidator(_wrap_single), NotEmpty, Field(json_schema_extra=_allow_single)]
Operator = Annotated[Literal["any", "all"], BeforeValidator(_to_lower_case)]
