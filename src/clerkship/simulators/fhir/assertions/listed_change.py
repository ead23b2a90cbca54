"""An item of `fhir_no_other_changes`: a change that must, may or must not happen."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from clerkship.assertions.occurrence import CountExpectation
from clerkship.formats.fhir.chart import ChartView
from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.fhirpath import PathText, parse_plain_path, resource_matches
from clerkship.formats.fhir.names import RESOURCE_ID, ResourceTypeName
from clerkship.formats.fhir.search import matches_search
from clerkship.model.frozen import Frozen
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.matcher import describe_expected
from clerkship.model.scenario import Expected
from clerkship.simulators.fhir.assertions.agent_changes import ResourceChange
from clerkship.simulators.fhir.assertions.allowed_quantities import find_expected_quantities, list_literals
from clerkship.simulators.fhir.assertions.leaves import path_covers
from clerkship.simulators.fhir.assertions.quantities import ParsedQuantity, find_quantities
from clerkship.simulators.fhir.assertions.search_field import (
    SearchField,
    find_expectation_mistakes,
    find_path_mistakes,
    find_result_parameter_mistakes,
    find_search_mistakes,
    to_query_pairs,
)


def _check_plain_path(path: str) -> str:
    if parse_plain_path(path) is None:
        raise ValueError(f"`{path}` is not a plain path (expected: element names, such as name.given)")
    return path


def _check_quantity_text(text: str) -> str:
    if not text.strip().isdigit() and not list(find_quantities(text)):
        raise ValueError(f"`{text}` is not a quantity (expected: a number and its unit, such as 20 mEq)")
    return text


MIN_LONG_NUMBER = 7
"""Digits of a number that is no amount."""
ANY_VALUE: Any = {"exists": True}
"""The expectation for elements in `fields`: any value, but only quantities that are allowed."""
PlainPath = Annotated[str, AfterValidator(_check_plain_path)]
QuantityText = Annotated[str, AfterValidator(_check_quantity_text)]


class ListedChange(Frozen):
    """A change by type, resource, element and value."""

    change: Literal["created", "updated", "deleted", "any"] = "any"
    type: Annotated[ResourceTypeName | None, Field(description="resource type; any if not given")] = None
    id: Annotated[str | None, RESOURCE_ID, Field(description="resource id; `Patient/42` gives the type too")] = None
    search: SearchField = {}
    where: Annotated[
        dict[PathText, Expected],
        Field(description="path -> literal or matcher, on the resource after the change; before it, if it was deleted"),
    ] = {}
    fields: Annotated[
        tuple[PlainPath, ...],
        Field(
            description="paths that an update may change, with all below them; any if not given. Together with "
            "`elements`, paths that may have any value that the task asks for"
        ),
    ] = ()
    elements: Annotated[
        dict[PlainPath, Expected],
        Field(
            description="path -> literal or matcher for each value that may be set, with all below it; the longest "
            "path decides. Any value of any element if not given; `id`, `meta`, `identifier` and `text` are not checked"
        ),
    ] = {}
    quantities: Annotated[
        tuple[QuantityText, ...],
        Field(description="with `elements`, more quantities that may be set, such as `1 tablet`, or a phone number"),
    ] = ()
    count: Annotated[CountExpectation | None, Field(description="the number of such changes")] = None

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        if self.search and self.type is None:
            raise ValueError("`search` needs `type`")
        type = self.type_name
        if type and type not in RESOURCE_TYPES:
            raise build_located_error([(("id",), f"unknown resource type `{type}`")])
        mistakes = [*self._path_mistakes(type), *self._element_mistakes()]
        mistakes += [
            *(find_search_mistakes(type, self.search) if type else ()),
            *find_result_parameter_mistakes(self.search),
        ]
        if self.type and self.id and self.id.rpartition("/")[0] not in ("", self.type):
            mistakes.append((("id",), f"`{self.id}` is not a {self.type}"))
        if mistakes:
            raise build_located_error(mistakes)
        return self

    def _path_mistakes(self, type: str | None) -> Iterator[tuple[FieldPath, str]]:
        expectations: list[tuple[FieldPath, str, Any]] = [
            (("where", path), path, expectation) for path, expectation in self.where.items()
        ]
        expectations += [(("elements", path), path, expectation) for path, expectation in self.elements.items()]
        paths: list[tuple[FieldPath, str]] = [(place, path) for place, path, _ in expectations]
        paths += [(("fields", number), path) for number, path in enumerate(self.fields)]
        yield from find_path_mistakes(type, paths)
        yield from find_expectation_mistakes(type, expectations)

    def _element_mistakes(self) -> Iterator[tuple[FieldPath, str]]:
        if self.elements and self.change == "deleted":
            yield ("elements",), "`elements` is not allowed with `change: deleted`"
        if self.quantities and not self.elements:
            yield ("quantities",), "`quantities` needs `elements`"

    @property
    def type_name(self) -> str | None:
        """The resource type; None for any."""
        return self.type or (self.id or "").rpartition("/")[0] or None

    @property
    def key(self) -> str:
        """The key of the one resource, such as `Patient/42`; empty if `id` and `type` do not give it."""
        return f"{self.type_name}/{self.id.rpartition('/')[2]}" if self.id and self.type_name else ""

    def matches(self, change: ResourceChange, view: ChartView) -> bool:
        """Return whether a change is, at least in part, one that the item lists."""
        return (
            self.matches_target(change)
            and resource_matches(change.resource, self.where)
            and (not self.search or matches_search(view, change.type, to_query_pairs(self.search), change.resource))
        )

    def matches_target(self, change: ResourceChange) -> bool:
        """Return whether the item lists a change of this type, resource and elements, whatever the values are."""
        return (
            self.change in ("any", change.change_type)
            and self.type in (None, change.type)
            and self.id in (None, change.key, change.key.partition("/")[2])
            and (change.change_type != "updated" or any(map(self.covers_path, change.paths)))
        )

    def covers_path(self, path: str) -> bool:
        """Return whether the item lists the element at a path."""
        paths = (*self.fields, *self.elements)
        return not paths or any(path_covers(parse_plain_path(field) or (), path) for field in paths)

    def find_expectation(self, leaf: str) -> tuple[str, Any] | None:
        """Return the longest path in `elements` or `fields` that covers a leaf, and the expectation for it."""
        expected = dict.fromkeys(self.fields, ANY_VALUE) | self.elements
        covering = [path for path in expected if path_covers(parse_plain_path(path) or (), leaf)]
        best = max(covering, key=lambda path: len(parse_plain_path(path) or ()), default=None)
        return (best, expected[best]) if best is not None else None

    def list_long_numbers(self) -> list[str]:
        """Return the listed numbers that are no amounts, such as a phone number: they may be written in parts."""
        return [text for text in self.quantities if text.isdigit() and len(text) >= MIN_LONG_NUMBER]

    def find_named_quantities(self) -> Iterator[ParsedQuantity]:
        yield from find_expected_quantities(self.elements)
        yield from find_expected_quantities(self.where)
        for text in self.quantities:
            yield from find_quantities(text)

    def list_texts(self) -> Iterator[str]:
        """Yield the texts that can name a patient. A bare id in `search` is also yielded as a reference."""
        yield self.id or ""
        for _, value in to_query_pairs(self.search):
            yield from (value, *(f"Patient/{id}" for id in value.split(",")))
        expected: Mapping[str, Any] = self.elements | self.where
        yield from (str(value) for each in expected.values() for value in list_literals(each))

    def __str__(self) -> str:
        words = ["changed" if self.change == "any" else self.change, self.type or ("resource" if not self.id else "")]
        words += [self.id] if self.id else []
        query = "&".join(f"{name}={value}" for name, value in to_query_pairs(self.search))
        words += [f"with {query}"] if query else []
        words += (
            ["where " + ", ".join(f"{path} {describe_expected(e)}" for path, e in self.where.items())]
            if self.where
            else []
        )
        words += [f"at {', '.join(self.fields)}"] if self.fields else []
        return " ".join(filter(None, words))
