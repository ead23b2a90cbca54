"""The separators of an interchange."""

from typing import NamedTuple


class X12Delimiters(NamedTuple):
    """The four separators, which an interchange states in its ISA segment."""

    element: str = "*"
    repetition: str = "^"
    component: str = ":"
    segment: str = "~"


DEFAULT_X12_DELIMITERS = X12Delimiters()
