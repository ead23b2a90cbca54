"""`fax_sent`: the agent sent the expected fax and it was delivered, or the agent sent none."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import Field, model_validator

from clerkship.assertions import occurrence
from clerkship.assertions.field_rows import prefix_paths, share_passed
from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.fax.assertions.fax_match import FaxMatch
from clerkship.simulators.fax.assertions.logged import LoggedFax, list_sent_faxes
from clerkship.simulators.fax.assertions.page_search import narrow_sent

MAX_ROWS = 100
"""Rows of evidence about faxes that do not match."""


class _Compared(NamedTuple):
    fax: LoggedFax
    rows: tuple[FieldCheck, ...]
    status: FieldCheck

    @property
    def has_properties(self) -> bool:
        """Whether it is as expected, whatever its status."""
        return all(row.passed for row in self.rows)

    @property
    def matches(self) -> bool:
        """Whether it is as expected."""
        return self.has_properties and self.status.passed

    @property
    def all_rows(self) -> tuple[FieldCheck, ...]:
        """The rows, with that of the status."""
        return (*self.rows, self.status)


class FaxWasSent(Assertion, FaxMatch):
    """The agent sent a fax like this, and it was delivered; or the number of such faxes is as expected. Without
    `status`, a fax that was busy, not answered, failed or partial does not count. One that was still under way at the
    end does not count as sent, but with `count` it must not be one too many. `none` allows no attempt, whatever became
    of it. `input_entity_id` selects faxes whose pages, labels or number are about that record.
    """

    name: ClassVar[str] = "fax_sent"
    simulator: ClassVar[str | None] = "fax"
    scoped: ClassVar[bool] = True
    count: Annotated[CountExpectation | None, Field(description="expected number of such faxes")] = None
    none: Annotated[Flag, Field(description="whether there must be no such fax, not even an attempt")] = False

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.none and self.count is not None:
            raise ValueError("`count` and `none` do not go together")
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return self.none or allows_zero(self.count)

    def check(self, evidence: Evidence) -> Check:
        """Compare every fax; the best one decides."""
        limits = self.find_limits(evidence)
        default: Any = {"exists": True} if self.none else "delivered"
        forbids = self.passes_on_inaction
        compared = [
            _Compared(fax, tuple(self.compare_properties(fax, limits)), self.compare_status(fax, default))
            for fax in narrow_sent(evidence, list_sent_faxes(evidence, self.sandbox), forbids=forbids)
        ]
        if self.none or self.count is not None:
            return self._check_count(compared)
        if not compared:
            row = FieldCheck(path="faxes", expected={"gte": 1}, actual=0, passed=False)
            return Check.of(False, f"the agent sent no fax{self.describe_conditions()}", row)
        return self._check_best(compared)

    def _check_best(self, compared: Sequence[_Compared]) -> Check:
        best = max(compared, key=lambda each: share_passed(each.all_rows))
        name, failed = best.fax.describe(), [row.path for row in best.all_rows if not row.passed]
        if not failed:
            return Check.of_fields(best.all_rows, f"sent: {name}")
        nearest = f"the nearest of {len(compared)} is {name}" if len(compared) > 1 else f"it sent {name}"
        hint = ""
        if failed == ["status"] and best.fax.is_under_way:
            hint = "; it was still under way at the end: the agent did not wait for the outcome"
        detail = f"no fax{self.describe_conditions()}; {nearest}, but not: {', '.join(failed)}{hint}"
        others = _list_rows(each for each in compared if each is not best)
        # A fax that did not arrive is worth nothing, however right its properties are.
        score = share_passed(best.all_rows) if best.status.passed else 0.0
        return Check(False, score, detail, (*best.all_rows, *others))

    def _check_count(self, compared: Sequence[_Compared]) -> Check:
        expected: Any = 0 if self.none else self.count
        matching = [each for each in compared if each.matches]
        waiting = []
        if self.status is None and not self.none:
            waiting = [each for each in compared if each.has_properties and each.fax.is_under_way]
        numbers = {len(matching), len(matching) + len(waiting)}
        passed = all(matches_expected(expected, number) for number in numbers)
        first = next((each.fax.event.seq for each in (*matching, *waiting)), None)
        actual: Any = len(matching) if not waiting else f"{len(matching)}, and {len(waiting)} under way"
        row = FieldCheck(path="count", expected=expected, actual=actual, passed=passed, seq=first)
        listed = occurrence.join_first([each.fax.describe() for each in (*matching, *waiting)]) or "none"
        detail = f"faxes{self.describe_conditions()}: {listed} (expected {describe_expected(expected)})"
        if passed or self.none:
            return Check.of(passed, detail, row)
        return Check.of(False, detail, row, *_list_rows(each for each in compared if not each.matches))


def _list_rows(compared: Any) -> tuple[FieldCheck, ...]:
    rows = (row for each in compared for row in prefix_paths(each.fax.describe(), each.all_rows))
    return tuple(row for _, row in zip(range(MAX_ROWS), rows, strict=False))
