"""One segment of an interchange, and the delimiters of its elements."""

from typing import NamedTuple, Protocol


class X12Delimiters(NamedTuple):
    """The four separators, which an interchange states in its ISA segment."""

    element: str = "*"
    repetition: str = "^"
    component: str = ":"
    segment: str = "~"


DEFAULT_X12_DELIMITERS = X12Delimiters()


class X12Segment:
    """One segment. `elements[n]` is element n as encoded; `elements[0]` is the segment id."""

    __slots__ = ("delimiters", "elements", "id")

    def __init__(self, elements: list[str], delimiters: X12Delimiters = DEFAULT_X12_DELIMITERS) -> None:
        self.id = elements[0]
        self.elements = elements
        self.delimiters = delimiters

    def raw(self, element: int) -> str:
        """Return an element as encoded; empty if it is missing."""
        return self.elements[element] if element < len(self.elements) else ""

    def repeats(self, element: int) -> list[str]:
        """Return the encoded repetitions of an element; an empty list if it is empty."""
        raw = self.raw(element)
        return raw.split(self.delimiters.repetition) if raw else []

    def value(self, element: int, component: int = 1, repeat: int = 1) -> str:
        """Return one component of one repetition, both counted from 1; empty if it is missing."""
        repeats = self.repeats(element)
        components = repeats[repeat - 1].split(self.delimiters.component) if repeat <= len(repeats) else []
        return components[component - 1] if component <= len(components) else ""

    def render(self) -> str:
        """Return the segment as encoded, without its terminator."""
        return self.delimiters.element.join(self.elements)

    def __repr__(self) -> str:
        return f"X12Segment({self.render()!r})"


class HasHeader(Protocol):
    """An envelope: an interchange, a group or a set."""

    @property
    def header(self) -> X12Segment: ...


class HeaderElement:
    """An element of the header of an envelope, as an attribute of it."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __get__(self, envelope: HasHeader, owner: object = None) -> str:
        return envelope.header.raw(self._number)


def build_x12_segment(*elements: str | None, delimiters: X12Delimiters = DEFAULT_X12_DELIMITERS) -> X12Segment:
    """Build a segment from its id and elements. Trailing empty elements are left out (they are errors in X12)."""
    values = ["" if element is None else element for element in elements]
    while len(values) > 1 and not values[-1]:
        values.pop()
    return X12Segment(values, delimiters)
