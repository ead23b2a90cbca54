"""What is wrong with envelopes and transaction sets, in the terms of the TA1 and the 999."""

from typing import NamedTuple

MAX_SHOWN_VALUE = 40


class EnvelopeProblem(NamedTuple):
    """What is wrong with an interchange (TA105), a group (AK905) or a transaction set (IK502)."""

    code: str
    text: str
    """A description for people."""


def add_problem(problems: list[EnvelopeProblem], code: str, text: str) -> None:
    """Add a problem, unless one with this code is there: an acknowledgment reports each code once."""
    if all(problem.code != code for problem in problems):
        problems.append(EnvelopeProblem(code, text))


def show_value(value: str) -> str:
    """Return a value for an error text, shortened."""
    return repr(value if len(value) <= MAX_SHOWN_VALUE else f"{value[:MAX_SHOWN_VALUE]}…")


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
