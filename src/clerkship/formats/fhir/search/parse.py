"""Parse the parameters of a search to a SearchQuery (R4 §3.1.1)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from clerkship.formats.fhir.definitions import get_structure, mandatory_elements, summary_elements
from clerkship.formats.fhir.issue import FhirError, Issue, fhir_error
from clerkship.formats.fhir.resource import Resource
from clerkship.formats.fhir.search.compartment import compartment_parameters
from clerkship.formats.fhir.search.criteria import (
    UnknownParameter,
    build_compartment_criterion,
    get_parameter,
    get_reference_parameter,
    parse_criterion,
)
from clerkship.formats.fhir.search.query import Criterion, Include, SearchContext, SearchQuery, SortKey, Summary, Total
from clerkship.formats.fhir.search.values import MAX_VALUES_PER_PARAMETER
from clerkship.formats.fhir.search_parameters import searchable_types

ALWAYS_INCLUDED = frozenset({"resourceType", "id", "meta"})
SUBSETTED = {"system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue", "code": "SUBSETTED"}


def subset_resource(resource: Resource, query: SearchQuery) -> Resource:
    """Return the elements that a query requests; an incomplete resource is tagged SUBSETTED."""
    names = _select_kept_elements(str(resource["resourceType"]), query)
    if names is not None:
        return _tag_subsetted({name: value for name, value in resource.items() if name.removeprefix("_") in names})
    if query.summary == "data":
        return _tag_subsetted({name: value for name, value in resource.items() if name != "text"})
    return resource


def _select_kept_elements(type: str, query: SearchQuery) -> frozenset[str] | None:
    if query.elements:
        return (
            ALWAYS_INCLUDED
            | mandatory_elements(type)
            | {each for name in query.elements for each in get_json_names(type, name)}
        )
    if query.summary == "true":
        return ALWAYS_INCLUDED | summary_elements(type)
    return ALWAYS_INCLUDED | {"text"} | mandatory_elements(type) if query.summary == "text" else None


@lru_cache(4096)
def get_json_names(type: str, element: str) -> frozenset[str]:
    """Return the JSON names of an element; for a choice, of all its types."""
    for each in get_structure(type).elements:
        if element == each.name or element in each.spellings:
            return frozenset(each.spellings) if element == each.name else frozenset({element})
    return frozenset()


def _tag_subsetted(resource: Resource) -> Resource:
    meta = resource.get("meta")
    known = meta if isinstance(meta, dict) else {}
    return {**resource, "meta": {**known, "tag": [*known.get("tag", ()), SUBSETTED]}}


MAX_PARAMETERS = 200
MAX_VALUES = 2000
"""Values of all parameters of a search; one parameter has at most values.MAX_VALUES_PER_PARAMETER."""
MAX_SORT_KEYS = 10
RESULT_PARAMETERS = (
    "_sort",
    "_count",
    "_total",
    "_summary",
    "_elements",
    "_include",
    "_revinclude",
    "_cursor",
    "_type",
)
"""Parameters about the results, not about resources."""
INCLUDE_PARAMETERS = ("_include", "_revinclude")
SERVER_PARAMETERS = ("_format", "_pretty")
"""Parameters that the server handles before a search."""
IGNORED_RESULT_PARAMETERS = {
    "_explain": "queries are not explained",
    "_maxresults": "all matches are returned, page by page",
    "_timeout": "a search is limited by its size, not by time",
    "_totalMethod": "the total is always exact",
}
"""Parameters of other servers (Aidbox) and of R5 that are about the results and cannot filter, and what holds instead.

They are ignored and reported, unless the client asks for strict handling.
"""
Handling = Literal["strict", "default", "lenient"]
"""Which parameters that are not supported are ignored and reported: none, those that cannot filter, or all (R4 search:
handling errors)."""


@dataclass
class _QueryBuilder:
    """The parts of a query while it is parsed."""

    type: str
    types: tuple[str, ...]
    handling: Handling
    context: SearchContext
    pairs: list[tuple[str, str]] = field(default_factory=list)
    ignored: list[Issue] = field(default_factory=list)
    errors: list[Issue] = field(default_factory=list)
    criteria: dict[str, list[Criterion]] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)


def parse_query(
    type: str,
    pairs: Sequence[tuple[str, str]],
    *,
    handling: Handling = "strict",
    context: SearchContext | None = None,
    compartment: tuple[str, str] | None = None,
) -> SearchQuery:
    """Parse a search of one type or, with "", of the whole system; raises FhirError with all errors.

    `handling` says which unknown parameters are ignored and listed in `ignored`; malformed ones are always refused.
    `context` has the zone and time of the server; `compartment`, such as ("Patient", "42"), restricts the
    search.
    """
    if type and type not in searchable_types():
        raise fhir_error("not-supported", f"{type!r} is not a resource type of R4")
    _check_size(pairs)
    builder = _QueryBuilder(type, _parse_types(type, pairs), handling, context or SearchContext())
    for name, text in pairs:
        try:
            _parse_parameter(builder, name, text)
        except UnknownParameter as error:
            _handle_unknown(builder, name, error.issue)
        except FhirError as error:
            builder.errors.extend(error.issues)
    if builder.errors:
        raise FhirError(*builder.errors)
    return _build_query(builder, compartment)


def _check_size(pairs: Sequence[tuple[str, str]]) -> None:
    if len(pairs) > MAX_PARAMETERS:
        raise fhir_error("too-costly", f"the search has {len(pairs)} parameters; at most {MAX_PARAMETERS} are allowed")
    counts = [text.count(",") + 1 for _, text in pairs]
    values = sum(
        count for count in counts if count <= MAX_VALUES_PER_PARAMETER
    )  # a parameter with more values is refused by name
    if values > MAX_VALUES:
        raise fhir_error("too-costly", f"the search has {values} values; at most {MAX_VALUES} are allowed")


def _handle_unknown(builder: _QueryBuilder, name: str, issue: Issue) -> None:
    instead = IGNORED_RESULT_PARAMETERS.get(name)
    if builder.handling == "strict" or (builder.handling == "default" and instead is None):
        builder.errors.append(issue)
        return
    text = issue.text if instead is None else f"{issue.text} ({instead})"
    builder.ignored.append(issue._replace(severity="warning", text=f"{text}; it was left out of the search"))


def _parse_types(type: str, pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    if type:
        return (type,)
    named = [part for name, text in pairs if name == "_type" for part in text.split(",")]
    for each in named:
        if each not in searchable_types():
            raise fhir_error("value", f"_type: {each!r} is not a resource type of R4")
    return tuple(sorted(set(named))) or tuple(sorted(searchable_types()))


def _parse_parameter(builder: _QueryBuilder, name: str, text: str) -> None:
    if name in SERVER_PARAMETERS:
        return
    label, _, modifier = name.partition(":")
    if label in RESULT_PARAMETERS:
        _RESULT_PARSERS[label](builder, modifier, text)
    else:
        _add_criterion(builder, name, text)
    if label != "_cursor":
        builder.pairs.append((name, text))


def _add_criterion(builder: _QueryBuilder, name: str, text: str) -> None:
    if not name:
        raise fhir_error("invalid", f"a parameter without a name: ={text[:80]}")
    if len(builder.types) == len(searchable_types()) and not name.startswith("_has:"):
        get_parameter("Resource", re.split("[.:]", name)[0])  # only parameters of every resource type
    for type in builder.types:
        builder.criteria.setdefault(type, []).append(parse_criterion(type, name, text, builder.context))


def _set_once(builder: _QueryBuilder, label: str, modifier: str, value: Any) -> None:
    if modifier:
        raise fhir_error("not-supported", f"{label} takes no modifier :{modifier}")
    if label in builder.results:
        raise fhir_error("invalid", f"{label} is given twice")
    builder.results[label] = value


def _parse_sort(builder: _QueryBuilder, modifier: str, text: str) -> None:
    rules = [SortKey(part.lstrip("-"), part.startswith("-")) for part in text.split(",")]
    if len(rules) > MAX_SORT_KEYS:
        raise fhir_error("too-costly", f"_sort has {len(rules)} keys; at most {MAX_SORT_KEYS} are allowed")
    for rule in rules:
        sorts = {get_parameter(type, rule.name).type for type in builder.types}
        if "composite" in sorts:
            raise fhir_error("not-supported", f"_sort: {rule.name} is a composite, which has no order")
        if len(sorts) > 1:
            raise fhir_error("not-supported", f"_sort: {rule.name} has different types in the resource types searched")
    _set_once(builder, "_sort", modifier, tuple(rules))


def _parse_count(builder: _QueryBuilder, modifier: str, text: str) -> None:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise fhir_error("value", f"_count is a whole number, not {text!r}")
    _set_once(builder, "_count", modifier, int(text))


def _build_choice_parser(label: str, allowed: Sequence[str]) -> Callable[[_QueryBuilder, str, str], None]:
    def read(builder: _QueryBuilder, modifier: str, text: str) -> None:
        if text not in allowed:
            raise fhir_error("value", f"{label} is one of {', '.join(allowed)}, not {text!r}")
        _set_once(builder, label, modifier, text)

    return read


def _parse_elements(builder: _QueryBuilder, modifier: str, text: str) -> None:
    names = tuple(text.split(","))
    for name in names:
        if not any(get_json_names(type, name) for type in builder.types):
            where = builder.type or "the types searched"
            raise fhir_error("value", f"_elements: {name!r} is not the name of an element at the top of {where}")
    _set_once(builder, "_elements", modifier, names)


def _build_include_parser(label: str) -> Callable[[_QueryBuilder, str, str], None]:
    def read(builder: _QueryBuilder, modifier: str, text: str) -> None:
        if modifier not in {"", "iterate"}:
            raise fhir_error("not-supported", f"{label} takes :iterate, not :{modifier}")
        includes = builder.results.setdefault(label, {})
        includes[_parse_include(label, builder, text, modifier == "iterate")] = None

    return read


def _parse_include(label: str, builder: _QueryBuilder, text: str, iterate: bool) -> Include:
    if text == "*" and label == "_include":
        return Include("*", "*", "", iterate)
    source, _, rest = text.partition(":")
    parameter, _, target = rest.partition(":")
    if source not in searchable_types() or not parameter:
        raise fhir_error("value", f"{label} is Type:parameter or Type:parameter:Target, not {text!r}")
    if parameter != "*":
        reference = get_reference_parameter(source, parameter)
        if target and target not in reference.targets:
            raise fhir_error("value", f"{label}: {parameter} of {source} cannot refer to a {target}")
    elif target and target not in searchable_types():
        raise fhir_error("value", f"{label}: {target!r} is not a resource type")
    return Include(source, parameter, target, iterate)


def _parse_cursor(builder: _QueryBuilder, modifier: str, text: str) -> None:
    _set_once(builder, "_cursor", modifier, text)


def _parse_type(builder: _QueryBuilder, modifier: str, text: str) -> None:
    if builder.type:
        raise fhir_error("not-supported", "_type is allowed only in a search of the whole system")
    _set_once(builder, "_type", modifier, text)


_RESULT_PARSERS: dict[str, Callable[[_QueryBuilder, str, str], None]] = {
    "_sort": _parse_sort,
    "_count": _parse_count,
    "_total": _build_choice_parser("_total", get_args(Total)),
    "_summary": _build_choice_parser("_summary", get_args(Summary)),
    "_elements": _parse_elements,
    "_include": _build_include_parser("_include"),
    "_revinclude": _build_include_parser("_revinclude"),
    "_cursor": _parse_cursor,
    "_type": _parse_type,
}


def _build_query(builder: _QueryBuilder, compartment: tuple[str, str] | None) -> SearchQuery:
    criteria_by_type = tuple((type, tuple(builder.criteria.get(type, ()))) for type in builder.types)
    results = {
        label[1:]: value for label, value in builder.results.items() if label not in (*INCLUDE_PARAMETERS, "_type")
    }
    includes, revincludes = (tuple(builder.results.get(label, ())) for label in INCLUDE_PARAMETERS)
    context = builder.context
    query = SearchQuery(
        builder.type,
        criteria_by_type,
        tuple(builder.pairs),
        tuple(builder.ignored),
        includes,
        revincludes,
        base=context.base,
        zone=context.zone,
        **results,
    )
    return query if compartment is None else _restrict_to_compartment(query, *compartment)


def _restrict_to_compartment(query: SearchQuery, compartment: str, id: str) -> SearchQuery:
    criteria_by_type = []
    for type, criteria in query.criteria_by_type:
        names = compartment_parameters(compartment, type)
        if names or type == compartment:
            criteria_by_type.append(
                (type, (*criteria, build_compartment_criterion(type, names, f"{compartment}/{id}", query.base)))
            )
        elif query.type:
            raise fhir_error("not-supported", f"no {type} is ever in the compartment of a {compartment}")
    return replace(query, criteria_by_type=tuple(criteria_by_type))
