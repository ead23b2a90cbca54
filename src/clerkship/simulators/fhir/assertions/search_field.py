"""The `search` field of assertions: search parameters as an agent would write them, checked when the file is loaded."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.path_check import (
    find_expectation_error,
    find_path_error,
    find_path_error_in_all_types,
    find_token_error,
)
from clerkship.formats.fhir.search import parse_query
from clerkship.model.frozen import Flag, Number, Whole
from clerkship.model.located_error import FieldPath

SearchValue = Flag | Whole | Number | str
SearchField = Annotated[
    dict[str, SearchValue | tuple[SearchValue, ...]],
    Field(description="search parameter -> value; with a list of values, all must match"),
]


def to_query_pairs(search: Mapping[str, SearchValue | tuple[SearchValue, ...]]) -> list[tuple[str, str]]:
    """Return search parameters as pairs of name and value."""
    return [
        (name, _render_value(value))
        for name, values in search.items()
        for value in (values if isinstance(values, tuple) else (values,))
    ]


def _render_value(value: SearchValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def find_search_mistakes(
    type: str, search: Mapping[str, SearchValue | tuple[SearchValue, ...]]
) -> Iterator[tuple[FieldPath, str]]:
    """Yield the parameters that a server would refuse, and the reasons."""
    for name, value in search.items():
        try:
            parse_query(type, to_query_pairs({name: value}))
        except FhirError as invalid:
            yield ("search", name), str(invalid)
        else:
            messages = (find_token_error(type, name, text) for _, text in to_query_pairs({name: value}))
            yield from ((("search", name), message) for message in messages if message)


RESULT_PARAMETERS = ("_sort", "_count")


def find_result_parameter_mistakes(search: Mapping[str, Any]) -> Iterator[tuple[FieldPath, str]]:
    """Yield `_sort` and `_count`, which have no meaning where each resource is compared by itself."""
    message = "not allowed here, since each resource is compared by itself"
    return ((("search", name), f"`{name}`: {message}") for name in RESULT_PARAMETERS if name in search)


def find_path_mistakes(type: str | None, paths: Iterable[tuple[FieldPath, str]]) -> Iterator[tuple[FieldPath, str]]:
    """Yield paths that do not exist in the resource type; without a type, those that exist in none."""
    for place, path in paths:
        message = find_path_error(type, path) if type is not None else find_path_error_in_all_types(path)
        if message:
            yield place, message


def find_expectation_mistakes(
    type: str | None, expected: Iterable[tuple[FieldPath, str, Any]]
) -> Iterator[tuple[FieldPath, str]]:
    """Yield expectations that no value at their path can match."""
    for place, path, expectation in expected if type is not None else ():
        message = find_expectation_error(type or "", path, expectation)
        if message:
            yield place, f"`{path}`: {message}"
