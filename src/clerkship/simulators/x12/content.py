"""Parse the body of a request, or a file, into interchanges."""

from collections.abc import Iterable

from clerkship.formats.x12.header import parse_header
from clerkship.formats.x12.interchange import Interchange, InterchangeTooLarge, NotX12, ParseLimits, parse_interchanges
from clerkship.formats.x12.problems import EnvelopeProblem
from clerkship.sandbox.request import Refusal
from clerkship.simulators.x12.config import X12Config

MAX_SEGMENTS = 200_000
"""Segments in one request or file."""
LEVELS_PER_SET = 6
"""Levels (HL) of a set about one patient, at most; so many times `max_sets` are accepted in one request or file."""
_HEADER_BYTES = 1000
"""The beginning of a file that is too large, in which its ISA segment is looked for."""


def parse_content(data: bytes, config: X12Config) -> list[Interchange]:
    """Parse the interchanges of a request. Refuse what is not X12, and what is too large."""
    limits = ParseLimits(config.max_interchange, config.max_sets, MAX_SEGMENTS)
    try:
        interchanges = parse_interchanges(data, limits)
        _check_levels(interchanges, config)
        return interchanges
    except InterchangeTooLarge as error:
        raise Refusal(413, "too_large", str(error)) from None
    except NotX12 as error:
        raise Refusal(400, "not_x12", f"not an X12 interchange: {error}") from None


def _check_levels(interchanges: list[Interchange], config: X12Config) -> None:
    """Refuse more levels than `max_sets` sets about one patient have: each patient is a question to the payer."""
    limit, levels = max(LEVELS_PER_SET * config.max_sets, config.max_levels), count_levels(interchanges)
    if levels > limit:
        text = f"there are {levels} levels (HL; at most {limit} are accepted); send fewer patients at once"
        raise InterchangeTooLarge(text)


def count_levels(interchanges: Iterable[Interchange]) -> int:
    """Return how many levels (HL segments) all sets have together."""
    return sum(
        text.startswith(f"HL{transaction.delimiters.element}")
        for interchange in interchanges
        for transaction in interchange.sets
        for text in transaction.segment_texts
    )


def parse_file(data: bytes, config: X12Config) -> list[Interchange]:
    """Parse the interchanges of a file.

    Of a file that is too large, only the header is parsed: its interchange is refused with a TA1. Refuse what is not
    X12: there is no header to which a reply could refer.
    """
    try:
        return parse_content(data, config)
    except Refusal as refusal:
        text = data[:_HEADER_BYTES].decode("latin-1")
        header = parse_header(text, len(text) - len(text.lstrip()))
        if refusal.code != "too_large" or header is None:
            raise
        return [Interchange(header.segment, header.delimiters, [EnvelopeProblem("024", refusal.reason)])]
