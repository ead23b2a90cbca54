"""A query string to a Query: what is searched for, and how the answer is to look (R4 §3.1.1)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from clerkship.fhir.issue import Invalid, Issue, invalid
from clerkship.fhir.parameters import searchable_types
from clerkship.fhir.search.compartment import compartment_parameters
from clerkship.fhir.search.criteria import Unknown, compartment_criterion, known, linking, parse_criterion
from clerkship.fhir.search.query import Criterion, Include, Meaning, Query, SortBy, Summary, Total
from clerkship.fhir.search.show import spellings
from clerkship.fhir.search.values import MAX_VALUES_PER_PARAMETER

MAX_PARAMETERS = 200
MAX_VALUES = 2000
"""Values of all parameters of one search together; one parameter has at most values.MAX_VALUES_PER_PARAMETER."""
MAX_INCLUDES = 50
"""Different `_include` and `_revinclude` of one search; one that is repeated counts once."""
MAX_SORT_KEYS = 10
RESULTS = ("_sort", "_count", "_total", "_summary", "_elements", "_include", "_revinclude", "_cursor", "_type")
"""What is said about the answer, not about resources."""
INCLUDES = ("_include", "_revinclude")
ELSEWHERE = ("_format", "_pretty")
"""What the server looks at before a search begins."""


@dataclass
class _Reading:
    """A query while it is read."""

    type: str
    types: tuple[str, ...]
    strict: bool
    meaning: Meaning
    pairs: list[tuple[str, str]] = field(default_factory=list)
    ignored: list[Issue] = field(default_factory=list)
    wrong: list[Issue] = field(default_factory=list)
    criteria: dict[str, list[Criterion]] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)


def parse_query(
    type: str,
    pairs: Sequence[tuple[str, str]],
    *,
    strict: bool = True,
    meaning: Meaning | None = None,
    compartment: tuple[str, str] | None = None,
) -> Query:
    """A search of one type, or, with "", of the whole system; raises Invalid with everything that is wrong with it.

    `strict=False` leaves out parameters that are not known and lists them in `ignored`; what is malformed is refused
    either way. `meaning` tells the server's zone and time, where they are known; `compartment` narrows the search to
    that of ("Patient", "42").
    """
    if type and type not in searchable_types():
        raise invalid("not-supported", f"{type!r} is not a resource type of R4")
    _check_size(pairs)
    reading = _Reading(type, _types(type, pairs), strict, meaning or Meaning())
    for name, text in pairs:
        try:
            _read(reading, name, text)
        except Unknown as error:
            _unknown(reading, error.issue)
        except Invalid as error:
            reading.wrong.extend(error.issues)
    if reading.wrong:
        raise Invalid(*reading.wrong)
    return _built(reading, compartment)


def _check_size(pairs: Sequence[tuple[str, str]]) -> None:
    if len(pairs) > MAX_PARAMETERS:
        raise invalid("too-costly", f"the search has {len(pairs)} parameters; at most {MAX_PARAMETERS} are allowed")
    counts = [text.count(",") + 1 for _, text in pairs]
    values = sum(
        count for count in counts if count <= MAX_VALUES_PER_PARAMETER
    )  # a parameter with more is refused by name
    if values > MAX_VALUES:
        raise invalid("too-costly", f"the search has {values} values; at most {MAX_VALUES} are allowed")


def _unknown(reading: _Reading, issue: Issue) -> None:
    if reading.strict:
        reading.wrong.append(issue)
    else:
        reading.ignored.append(issue._replace(severity="warning", text=f"{issue.text}; it was left out of the search"))


def _types(type: str, pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    if type:
        return (type,)
    named = [part for name, text in pairs if name == "_type" for part in text.split(",")]
    for each in named:
        if each not in searchable_types():
            raise invalid("value", f"_type: {each!r} is not a resource type of R4")
    return tuple(sorted(set(named))) or tuple(sorted(searchable_types()))


def _read(reading: _Reading, name: str, text: str) -> None:
    if name in ELSEWHERE:
        return
    label, _, modifier = name.partition(":")
    if label in RESULTS:
        _RESULT_READERS[label](reading, modifier, text)
    else:
        _read_criterion(reading, name, text)
    if label != "_cursor":
        reading.pairs.append((name, text))


def _read_criterion(reading: _Reading, name: str, text: str) -> None:
    if not name:
        raise invalid("invalid", f"a parameter without a name: ={text[:80]}")
    if len(reading.types) == len(searchable_types()) and not name.startswith("_has:"):
        known("Resource", re.split("[.:]", name)[0])  # what every type has, and nothing that one alone has
    for type in reading.types:
        reading.criteria.setdefault(type, []).append(parse_criterion(type, name, text, reading.meaning))


def _once(reading: _Reading, label: str, modifier: str, value: Any) -> None:
    if modifier:
        raise invalid("not-supported", f"{label} takes no modifier :{modifier}")
    if label in reading.said:
        raise invalid("invalid", f"{label} is said twice")
    reading.said[label] = value


def _sort(reading: _Reading, modifier: str, text: str) -> None:
    rules = [SortBy(part.lstrip("-"), part.startswith("-")) for part in text.split(",")]
    if len(rules) > MAX_SORT_KEYS:
        raise invalid("too-costly", f"_sort has {len(rules)} keys; at most {MAX_SORT_KEYS} are allowed")
    for rule in rules:
        sorts = {known(type, rule.name).type for type in reading.types}
        if "composite" in sorts:
            raise invalid("not-supported", f"_sort: {rule.name} is a composite, which has no order")
        if len(sorts) > 1:
            raise invalid("not-supported", f"_sort: {rule.name} is not of one sort in the types that are searched")
    _once(reading, "_sort", modifier, tuple(rules))


def _count(reading: _Reading, modifier: str, text: str) -> None:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise invalid("value", f"_count is a whole number, not {text!r}")
    _once(reading, "_count", modifier, int(text))


def _one_of(label: str, allowed: Sequence[str]) -> Callable[[_Reading, str, str], None]:
    def read(reading: _Reading, modifier: str, text: str) -> None:
        if text not in allowed:
            raise invalid("value", f"{label} is one of {', '.join(allowed)}, not {text!r}")
        _once(reading, label, modifier, text)

    return read


def _elements(reading: _Reading, modifier: str, text: str) -> None:
    names = tuple(text.split(","))
    for name in names:
        if not any(spellings(type, name) for type in reading.types):
            where = reading.type or "the types searched"
            raise invalid("value", f"_elements: {name!r} is not the name of an element at the top of {where}")
    _once(reading, "_elements", modifier, names)


def _include(label: str) -> Callable[[_Reading, str, str], None]:
    def read(reading: _Reading, modifier: str, text: str) -> None:
        if modifier not in {"", "iterate"}:
            raise invalid("not-supported", f"{label} takes :iterate, not :{modifier}")
        includes = reading.said.setdefault(label, {})
        includes[_parsed_include(label, reading, text, modifier == "iterate")] = None
        if sum(len(reading.said.get(name, ())) for name in INCLUDES) > MAX_INCLUDES:
            raise invalid("too-costly", f"the search has more than {MAX_INCLUDES} different _include and _revinclude")

    return read


def _parsed_include(label: str, reading: _Reading, text: str, iterate: bool) -> Include:
    if text == "*" and label == "_include":
        return Include("*", "*", "", iterate)
    source, _, rest = text.partition(":")
    parameter, _, target = rest.partition(":")
    if source not in searchable_types() or not parameter:
        raise invalid("value", f"{label} is Type:parameter or Type:parameter:Target, not {text!r}")
    if parameter != "*":
        found = linking(source, parameter)
        if target and target not in found.targets:
            raise invalid("value", f"{label}: {parameter} of {source} never means a {target}")
    elif target and target not in searchable_types():
        raise invalid("value", f"{label}: {target!r} is not a resource type")
    return Include(source, parameter, target, iterate)


def _cursor(reading: _Reading, modifier: str, text: str) -> None:
    _once(reading, "_cursor", modifier, text)


def _type(reading: _Reading, modifier: str, text: str) -> None:
    if reading.type:
        raise invalid("not-supported", "_type belongs to a search of the whole system")
    _once(reading, "_type", modifier, text)


_RESULT_READERS: dict[str, Callable[[_Reading, str, str], None]] = {
    "_sort": _sort,
    "_count": _count,
    "_total": _one_of("_total", get_args(Total)),
    "_summary": _one_of("_summary", get_args(Summary)),
    "_elements": _elements,
    "_include": _include("_include"),
    "_revinclude": _include("_revinclude"),
    "_cursor": _cursor,
    "_type": _type,
}


def _built(reading: _Reading, compartment: tuple[str, str] | None) -> Query:
    wanted = tuple((type, tuple(reading.criteria.get(type, ()))) for type in reading.types)
    said = {label[1:]: value for label, value in reading.said.items() if label not in (*INCLUDES, "_type")}
    includes, revincludes = (tuple(reading.said.get(label, ())) for label in INCLUDES)
    meaning = reading.meaning
    query = Query(
        reading.type,
        wanted,
        tuple(reading.pairs),
        tuple(reading.ignored),
        includes,
        revincludes,
        base=meaning.base,
        zone=meaning.zone,
        **said,
    )
    return query if compartment is None else _narrowed(query, *compartment)


def _narrowed(query: Query, compartment: str, id: str) -> Query:
    wanted = []
    for type, criteria in query.wanted:
        names = compartment_parameters(compartment, type)
        if names or type == compartment:
            wanted.append((type, (*criteria, compartment_criterion(type, names, f"{compartment}/{id}", query.base))))
        elif query.type:
            raise invalid("not-supported", f"no {type} is ever in the compartment of a {compartment}")
    return replace(query, wanted=tuple(wanted))
