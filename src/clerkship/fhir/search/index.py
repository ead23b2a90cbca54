"""Indexes: from what elements say to the rows of the resources that say it.

A row is a resource's place among the sorted keys of its type. Rows are added in order, so every posting is sorted and
without repetition; one row alone is kept as a number, more as an array of four bytes each.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from clerkship.fhir.parameters import Arm
from clerkship.fhir.resource import Resource
from clerkship.fhir.search.query import Address, Aspect, Code, Link, Measure, Moment, Value, Word
from clerkship.fhir.search.terms import (
    NO_UNIT,
    amounts,
    dates,
    is_present,
    labels,
    links,
    normal,
    reference_identifiers,
    strings,
    tokens,
    typed_identifiers,
)

K = TypeVar("K")
Posting: TypeAlias = "int | array[int]"
Rows = Sequence[int]
LAST = "\U0010ffff"


class Part(NamedTuple):
    """Rows that a lookup found, and whether they are sorted."""

    rows: Rows
    sorted: bool = True


def add(postings: dict[K, Posting], value: K, row: int) -> None:
    """One more row for a value."""
    have = postings.get(value)
    if have is None:
        postings[value] = row
    elif isinstance(have, int):
        if have != row:
            postings[value] = array("I", (have, row))
    elif have[-1] != row:
        have.append(row)


def rows_of(posting: "Posting | None") -> Rows:
    """The rows of a posting."""
    if posting is None:
        return ()
    return (posting,) if isinstance(posting, int) else posting


class Words:
    """Values that are texts: looked up whole, by their beginning, or by what they contain."""

    def __init__(self, said: Iterable[tuple[int, str]]) -> None:
        self.postings: dict[str, Posting] = {}
        for row, text in said:
            add(self.postings, text, row)
        self._sorted: list[str] | None = None

    @property
    def sorted(self) -> list[str]:
        """The values in order; worked out when somebody looks for a beginning."""
        if self._sorted is None:
            self._sorted = sorted(self.postings)
        return self._sorted

    def look(self, value: Value) -> Iterator[Part]:
        """The rows of a value."""
        if isinstance(value, Link):
            found: Iterable[str] = value.spellings
        elif isinstance(value, Address) and value.how != "same":
            found = self.starting(value.text) if value.how == "below" else _above(value.text)
        elif isinstance(value, Word) and value.how == "starts":
            found = self.starting(value.text)
        elif isinstance(value, Word) and value.how == "contains":
            found = [text for text in self.postings if value.text in text]
        else:
            assert isinstance(value, Word | Address)
            found = (value.text,)
        for text in found:
            rows = rows_of(self.postings.get(text))
            if rows:
                yield Part(rows)

    def starting(self, text: str) -> list[str]:
        """The values that begin so."""
        return self.sorted[bisect_left(self.sorted, text) : bisect_left(self.sorted, text + LAST)]


def _above(text: str) -> Iterator[str]:
    """An address and those it lies under, a segment less each time."""
    yield text
    for at in range(len(text) - 1, 0, -1):
        if text[at] == "/" and text[at - 1] != "/":
            yield text[:at]
            yield text[: at + 1]


class Codes:
    """Codes with their systems."""

    def __init__(self, said: Iterable[tuple[int, tuple[str, str]]]) -> None:
        self.postings: dict[tuple[str, str], Posting] = {}
        for row, pair in said:
            add(self.postings, pair, row)
        self.systems: dict[str, list[str]] = {}
        self.codes: dict[str, list[str]] = {}
        for system, code in self.postings:
            self.systems.setdefault(code, []).append(system)
            self.codes.setdefault(system, []).append(code)

    def look(self, value: Value) -> Iterator[Part]:
        """The rows of `system|code`, `|code`, `system|` or `code`."""
        assert isinstance(value, Code)
        if value.code is None:
            pairs = [(value.system or "", code) for code in self.codes.get(value.system or "", ())]
        elif value.system is None:
            pairs = [(system, value.code) for system in self.systems.get(value.code, ())]
        else:
            pairs = [(value.system, value.code)]
        for pair in pairs:
            rows = rows_of(self.postings.get(pair))
            if rows:
                yield Part(rows)


class Spans:
    """Stretches of time, or amounts with their unit, sorted by where they begin and by where they end."""

    def __init__(self, said: Iterable[tuple[int, tuple[Any, Any, Any]]], kind: str, closed: bool) -> None:
        entries = sorted((low, high, row, unit) for row, (low, high, unit) in said)
        self.closed = closed
        """Whether the end belongs to it: an amount's does, a time's is the first moment after it."""
        self.lows = array(kind, (entry[0] for entry in entries))
        self.highs = array(kind, (entry[1] for entry in entries))
        self.rows = array("I", (entry[2] for entry in entries))
        self.units = [entry[3] for entry in entries] if closed else []
        order = sorted(range(len(entries)), key=self.highs.__getitem__)
        self.ends = array(kind, (self.highs[at] for at in order))
        self.end_order = array("I", order)

    def look(self, value: Value) -> Iterator[Part]:
        """The rows that a date or number with its prefix is about (R4 §3.1.1.4.5)."""
        if isinstance(value, Measure):
            places: Sequence[int] = self.compared(value, value.value, value.value)
            if value.system is not None or value.code is not None:
                places = [at for at in places if _same_unit(self.units[at], value.system, value.code)]
        else:
            assert isinstance(value, Moment)
            places = self.compared(value, value.low, value.high)
        if places:
            yield Part([self.rows[at] for at in places], sorted=False)

    def compared(self, value: Moment | Measure, low: Any, high: Any) -> Sequence[int]:
        """The places where a comparison holds."""
        prefix = value.prefix
        if prefix == "eq":
            return self.within(value.low, value.high)
        if prefix == "ne":
            return sorted({*range(len(self.rows))} - {*self.within(value.low, value.high)})
        if prefix == "ap":
            return self.touching(value.low, value.high)
        if prefix == "sa":
            return range(self._after(self.lows, high), len(self.rows))
        if prefix == "eb":
            return self.end_order[: self._before(self.ends, low)]
        strictly = self._over(high) if prefix in {"gt", "ge"} else self._under(low)
        if prefix in {"gt", "lt"}:
            return strictly
        return sorted({*strictly, *(self.exactly(low) if self.closed else self.within(value.low, value.high))})

    def _over(self, high: Any) -> Sequence[int]:
        return self.end_order[bisect_right(self.ends, high) :]

    def _under(self, low: Any) -> Sequence[int]:
        return range(bisect_left(self.lows, low))

    def _after(self, lows: "array[Any]", high: Any) -> int:
        return bisect_right(lows, high) if self.closed else bisect_left(lows, high)

    def _before(self, ends: "array[Any]", low: Any) -> int:
        return bisect_left(ends, low) if self.closed else bisect_right(ends, low)

    def exactly(self, value: Any) -> Sequence[int]:
        """Amounts that reach just to a number, or start just there."""
        ends = self.end_order[bisect_left(self.ends, value) : bisect_right(self.ends, value)]
        return [*ends, *range(bisect_left(self.lows, value), bisect_right(self.lows, value))]

    def within(self, low: Any, high: Any) -> Sequence[int]:
        """Those that lie in a stretch from start to end."""
        between = range(bisect_left(self.lows, low), bisect_left(self.lows, high))
        if self.closed:
            return [at for at in between if self.highs[at] < high]
        return [at for at in between if self.highs[at] <= high]

    def touching(self, low: Any, high: Any) -> Sequence[int]:
        """Those that share something with a stretch."""
        if self.closed:
            return [at for at in range(bisect_right(self.lows, high)) if self.highs[at] >= low]
        return [at for at in range(bisect_left(self.lows, high)) if self.highs[at] > low]


def _same_unit(unit: tuple[str, str, str], system: str | None, code: str | None) -> bool:
    if system is not None:
        return unit[0] == system and (code is None or unit[1] == code)
    return code in {unit[1], unit[2]}  # without a system, what people read counts too (R4 §3.1.1.4.11)


class Present:
    """The rows that say anything at all."""

    def __init__(self, rows: Iterable[int]) -> None:
        self.rows = array("I", rows)


Index = Words | Codes | Spans | Present
Numbered = Iterable[tuple[int, Resource, Any]]
"""Rows in order, each with its resource and the node of it that is looked at: mostly the resource itself."""


def build_index(aspect: Aspect, arms: tuple[Arm, ...], resources: Numbered, zone: int) -> Index:
    """An index over resources that come with their rows."""
    return _BUILDERS[aspect](arms, resources, zone)


Said = Callable[[Arm, Resource, Any], Iterator[Any]]


def _each(arms: tuple[Arm, ...], resources: Numbered, said: Said) -> Iterator[tuple[int, Any]]:
    for row, resource, node in resources:
        for arm in arms:
            for value in said(arm, resource, node):
                yield row, value


def _links(arm: Arm, resource: Resource, node: Any) -> Iterator[str]:
    for text in links(arm, resource, node):
        yield text
        if "|" in text and arm.kind != "Reference":
            yield text.partition("|")[0]  # a canonical URL with its version is found without it too


def _normal(arm: Arm, resource: Resource, node: Any) -> Iterator[str]:
    return map(normal, strings(arm, resource, node))


def _labels(arm: Arm, resource: Resource, node: Any) -> Iterator[str]:
    return map(normal, labels(arm, resource, node))


def _words(said: Said) -> Callable[[tuple[Arm, ...], Numbered, int], Index]:
    return lambda arms, resources, zone: Words(_each(arms, resources, said))


def _codes(said: Said) -> Callable[[tuple[Arm, ...], Numbered, int], Index]:
    return lambda arms, resources, zone: Codes(_each(arms, resources, said))


def _dates(arms: tuple[Arm, ...], resources: Numbered, zone: int) -> Index:
    def said(arm: Arm, resource: Resource, node: Any) -> Iterator[Any]:
        return ((span.low, span.high, NO_UNIT) for span in dates(arm, resource, node, zone))

    return Spans(_each(arms, resources, said), "q", closed=False)


def _amounts(arms: tuple[Arm, ...], resources: Numbered, zone: int) -> Index:
    return Spans(_each(arms, resources, amounts), "d", closed=True)


def _present(arms: tuple[Arm, ...], resources: Numbered, zone: int) -> Index:
    return Present(row for row, resource, _ in resources if any(is_present(arm, resource) for arm in arms))


_BUILDERS: dict[Aspect, Callable[[tuple[Arm, ...], Numbered, int], Index]] = {
    "token": _codes(tokens),
    "label": _words(_labels),
    "of-type": _words(typed_identifiers),
    "string": _words(_normal),
    "exact": _words(strings),
    "date": _dates,
    "amount": _amounts,
    "link": _words(_links),
    "link-identifier": _codes(reference_identifiers),
    "uri": _words(_links),
    "present": _present,
}
