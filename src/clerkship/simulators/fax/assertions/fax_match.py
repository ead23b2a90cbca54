"""Conditions on one fax that the agent sent: its numbers, its pages, its status and when it was sent."""

from collections.abc import Iterator
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, Field

from clerkship.assertions.address_match import matches_address
from clerkship.assertions.occurrence import CountExpectation
from clerkship.assertions.selection import EventWindow
from clerkship.events.event import Event
from clerkship.events.query import field_check
from clerkship.model.closed import OneOf
from clerkship.model.frozen import Whole
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import compare_given, compare_value
from clerkship.simulators.fax.assertions.logged import LoggedFax
from clerkship.simulators.fax.events import FaxQueued
from clerkship.simulators.fax.names import FAX, FAX_NUMBER, OWN_NUMBER
from clerkship.simulators.fax.records import FaxStatus

CONDITIONS = ("to", "sender", "pages", "in_reply_to", "status")


def list_page_numbers(page: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the pages that a criterion names, from 1; empty for all."""
    return () if page is None else (page,) if isinstance(page, int) else page


def check_pages(page: Any) -> Any:
    """Check the number or numbers of pages when a file is loaded."""
    if any(number < 1 for number in list_page_numbers(page)):
        raise ValueError("`page` is counted from 1")
    return page


PageNumbers = Annotated[Whole | tuple[Whole, ...] | None, AfterValidator(check_pages)]


class FaxMatch(EventWindow):
    """Properties that a sent fax must have."""

    to: Annotated[
        Expected | None,
        FAX_NUMBER,
        Field(description="fax number that it was sent to, in any notation; a list of which one, or a matcher"),
    ] = None
    sender: Annotated[
        Expected | None, OWN_NUMBER, Field(alias="from", description="own fax number that it was sent from")
    ] = None
    pages: Annotated[CountExpectation | None, Field(description="number of its pages, such as 3 or {lte: 5}")] = None
    in_reply_to: Annotated[
        Expected | None,
        FAX,
        Field(description="the fax that it answers: its id, or the number that it came from; or a matcher"),
    ] = None
    status: Annotated[
        Expected | None,
        OneOf(*get_args(FaxStatus)),
        Field(description="status at the end of the run, such as busy or {in: [delivered, partial]}"),
    ] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; any if not given")] = None

    def compare_properties(self, fax: LoggedFax, limits: tuple[Event | None, Event | None]) -> Iterator[FieldCheck]:
        """Yield a row for each expected property, except the status."""
        header, seq = fax.header, fax.event.seq
        for path, expected, number in (("to", self.to, header.to), ("from", self.sender, header.sender)):
            if expected is not None:
                yield field_check(path, expected, number, passed=matches_address(expected, [number]), seq=seq)
        yield from compare_given([("pages", self.pages, len(header.pages))], seq)
        if self.in_reply_to is not None:
            passed, actual = self._compare_answered(fax)
            yield field_check("in_reply_to", self.in_reply_to, actual, passed=passed, seq=seq)
        yield from self.compare_time(fax.event, limits)
        yield FieldCheck(path="fax", expected=FaxQueued.kind, actual=FaxQueued.kind, passed=True, seq=seq)

    def compare_status(self, fax: LoggedFax, default: Any) -> FieldCheck:
        """Compare the status with that of the criterion, or with another if it has none."""
        expected = default if self.status is None else self.status
        return compare_value("status", expected, fax.status, fax.event.seq)

    def _compare_answered(self, fax: LoggedFax) -> tuple[bool, Any]:
        if fax.answered is None:
            actual = MISSING if fax.header.in_reply_to is None else fax.header.in_reply_to
            return matches_expected(self.in_reply_to, actual), actual
        id, number = fax.answered.id, fax.answered.sender
        passed = matches_expected(self.in_reply_to, id) or matches_address(self.in_reply_to, [number])
        return passed, f"{id} from {number}"

    def describe_conditions(self) -> str:
        """Describe the given conditions as the end of a sentence: ` with to +15550100300`; empty if there are none."""
        given = [(name, getattr(self, name)) for name in CONDITIONS]
        words = ", ".join(
            f"{'from' if name == 'sender' else name} {describe_expected(value)}"
            for name, value in given
            if value is not None
        )
        return f" with {words}" if words else ""
