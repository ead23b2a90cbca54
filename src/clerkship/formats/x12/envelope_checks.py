"""Checks of control numbers, counts and identifiers of interchanges, groups and sets."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from clerkship.formats.x12.dates import is_date, is_time
from clerkship.formats.x12.problems import EnvelopeProblem, add_problem, show_value
from clerkship.formats.x12.segment import X12Segment
from clerkship.formats.x12.transaction_set import TransactionSet

FUNCTIONAL_CODES: Final = {
    "270": "HS",
    "271": "HB",
    "275": "PI",
    "276": "HR",
    "277": "HN",
    "278": "HI",
    "820": "RA",
    "834": "BE",
    "835": "HP",
    "837": "HC",
    "997": "FA",
    "999": "FA",
}
"""ST01 -> GS01 of the group in which a set is sent."""
_SETS_OF_CODE = {
    code: {set for set, other in FUNCTIONAL_CODES.items() if other == code} for code in FUNCTIONAL_CODES.values()
}
_GROUP_NUMBER = re.compile(r"[0-9]{1,9}")
_SET_NUMBER = re.compile(r"[0-9A-Za-z]{4,9}")
_SET_CODE = re.compile(r"[0-9]{3}")
_COUNT = re.compile(r"[0-9]{1,10}")
_FUNCTIONAL_CODE = re.compile(r"[A-Z0-9]{2}")
_ELEMENTS_OF_GS = 8
_GS_ELEMENTS: Final[dict[int, tuple[str, Callable[[str], object]]]] = {
    1: ("2 letters or digits", _FUNCTIONAL_CODE.fullmatch),
    2: ("the sender", bool),
    3: ("the receiver", bool),
    4: ("a date, CCYYMMDD", is_date),
    5: ("a time, HHMM or HHMMSS", is_time),
    # T stands for standards of TDCC, whose versions (GS08) have another form. The guides of HIPAA allow X only.
    7: ("X, for X12", "X".__eq__),
    8: ("the version", bool),
}
"""What is valid in GS, by number, without GS06, which a 999 reports."""


def parse_count(text: str) -> int | None:
    """Return a count (of segments, sets or groups); None if it is not a number of at most 10 digits."""
    return int(text) if _COUNT.fullmatch(text) else None


def is_group_number(text: str) -> bool:
    """Return whether a text is a valid GS06: 1 to 9 digits."""
    return _GROUP_NUMBER.fullmatch(text) is not None


def is_set_number(text: str) -> bool:
    """Return whether a text is a valid ST02: 4 to 9 letters or digits."""
    return _SET_NUMBER.fullmatch(text) is not None


def _check_same(problems: list[EnvelopeProblem], code: str, element: tuple[str, str], other: tuple[str, str]) -> None:
    """Report two elements, each with its name and value, that differ."""
    if element[1] != other[1]:
        values = ", ".join(f"{name} is {show_value(value)}" for name, value in (element, other))
        add_problem(problems, code, f"{values} (expected: the same)")


def _check_count(problems: list[EnvelopeProblem], code: str, element: tuple[str, str], count: int, noun: str) -> bool:
    """Report an element, with its name and value, that does not state a count; return whether it does."""
    if parse_count(element[1]) == count:
        return True
    add_problem(problems, code, f"{element[0]} is {show_value(element[1])} (expected: {count}, the number of {noun})")
    return False


def check_interchange(
    header: X12Segment,
    trailer: X12Segment | None,
    groups: int,
    problems: list[EnvelopeProblem],
    *,
    has_content: bool,
) -> None:
    """Compare IEA with ISA and with the number of groups. A missing IEA is reported by the parser."""
    if trailer is None:
        return
    _check_same(problems, "001", ("IEA02", trailer.raw(2)), ("ISA13", header.raw(13)))
    _check_count(problems, "021", ("IEA01", trailer.raw(1)), groups, "groups")
    if not has_content:
        add_problem(problems, "024", "the interchange has neither a group nor a TA1 segment")


def check_group_header(
    header: X12Segment, problems: list[EnvelopeProblem], interchange_problems: list[EnvelopeProblem]
) -> None:
    """Check GS. A GS that cannot be understood is a problem of the interchange: 999 has no code for it."""
    if not is_group_number(header.raw(6)):
        text = f"GS06 is {show_value(header.raw(6))} (expected: 1 to 9 digits)"
        add_problem(problems, "6", text)
    if len(header.elements) != _ELEMENTS_OF_GS + 1:
        text = f"has {len(header.elements) - 1} elements (expected: {_ELEMENTS_OF_GS})"
    else:
        wrong = (
            f"has {show_value(value)} in GS{number:02} (expected: {expected})"
            for number, (expected, is_valid) in _GS_ELEMENTS.items()
            if not is_valid(value := header.raw(number))
        )
        text = next(wrong, "")
    if text:
        add_problem(interchange_problems, "024", f"the segment {show_value(header.render())} is not a valid GS: {text}")


def check_group_trailer(
    header: X12Segment, trailer: X12Segment | None, sets: int, problems: list[EnvelopeProblem]
) -> None:
    """Compare GE with GS and with the number of sets."""
    if trailer is None:
        add_problem(problems, "3", f"the group {show_value(header.raw(6))} has no GE segment")
        return
    _check_same(problems, "4", ("GE02", trailer.raw(2)), ("GS06", header.raw(6)))
    if _check_count(problems, "5", ("GE01", trailer.raw(1)), sets, "sets") and not sets:
        add_problem(problems, "5", "the group has no sets (expected: at least one)")


def check_set(transaction: TransactionSet, functional_code: str, *, is_complete: bool) -> None:
    """Check ST, and compare SE with it and with the number of segments."""
    problems = transaction.problems
    header = transaction.header
    code, number = header.raw(1), header.raw(2)
    if not _SET_CODE.fullmatch(code):
        add_problem(problems, "6", f"ST01 is {show_value(code)} (expected: 3 digits, such as 270)")
    elif code not in _SETS_OF_CODE.get(functional_code, (code,)):
        text = f"the set {code} stands in a group {functional_code} (expected: {FUNCTIONAL_CODES.get(code, 'another')})"
        add_problem(problems, "18", text)
    if not is_set_number(number):
        add_problem(problems, "7", f"ST02 is {show_value(number)} (expected: 4 to 9 letters or digits)")
    version, group_version = header.raw(3), transaction.group_version
    if version and group_version:
        _check_same(problems, "I6", ("ST03", version), ("GS08", group_version))
    if not is_complete:
        add_problem(problems, "2", f"the set {show_value(number)} has no SE segment")
        return
    trailer = X12Segment(transaction.segment_texts[-1].split(transaction.delimiters.element), transaction.delimiters)
    _check_same(problems, "3", ("SE02", trailer.raw(2)), ("ST02", number))
    _check_count(problems, "4", ("SE01", trailer.raw(1)), len(transaction.segment_texts), "segments from ST to SE")


def check_set_numbers(sets: Iterable[TransactionSet]) -> None:
    """Report sets whose ST02 another set of the group has had."""
    seen: set[str] = set()
    for transaction in sets:
        number = transaction.control_number
        if number in seen:
            add_problem(transaction.problems, "23", f"ST02 {show_value(number)} is used twice in the group")
        seen.add(number)
