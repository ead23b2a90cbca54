"""Fields that the inputs of several interactions have."""

from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from clerkship.model.frozen import Frozen
from clerkship.simulators.fhir.state import Tags

QueryPairs = tuple[tuple[str, str], ...]
"""Names and values of a query, in order."""
ReturnPreference = Literal["minimal", "representation", "OperationOutcome"]
"""What the client wants to see of a write (R4 http: Prefer)."""
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
    """Read a query that may be written as text."""
    if isinstance(query, str):
        return tuple(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    return query


def _remove_default(schema: dict[str, Any]) -> None:
    """Leave the default out of the schema of a field that need not be given."""
    schema.pop("default", None)


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
"""What to search for. Where it is text, it is written as in a URL."""
OptionalText = Annotated[str | SkipJsonSchema[None], Field(json_schema_extra=_remove_default)]
OptionalNumber = Annotated[int | SkipJsonSchema[None], Field(json_schema_extra=_remove_default)]
IfMatch = SkipJsonSchema[Tags | None]
"""The versions that a change is meant for (R4 http: If-Match)."""
IfNoneMatch = SkipJsonSchema[Tags | None]
"""The versions that the client has, or that must not be there."""
ReturnPreferenceField = SkipJsonSchema[ReturnPreference]


class InstanceInput(Frozen):
    """A resource by its type and id."""

    type: TypeName
    id: ResourceId


class ConditionalInput(Frozen):
    """A resource of a type that a search finds."""

    type: TypeName
    query: Criteria


def query_names(model: type[Frozen]) -> frozenset[str]:
    """Return the names of the fields of an input that are in the query of a request: those with an alias."""
    return frozenset(field.alias for field in model.model_fields.values() if field.alias is not None)


def query_pairs(input: Frozen) -> list[tuple[str, str]]:
    """Return the fields of an input that are in the query of a request, with their values."""
    fields = ((field.alias, getattr(input, name)) for name, field in type(input).model_fields.items())
    return [(alias, str(value)) for alias, value in fields if alias is not None and value is not None]
