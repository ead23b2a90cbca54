"""Flows by their ids, one or several: what `flow_started`, its negation and clarifications take."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from clerkship.assertions.occurrence import Name, NotEmpty


def _one_alone(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float) else value


def _any_case(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


FlowIds = Annotated[tuple[Name, ...], BeforeValidator(_one_alone), NotEmpty, Field(json_schema_extra={"minItems": 1})]
Operator = Annotated[Literal["any", "all"], BeforeValidator(_any_case)]
