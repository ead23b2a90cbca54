"""Which answers a question can have, and whether one of them matches several conditions at once."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from clerkship.model.matcher import check_expected, describe_expected, is_matcher, is_number, matches_expected
from clerkship.text.dates import MAX_YEAR, MIN_YEAR, parse_first_day

AnswerType = Literal["text", "boolean", "number", "date", "choice"]
MAX_NUMBER = 1e12
_SOLVED = frozenset({"equals", "gt", "gte", "lt", "lte", "exists"})
"""Matchers for which an answer is searched. For others it is assumed that a text, date or number matches."""
_SOME_DAY = date(2026, 1, 1)


class PossibleAnswers(NamedTuple):
    """The answers that a question can have."""

    type: AnswerType
    choices: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None

    def can_match(self, expected: Sequence[Any], excluded: Sequence[Any] = ()) -> bool:
        """Return whether an answer can match all of `expected` and none of `excluded`: values or matchers."""
        conditions = [*expected, *({"not": each} for each in excluded)]
        parts = [part for condition in conditions for part in _list_parts(condition)]
        if self.type not in ("boolean", "choice") and not _SOLVED.issuperset(name for name, _ in parts):
            return True
        answers = self._list_examples([value for _, value in parts])
        return any(all(matches_expected(each, answer) for each in conditions) for answer in answers)

    def explain_mismatch(self, expected: Any) -> str:
        """Return why a value or matcher, or a value that it names, can match no answer; empty if all can."""
        try:
            check_expected(expected)
        except ValueError as error:
            return str(error)
        named = [value for name, value in _list_parts(expected) if name == "equals"]
        wrong = [each for each in (*named, expected) if not self.can_match([each])]
        return f"the answer can never be {describe_expected(wrong[0])} (expected: {self.describe()})" if wrong else ""

    def describe(self) -> str:
        """Return what an answer is, in words."""
        if self.type == "choice":
            return ", ".join(self.choices)
        if self.type == "number":
            limits = (("at least", self.min), ("at most", self.max))
            words = " and ".join(f"{name} {limit:.12g}" for name, limit in limits if limit is not None)
            return f"a number of {words}" if words else "a number"
        return {"boolean": "true or false", "date": "a date such as 2026-03-06"}.get(self.type, "a text")

    def is_in_range(self, number: float) -> bool:
        """Return whether a number is between the limits."""
        return (self.min is None or number >= self.min) and (self.max is None or number <= self.max)

    def _list_examples(self, values: Sequence[Any]) -> Iterable[str | bool | float]:
        """Return all answers, or of numbers, dates and texts those that conditions on some values tell apart."""
        if self.type == "boolean":
            return (True, False)
        if self.type == "choice":
            return self.choices
        if self.type == "number":
            named = [value for value in values if is_number(value) and abs(value) <= MAX_NUMBER]
            numbers = sorted({0, *named, *(limit for limit in (self.min, self.max) if limit is not None)})
            between = ((first + second) / 2 for first, second in pairwise(numbers))
            return filter(self.is_in_range, (numbers[0] - 1, *numbers, *between, numbers[-1] + 1))
        days = [day for value in values if (day := parse_first_day(value)) and MIN_YEAR <= day.year <= MAX_YEAR]
        dates = [str(day + timedelta(days=n)) for day in (_SOME_DAY, *days) for n in (-1, 0, 1)]
        texts = [value for value in values if isinstance(value, str) and value and value == value.strip()]
        return dates if self.type == "date" else (*dates, *texts, " ".join((*texts, "other")))


def _list_parts(expected: Any) -> Iterator[tuple[str, Any]]:
    """Yield the matchers of an expectation, with their arguments. A literal, and an item of `in`, is `equals`."""
    for name, argument in expected.items() if is_matcher(expected) else [("equals", expected)]:
        if name == "not":
            yield from _list_parts(argument)
        elif name == "in":
            yield from (("equals", item) for item in argument)
        else:
            yield name, argument
