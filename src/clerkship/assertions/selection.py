"""The base class of assertions that compare several things: the best one decides, or how many are as expected."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, model_validator

from clerkship.assertions.field_rows import MAX_NAMES, Rows, prefix_paths, share_passed
from clerkship.assertions.occurrence import CountExpectation, allows_zero, join_first
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.query import describe_match, find_first
from clerkship.model.frozen import Flag, Frozen
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch
from clerkship.sandbox.assertion import Assertion, Check

MAX_ROWS = 100
"""Rows of evidence about things that are not as expected."""
MAX_DIFFERENCES = 3
MAX_VALUE_LENGTH = 80
"""Differences, and characters of each value, in a sentence; the evidence has all of them."""


class Compared(NamedTuple):
    """One of the things that a criterion selects, with a row for each expectation."""

    name: str
    """The thing in words, such as `ORU^R01 R1 (#12)`."""
    rows: Rows
    item: Any = None
    """The thing itself, for an assertion that needs it again."""

    @property
    def passed(self) -> bool:
        """Whether it is as expected."""
        return all(row.passed for row in self.rows)


class SelectionAssertion(Assertion):
    """Compares each of the things that a criterion selects, such as the faxes that the agent sent.

    One of them must be as expected; with `count` or `none`, the number of those that are.
    """

    count: Annotated[CountExpectation | None, Field(description="how many there must be like this")] = None
    none: Annotated[Flag, Field(description="whether there must be none like this")] = False

    @model_validator(mode="after")
    def _check_count_and_none(self) -> Self:
        if self.none and self.count is not None:
            raise ValueError("`count` and `none` do not go together")
        return self

    @property
    def is_none(self) -> bool:
        """Whether there must be none."""
        return self.none

    @property
    def is_counted(self) -> bool:
        """Whether the number decides, not the best one."""
        return self.is_none or self.count is not None

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return self.is_none or allows_zero(self.count)

    @abstractmethod
    def compare(self, evidence: Evidence) -> Iterable[Compared]:
        """Yield each thing that is selected, compared. Pass them through `narrow` if the assertion is `scoped`."""

    @abstractmethod
    def describe_selection(self, evidence: Evidence) -> str:
        """Return what is selected, as a noun without an article: `sent fax with to '+15550100300'`."""

    def describe_expectation(self) -> str:
        """Return what is expected of it, as the end of a sentence, if `describe_selection` does not say that."""
        return ""

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterable[str]:
        """Yield what helps to understand a failure, such as what there is instead."""
        return ()

    def compare_conditions(self, evidence: Evidence) -> Iterable[FieldCheck]:
        """Yield rows that must pass whatever is selected."""
        return ()

    def list_undecided(self, compared: Sequence[Compared]) -> Sequence[Compared]:
        """Return those that may yet become as expected: the number must be right with and without them."""
        return ()

    def check(self, evidence: Evidence) -> Check:
        """Compare everything that is selected, and report the best or the number."""
        compared = list(self.compare(evidence))
        if self.is_counted:
            check = self.check_count(compared, evidence)
        elif compared:
            check = self.check_best(compared, evidence)
        else:
            rows = (*self.compare_conditions(evidence), _build_existence_row(0))
            check = Check.of(False, f"there is no {self.describe_selection(evidence)}", *rows)
        hints = () if check.passed else self.explain_failure(evidence, compared)
        return check._replace(detail="; ".join([check.detail, *hints]))

    def check_best(self, compared: Sequence[Compared], evidence: Evidence) -> Check:
        """Report the thing that is most like what is expected, and after it the others if it is not."""
        best = max(compared, key=lambda each: share_passed(each.rows))
        rows = (*self.compare_conditions(evidence), *best.rows)
        if not rows:
            return Check.of(True, f"{best.name} is there", _build_existence_row(len(compared)))
        if all(row.passed for row in rows):
            return Check.of_fields(rows, f"{best.name} is as expected")
        nearest = f" (the nearest of {len(compared)})" if len(compared) > 1 else ""
        detail = f"{best.name} is there{nearest}, but not as expected: {describe_differences(rows)}"
        others = _list_rows(each for each in compared if each is not best)
        check = Check.of_fields(rows, detail)
        return check._replace(evidence=(*check.evidence, *others))

    def check_every(self, compared: Sequence[Compared], evidence: Evidence) -> Check:
        """Report whether all are as expected; instead of `check_best`, for an assertion that demands it."""
        failed = [each for each in compared if not each.passed]
        detail = f"{self.describe_selection(evidence)}{self.describe_expectation()}: "
        detail += f"{len(compared) - len(failed)} of {len(compared)} as expected"
        if failed:
            detail += f"; not {join_first([each.name for each in failed], most=MAX_NAMES)}"
            detail += f": {describe_differences(failed[0].rows)}" if len(failed) == 1 else ""
        score = share_passed([row for each in compared for row in each.rows])
        shown = _list_rows(sorted(compared, key=lambda each: each.passed))
        return Check(passed=not failed, score=score, detail=detail, evidence=shown)

    def check_count(self, compared: Sequence[Compared], evidence: Evidence) -> Check:
        """Compare the number of those that are as expected."""
        expected: Any = 0 if self.is_none else self.count
        matching = [each for each in compared if each.passed]
        undecided = self.list_undecided(compared)
        actual: Any = f"{len(matching)}, and {len(undecided)} undecided" if undecided else len(matching)
        passed = all(matches_expected(expected, len(matching) + more) for more in {0, len(undecided)})
        listed = [*matching, *undecided]
        seq = next((row.seq for each in listed for row in each.rows), None)
        row = FieldCheck(path="count", expected=expected, actual=actual, passed=passed, seq=seq)
        detail = f"{self.describe_selection(evidence)}{self.describe_expectation()}: "
        detail += join_first([each.name for each in listed], most=MAX_NAMES) or "none"
        detail += f" (expected {describe_expected(expected)})"
        rows = [*self.compare_conditions(evidence), row]
        if all(row.passed for row in rows) or self.is_none:
            return Check.of(all(row.passed for row in rows), detail, *rows)
        others = [each for each in compared if not each.passed]
        if others and not passed:
            nearest = max(others, key=lambda each: share_passed(each.rows))
            detail += f"; {nearest.name} is not as expected: {describe_differences(nearest.rows)}"
        return Check.of(False, detail, *rows, *_list_rows(others))


class EventWindow(Frozen):
    """When something must have happened, by other events."""

    before: Annotated[EventMatch | None, Field(description="only before the first event like this")] = None
    after: Annotated[EventMatch | None, Field(description="only after the first event like this; it must happen")] = (
        None
    )

    def find_limits(self, evidence: Evidence) -> tuple[Event | None, Event | None]:
        """Return the first events like `before` and `after`; None for one that did not happen."""
        return find_first(evidence.events, self.before), find_first(evidence.events, self.after)

    def compare_time(self, event: Event, limits: tuple[Event | None, Event | None]) -> Iterator[FieldCheck]:
        """Yield rows for an event; `limits` are those of `find_limits`."""
        before, after = limits
        if self.before is not None:
            passed = before is None or event.seq < before.seq
            yield build_time_row("before", f"before {describe_match(self.before)}", before, event, passed=passed)
        if self.after is not None:
            passed = after is not None and event.seq > after.seq
            yield build_time_row("after", f"after {describe_match(self.after)}", after, event, passed=passed)


def build_time_row(path: str, expected: str, limit: Event | None, event: Event, *, passed: bool) -> FieldCheck:
    """Build the row of an event that must be before or after another."""
    actual = "(never happened)" if limit is None else f"#{limit.seq}"
    return FieldCheck(path=path, expected=expected, actual=actual, passed=passed, seq=event.seq)


def describe_differences(rows: Sequence[FieldCheck]) -> str:
    """Return what is not as expected: `status is 'busy', expected 'delivered'`."""
    failed = [row for row in rows if not row.passed]
    more = f" and {len(failed) - MAX_DIFFERENCES} more" if len(failed) > MAX_DIFFERENCES else ""
    texts = (f"{row.path} is {_shorten(row.actual)}, expected {_shorten(row.expected)}" for row in failed)
    return "; ".join(islice(texts, MAX_DIFFERENCES)) + more


def _shorten(value: Any) -> str:
    text = value if value == repr(MISSING) else describe_expected(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]}…"


def _list_rows(compared: Iterable[Compared]) -> Rows:
    """Return the rows of several things, with the name of each before its paths."""
    rows = (row for each in compared for row in prefix_paths(each.name, each.rows))
    return tuple(islice(rows, MAX_ROWS))


def _build_existence_row(number: int) -> FieldCheck:
    return FieldCheck(path="count", expected={"gte": 1}, actual=number, passed=number > 0)
