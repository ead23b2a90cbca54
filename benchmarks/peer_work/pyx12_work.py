"""pyx12: its reader, its validation against a map, and its writer."""

import io
from typing import Any

from pyx12.params import params
from pyx12.x12file import X12Reader, X12Writer
from pyx12.x12n_document import x12n_document
from x12_work import X12Library, report


def segments(text: str) -> list[Any]:
    """Read all segments; the reader checks envelopes on the way."""
    return list(X12Reader(io.StringIO(text)))


def count_sets(read: list[Any]) -> int:
    """Count the sets."""
    return sum(1 for segment in read if segment.get_seg_id() == "ST")


def parse(text: str) -> int:
    """Read the segments."""
    return count_sets(segments(text))


def validate(text: str) -> int:
    """Validate the interchange against its map, without any report."""
    is_valid = x12n_document(params(), io.StringIO(text), None, None)
    return text.count("~ST*") if is_valid else 0


def render(read: list[Any]) -> int:
    """Write the segments."""
    written = X12Writer(io.StringIO(), subele_term=":", eol="")
    for segment in read:
        written.Write(segment)
    return count_sets(read)


if __name__ == "__main__":
    report(X12Library(parse, validate, segments, render))
