"""`search` in a criterion: search parameters of the resource's type, as an agent would write them, checked at load."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from clerkship.fhir.definitions import RESOURCE_TYPES
from clerkship.fhir.issue import Invalid
from clerkship.fhir.route import misstep
from clerkship.fhir.search import parse_query
from clerkship.model.frozen import Flag, Number, Whole
from clerkship.model.misplaced import Place
from clerkship.model.names import did_you_mean

Value = Flag | Whole | Number | str
Search = Annotated[
    dict[str, Value | tuple[Value, ...]],
    Field(description="search parameter of the type -> value; a list says it once for each, and all must fit"),
]


def _known_type(name: str) -> str:
    if name not in RESOURCE_TYPES:
        hint = did_you_mean(name, RESOURCE_TYPES)
        raise ValueError(f"unknown resource type `{name[:60]}`" + (f"; {hint}" if hint.startswith("did") else ""))
    return name


TypeName = Annotated[str, AfterValidator(_known_type)]
"""A resource type of R4."""


def pairs(search: Mapping[str, Value | tuple[Value, ...]]) -> list[tuple[str, str]]:
    """As a query string has them."""
    return [
        (name, _text(value))
        for name, values in search.items()
        for value in (values if isinstance(values, tuple) else (values,))
    ]


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def search_mistakes(type: str, search: Mapping[str, Value | tuple[Value, ...]]) -> Iterator[tuple[Place, str]]:
    """What a server would refuse, parameter by parameter."""
    for name, value in search.items():
        try:
            parse_query(type, pairs({name: value}))
        except Invalid as invalid:
            yield ("search", name), str(invalid)


def path_mistakes(type: str, paths: Iterable[tuple[Place, str]]) -> Iterator[tuple[Place, str]]:
    """Paths that lead nowhere in a resource of this type."""
    return ((place, wrong) for place, path in paths if (wrong := misstep(type, path)))
