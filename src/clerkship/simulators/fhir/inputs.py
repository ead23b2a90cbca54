"""Fields and base classes that the inputs of several interactions share."""

from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from clerkship.model.frozen import Frozen
from clerkship.simulators.fhir.state import Tags

QueryPairs = tuple[tuple[str, str], ...]
"""Names and values of query parameters, in order."""
ReturnPreference = Literal["minimal", "representation", "OperationOutcome"]
"""What the response to a write contains (R4 http: Prefer)."""
PAGING_HINT = "ask for fewer with `_count`, and follow the `next` link of each page"
CURSOR_DESCRIPTION = "for the next page: the `_cursor` of the `next` link; keep the other arguments"
SEARCH_DESCRIPTION = (
    "FHIR R4 search parameters as in a URL, such as name=smith&birthdate=ge1970&_count=10;"
    " for the next page, the part after the ? of the `next` link"
)
_RESOURCE_SCHEMA = {
    "type": "object",
    "properties": {"resourceType": {"type": "string", "description": "its type, such as Patient"}},
    "required": ["resourceType"],
}


def parse_query_pairs(query: str | QueryPairs) -> QueryPairs:
    """Parse a query that may be given as text."""
    if isinstance(query, str):
        return tuple(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    return query


def _remove_default(schema: dict[str, Any]) -> None:
    """Remove the default from the JSON schema of an optional field."""
    schema.pop("default", None)


FhirSandboxName = Annotated[str | None, Field(description="name of the FHIR sandbox; not needed if there is only one")]
"""The sandbox that a step or an assertion is about."""
TypeName = Annotated[str, Field(description="FHIR R4 resource type, such as Observation")]
ResourceId = Annotated[str, Field(description="id of the resource, such as 42 in Observation/42")]
ResourceBody = Annotated[
    Any,
    Field(description="the complete resource as FHIR R4 JSON; its elements depend on its type"),
    WithJsonSchema(_RESOURCE_SCHEMA),
]
Criteria = Annotated[
    QueryPairs,
    PlainValidator(parse_query_pairs),
    WithJsonSchema({"type": "string"}),
    Field(description=SEARCH_DESCRIPTION, json_schema_extra=_remove_default),
]
"""Search parameters. A text is parsed as the query of a URL."""
OptionalText = Annotated[str | SkipJsonSchema[None], Field(json_schema_extra=_remove_default)]
OptionalNumber = Annotated[int | SkipJsonSchema[None], Field(json_schema_extra=_remove_default)]
IfMatch = SkipJsonSchema[Tags | None]
"""The versions that may be changed (R4 http: If-Match)."""
IfNoneMatch = SkipJsonSchema[Tags | None]
"""For a read, the versions that the client has; for an update, the versions that must not exist."""
ReturnPreferenceField = SkipJsonSchema[ReturnPreference]


class InstanceInput(Frozen):
    """Input of an interaction on one resource, identified by its type and id."""

    type: TypeName
    id: ResourceId


class ConditionalInput(Frozen):
    """Input of a conditional interaction: the resource is the one that a search finds."""

    type: TypeName
    query: Criteria


def query_names(model: type[Frozen]) -> frozenset[str]:
    """Return the query parameters of an input model: the fields with an alias."""
    return frozenset(field.alias for field in model.model_fields.values() if field.alias is not None)


def query_pairs(input: Frozen) -> list[tuple[str, str]]:
    """Return the query parameters of an input, with their values."""
    fields = ((field.alias, getattr(input, name)) for name, field in type(input).model_fields.items())
    return [(alias, str(value)) for alias, value in fields if alias is not None and value is not None]
