"""Errors in a transaction set, in the terms of the 999 acknowledgment."""

from typing import NamedTuple


class ElementError(NamedTuple):
    """An error in one element: what IK4 reports."""

    position: int
    """The number of the element in its segment, from 1."""
    code: str
    """IK403, such as `1` for a missing mandatory element or `7` for an invalid code."""
    text: str
    """A description for people."""
    component: int | None = None
    repeat: int | None = None
    element_number: str = ""
    """IK402: the number of the element in the dictionary, such as `67`, if it is known."""
    value: str = ""
    """IK404: the bad value."""


class SegmentError(NamedTuple):
    """An error in one segment, or a segment that is missing: what IK3 reports."""

    segment: str
    """The id of the segment."""
    position: int
    """Its place in the set; ST is 1. For a missing segment: where it was expected."""
    loop: str
    """The loop it stands in, such as `2100C`; empty if it is in none."""
    code: str
    """IK304, such as `3` for a missing mandatory segment or `8` if element errors follow."""
    text: str
    elements: tuple[ElementError, ...] = ()
    trace: str = ""
    """The value of the TRN02 to which the error belongs, for CTX; empty if there is none."""
