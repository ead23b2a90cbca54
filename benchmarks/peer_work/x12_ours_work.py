"""Clerkship's library: its parser, its validation against the tables, and its writer."""

from x12_work import X12Library, report

from clerkship.formats.x12.interchange import Interchange, parse_interchanges
from clerkship.formats.x12.validation import validate_set


def parse(text: str) -> int:
    """Parse the interchange with its counts and control numbers, and split every segment."""
    (interchange,) = parse_interchanges(text)
    return sum(1 for each in interchange.sets if each.segments)


def validate(text: str) -> int:
    """Parse and validate every set."""
    (interchange,) = parse_interchanges(text)
    return sum(1 for each in interchange.sets if not each.problems and not validate_set(each).errors)


def prepare(text: str) -> Interchange:
    """Parse the interchange."""
    (interchange,) = parse_interchanges(text)
    return interchange


def render(interchange: Interchange) -> int:
    """Write every segment from its elements."""
    texts = ["~".join([segment.render() for segment in each.segments]) for each in interchange.sets]
    return len(texts)


if __name__ == "__main__":
    report(X12Library(parse, validate, prepare, render))
