"""Helpers for tests of validation: validate a text, and name the places of errors."""

from clerkship.formats.x12.problems import SegmentError
from clerkship.formats.x12.transaction_set import parse_transaction_set
from clerkship.formats.x12.validation import ValidatedSet, validate_set
from tests.formats.x12.messages import transaction_set


def validate_text(text: str) -> ValidatedSet:
    """Validate the text of one set with the usual separators."""
    return validate_set(parse_transaction_set(text))


def segments_of(text: str) -> list[str]:
    """Return the segments of a set as texts, without ST and SE."""
    return text.rstrip("~").split("~")[1:-1]


def replace_segment(text: str, old: str, *new: str) -> str:
    """Return a set in which the only segment `old` is replaced, and SE01 is right."""
    header, *segments, _ = text.rstrip("~").split("~")
    place = segments.index(old)
    _, code, number, version = header.split("*")
    return transaction_set(code, version, [*segments[:place], *new, *segments[place + 1 :]], number)


def segment_places(result: ValidatedSet) -> list[tuple[str, int, str, str]]:
    """Return the segment, position, loop and code of each error."""
    return [(error.segment, error.position, error.loop, error.code) for error in result.errors]


def element_places(error: SegmentError) -> list[tuple[int, int | None, int | None, str, str, str]]:
    """Return the element, component, repetition, code, element number and value of each element error."""
    return [
        (element.position, element.component, element.repeat, element.code, element.element_number, element.value)
        for element in error.elements
    ]
