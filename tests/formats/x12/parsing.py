"""Parsing of one interchange in tests, and the codes of its problems."""

from clerkship.formats.x12.interchange import Interchange, parse_interchanges
from clerkship.formats.x12.segment import X12Delimiters

BARS = X12Delimiters("|", "!", ">", "\n")
"""Other separators than the default ones."""
NO_PROBLEMS: list[list[str]] = [[], [], []]


def parse_one(data: str | bytes) -> Interchange:
    """Parse a body with one interchange."""
    (parsed,) = parse_interchanges(data)
    return parsed


def list_codes(parsed: Interchange) -> list[list[str]]:
    """Return the codes of the problems of the interchange, of its groups and of its sets."""
    groups = [problem.code for group in parsed.groups for problem in group.problems]
    sets = [problem.code for transaction in parsed.sets for problem in transaction.problems]
    return [[problem.code for problem in parsed.problems], groups, sets]
