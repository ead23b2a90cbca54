"""One problem of an envelope, with the code that TA1 or 999 reports for it."""

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
