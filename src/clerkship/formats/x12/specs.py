"""What a grammar says of elements, and the rules between them."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

SegmentMatch = Callable[[str], object]
"""Returns None if a text does not match."""


class ElementSpec(NamedTuple):
    """An element, or a component of a composite, at one place of a grammar."""

    position: int
    number: str
    """The number of the element in the X12 dictionary."""
    label: str
    usage: str
    """R required, S situational, N not used."""
    type: str
    """AN, ID, N0, R, DT or TM; empty for a composite."""
    min: int
    max: int
    repeats: int
    codes: frozenset[str] | None
    """The codes allowed here; None if any value of the right form is."""
    meanings: Mapping[str, str]
    """The codes of the element that the tables name, in this grammar or another."""
    components: "tuple[ElementSpec, ...]" = ()
    rules: "tuple[SegmentRule, ...]" = ()
    """The rules between the components."""
    format_position: int = 0
    """The element that tells the format of this date (element 1251); 0 for other elements."""


class SegmentRule(NamedTuple):
    """A rule between elements, such as `P0809`.

    P: all or none. R: at least one. E: at most one. C: if the first, then all others. L: if the first, then one
    of the others.
    """

    kind: str
    positions: tuple[int, ...]


class Situation(NamedTuple):
    """A rule of the guide: if an element has one of these values, others are needed."""

    element: int
    values: frozenset[str]
    needs: tuple[int, ...]


def parse_rule(text: str) -> SegmentRule:
    """Parse a rule such as `P0809` or `C1110`. Raises ValueError if it is not one."""
    if text[:1] not in {"P", "R", "E", "C", "L"} or len(text) < 5 or len(text) % 2 == 0 or not text[1:].isdigit():
        raise ValueError(f"`{text}` is not a rule between elements; write the kind and two digits for each: P0809")
    return SegmentRule(text[0], tuple(int(text[index : index + 2]) for index in range(1, len(text), 2)))
