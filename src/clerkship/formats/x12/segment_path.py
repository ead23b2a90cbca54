"""Paths to values in a transaction set: `2100C/EB*1`, `2110C/EB[1=C]*7`, `TRN*2`, `STC*1:2`."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from clerkship.formats.x12.grammar import Grammar
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.segment import X12Segment

SEGMENT_PATH_HELP = (
    "write a path as 2110C/EB[1=C]*7 or STC*1:2: loops, if any, each with `/`; the segment; conditions in brackets; "
    "`*` and the element; `:` and the component"
)
MAX_PATH_LENGTH = 500

_LOOPS = re.compile(r"(?:[0-9]{4}[A-Z]{0,2}/)*")
_SEGMENT = re.compile(r"[A-Z][A-Z0-9]{1,2}")
_CONDITION = re.compile(r"\[([0-9]{1,2})(?::([0-9]{1,2}))?=([^\[\]]*)\]")
_ELEMENT = re.compile(r"\*([0-9]{1,2})(?::([0-9]{1,2}))?")


class BadSegmentPath(ValueError):
    """The text is not a path into a transaction set, or names what its grammar does not have."""


class SegmentCondition(NamedTuple):
    """A condition on a segment: one of the repetitions of an element has this value."""

    element: int
    component: int | None
    value: str

    def matches(self, segment: X12Segment) -> bool:
        """Return whether a segment fulfils the condition. An empty value means that the element is empty."""
        values = _read_element(segment, self.element, self.component)
        return self.value in values if self.value else not any(values)


class SegmentPath(NamedTuple):
    """The place of values in a set. Elements and components count from 1; None means the whole."""

    loops: tuple[str, ...]
    """Each loop is inside the one before it, at any depth."""
    segment: str
    conditions: tuple[SegmentCondition, ...] = ()
    element: int | None = None
    component: int | None = None

    def find_segments(self, tree: Loop) -> list[X12Segment]:
        """Return the segments at this path: those of the loop, and of the loops inside it."""
        return [
            segment
            for loop in self._find_loops(tree)
            for segment in loop.all_segments()
            if segment.id == self.segment and all(condition.matches(segment) for condition in self.conditions)
        ]

    def find_values(self, tree: Loop) -> list[str]:
        """Return the values at this path in the order of the set, without empty ones; a repetition is a value."""
        segments = self.find_segments(tree)
        if self.element is None:
            return [segment.render() for segment in segments]
        element, component = self.element, self.component
        return [value for segment in segments for value in _read_element(segment, element, component) if value]

    def check(self, grammar: Grammar) -> None:
        """Raise `BadSegmentPath` if the grammar has no such loop, no such segment in it, or no such element."""
        spec = grammar.root
        for loop_id in self.loops:
            if loop_id not in grammar.loops:
                expected = ", ".join(sorted(grammar.loops))
                raise BadSegmentPath(f"transaction {grammar.key} has no loop {loop_id} (expected one of: {expected})")
            spec = grammar.loops[loop_id]
        ids = grammar.segment_ids if not self.loops else spec.nested_segment_ids()
        if self.segment not in ids:
            where = f"loop {self.loops[-1]} of transaction" if self.loops else "transaction"
            expected = ", ".join(sorted(ids))
            raise BadSegmentPath(f"{where} {grammar.key} has no segment {self.segment} (expected one of: {expected})")
        count = grammar.element_counts[self.segment]
        for element in [self.element, *(condition.element for condition in self.conditions)]:
            if element is not None and element > count:
                raise BadSegmentPath(f"segment {self.segment} has {count} elements; there is no element {element}")

    def _find_loops(self, tree: Loop) -> list[Loop]:
        loops = [tree]
        for loop_id in self.loops:
            loops = list(dict.fromkeys(inner for loop in loops for inner in loop.find_all(loop_id)))
        return loops


@lru_cache(maxsize=512)
def parse_segment_path(text: str) -> SegmentPath:
    """Parse a path. Raises `BadSegmentPath`, a ValueError, if it is not one."""
    path = text.strip()
    loops = _LOOPS.match(path)
    segment = _SEGMENT.match(path, loops.end()) if loops and len(path) <= MAX_PATH_LENGTH else None
    if loops is None or segment is None:
        raise _bad_path(text)
    conditions: list[SegmentCondition] = []
    end = segment.end()
    while match := _CONDITION.match(path, end):
        conditions.append(SegmentCondition(*_parse_numbers(text, match[1], match[2]), match[3]))
        end = match.end()
    element: int | None = None
    component: int | None = None
    if match := _ELEMENT.match(path, end):
        element, component = _parse_numbers(text, match[1], match[2])
        end = match.end()
    if end != len(path):
        raise _bad_path(text)
    loop_ids = tuple(loops[0].rstrip("/").split("/")) if loops[0] else ()
    return SegmentPath(loop_ids, segment[0], tuple(conditions), element, component)


def find_values(tree: Loop, path: str) -> list[str]:
    """Return the values at a path such as `2110C/EB[1=C]*7`. Raises `BadSegmentPath` if it is not one."""
    return parse_segment_path(path).find_values(tree)


def _parse_numbers(text: str, element: str, component: str | None) -> tuple[int, int | None]:
    if int(element) == 0 or (component is not None and int(component) == 0):
        raise _bad_path(text)
    return int(element), int(component) if component is not None else None


def _bad_path(text: str) -> BadSegmentPath:
    return BadSegmentPath(f"`{text[:60]}` is not a path into a transaction set; {SEGMENT_PATH_HELP}")


def _read_element(segment: X12Segment, element: int, component: int | None) -> list[str]:
    """Return the repetitions of an element, or one component of each."""
    return list(_iterate_element(segment, element, component))


def _iterate_element(segment: X12Segment, element: int, component: int | None) -> Iterator[str]:
    for repeat in segment.repeats(element):
        if component is None:
            yield repeat
            continue
        components = repeat.split(segment.delimiters.component)
        yield components[component - 1] if component <= len(components) else ""
