"""The ISA segment: the separators of an interchange, by position, and the checks of its elements."""

import re
from typing import NamedTuple

from clerkship.formats.x12.dates import is_date, is_time
from clerkship.formats.x12.problems import EnvelopeProblem, add_problem, show_value
from clerkship.formats.x12.segment import X12Delimiters, X12Segment

ISA_WIDTHS = (2, 10, 2, 10, 2, 15, 2, 15, 6, 4, 1, 5, 9, 1, 1, 1)
"""The widths of ISA01 to ISA16. ISA is the only segment of fixed width (X12.5)."""
ISA_LENGTH = 106
"""Characters of an ISA segment with its terminator."""
SUPPORTED_CONTROL_VERSION = "00501"
MAX_ISA_LENGTH = 400
"""Characters in which the separators of an ISA with wrong widths are looked for."""
NO_SEPARATOR = "\0"
"""Stands for a separator that is not valid. No interchange contains it, so nothing is split at it."""
_WIDTH_CODES = ("010", "011", "012", "013", "005", "006", "007", "008", "014", "015", "016", "017", "018", "019", "020")
"""TA105 for ISA01 to ISA15, in order."""
_QUALIFIER = re.compile(r"[0-9A-Z]{2}")
_INFORMATION_QUALIFIERS = {1: ("00", "03"), 3: ("00", "01")}
"""The values of ISA01 and ISA03 that HIPAA allows (TR3, appendix C)."""
_CONTROL_NUMBER = re.compile(r"[0-9]{9}")


class ParsedHeader(NamedTuple):
    """An ISA segment, where it ends, and its problems."""

    segment: X12Segment
    delimiters: X12Delimiters
    start: int
    end: int
    """The index behind the segment terminator."""
    problems: list[EnvelopeProblem]


def is_terminator(character: str) -> bool:
    """Return whether a character may end segments: ASCII, no letter, digit or space. It may be a line break."""
    return len(character) == 1 and character.isascii() and not character.isalnum() and character not in " \0"


def is_separator(character: str) -> bool:
    """Return whether a character may separate elements, repetitions or components. It is no line break."""
    return is_terminator(character) and character not in "\r\n"


def parse_header(text: str, start: int) -> ParsedHeader | None:
    """Parse the ISA segment at an index; None if there is no ISA segment with 16 elements.

    The widths decide where the separators are. If the widths are wrong, the elements are found by the element
    separator, so that a TA1 can name the one that is wrong.
    """
    element = text[start + 3 : start + 4]
    if not text.startswith("ISA", start) or not is_separator(element):
        return None
    parts = text[start : start + ISA_LENGTH - 1].split(element)
    has_widths = tuple(map(len, parts[1:])) == ISA_WIDTHS
    if not has_widths:
        parts = text[start : start + MAX_ISA_LENGTH].split(element, len(ISA_WIDTHS))
        if len(parts) <= len(ISA_WIDTHS):
            return None
        parts[-1] = parts[-1][:1]
    end = start + sum(map(len, parts)) + len(ISA_WIDTHS)
    terminator = text[end : end + 1]
    if not parts[-1] or not terminator or not (has_widths or is_terminator(terminator)):
        return None
    problems: list[EnvelopeProblem] = []
    delimiters = _check_delimiters(X12Delimiters(element, parts[11][:1], parts[16], terminator), parts[12], problems)
    _check_elements(parts, problems)
    return ParsedHeader(X12Segment(parts, delimiters), delimiters, start, end + 1, problems)


def _check_delimiters(delimiters: X12Delimiters, version: str, problems: list[EnvelopeProblem]) -> X12Delimiters:
    element, repetition, component, segment = delimiters
    if version != SUPPORTED_CONTROL_VERSION:
        text = f"ISA12 is {show_value(version)} (expected: {SUPPORTED_CONTROL_VERSION})"
        add_problem(problems, "003", text)
    if not is_terminator(segment) or segment == element:
        add_problem(problems, "004", _separator_text("segment terminator", segment))
        segment = NO_SEPARATOR
    if not is_separator(component) or component in (element, segment):
        add_problem(problems, "027", _separator_text("component separator (ISA16)", component))
        component = NO_SEPARATOR
    if not is_separator(repetition) or repetition in (element, segment, component):
        # Before version 00402, ISA11 held the standards identifier, whose code is used.
        if version == SUPPORTED_CONTROL_VERSION:
            add_problem(problems, "016", _separator_text("repetition separator (ISA11)", repetition))
        repetition = NO_SEPARATOR
    return X12Delimiters(element, repetition, component, segment)


def _separator_text(name: str, character: str) -> str:
    return f"the {name} is {show_value(character)} (expected: a character of its own, no letter, digit or space)"


def _check_elements(elements: list[str], problems: list[EnvelopeProblem]) -> None:
    for number, (width, code) in enumerate(zip(ISA_WIDTHS, _WIDTH_CODES, strict=False), 1):
        value = elements[number]
        if len(value) != width:
            text = f"ISA{number:02} {show_value(value)} has {len(value)} characters (expected: {width})"
            add_problem(problems, code, text)
        elif number not in (11, 12) and not _is_valid(number, value):
            add_problem(problems, code, f"ISA{number:02} {show_value(value)} is not valid")
        elif not (value.isascii() and value.isprintable()) and number != 11:
            add_problem(
                problems, "024", f"ISA{number:02} {show_value(value)} has a character outside the character set"
            )


def _is_valid(number: int, value: str) -> bool:
    match number:
        case 1 | 3:
            return value in _INFORMATION_QUALIFIERS[number]
        case 5 | 7:
            return _QUALIFIER.fullmatch(value) is not None
        case 6 | 8:
            return bool(value.strip())
        case 9:
            return is_date(f"20{value}")
        case 10:
            return is_time(value)
        case 13:
            return _CONTROL_NUMBER.fullmatch(value) is not None
        case 14:
            return value in ("0", "1")
        case 15:
            return value in ("P", "T")
    return True
