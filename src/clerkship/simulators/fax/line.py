"""How the fax line behaves: what a call to a number leads to, and how long it takes."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from clerkship.simulators.fax.config import FaxConfig, FaxContact, LineOutcome
from clerkship.simulators.fax.records import FaxRecord, FaxStatus

NOT_IN_SERVICE = "number not in service"
_FINAL_STATUS: Mapping[LineOutcome, FaxStatus] = {
    "ok": "delivered",
    "busy": "busy",
    "no_answer": "no_answer",
    "failed": "failed",
    "partial": "partial",
}


class LineCall(NamedTuple):
    """One call to a number: its outcome, and how many pages get through."""

    outcome: LineOutcome
    pages: int = 0
    error: str = ""
    is_permanent: bool = False
    """Whether another attempt has the same outcome, so that none is made."""

    @property
    def is_answered(self) -> bool:
        """Whether a machine answers and pages are sent."""
        return self.outcome in ("ok", "partial")

    @property
    def final_status(self) -> FaxStatus:
        """The status of a fax if this is the last attempt."""
        return _FINAL_STATUS[self.outcome]


class FaxLine:
    """The machines that can be called: the organization's own numbers and the contacts."""

    def __init__(self, config: FaxConfig) -> None:
        self._config = config
        self._own = frozenset(config.numbers)
        self.contacts: dict[str, FaxContact] = {}
        """Contacts by number; of two with the same number, the first."""
        for contact in config.contacts:
            self.contacts.setdefault(contact.number, contact)

    def is_own(self, number: str) -> bool:
        """Return whether a number is one of the organization's own."""
        return number in self._own

    def dial(self, number: str, pages: int, attempt: int) -> LineCall:
        """Return the outcome of a call: the first call ever to this number is attempt 1."""
        if self.is_own(number):
            return LineCall("ok", pages)
        contact = self.contacts.get(number)
        if contact is None:
            return LineCall("failed", error=NOT_IN_SERVICE, is_permanent=True)
        outcomes = contact.outcomes or ("ok",)
        match outcomes[min(attempt, len(outcomes)) - 1]:
            case "ok":
                return LineCall("ok", pages)
            case "busy":
                return LineCall("busy", error="the line is busy")
            case "no_answer":
                return LineCall("no_answer", error="no answer")
            case "failed":
                return LineCall("failed", error="the call was answered, but not by a fax machine")
            case "partial":
                sent = min(contact.partial_pages, pages - 1)
                return LineCall("partial", sent, f"the connection was lost after {sent} of {pages} pages")

    def time_to_dial(self) -> timedelta:
        """Return how long it takes until a machine answers, or the line is busy."""
        return self._config.dial_time

    def time_to_send(self, record: FaxRecord, call: LineCall) -> timedelta:
        """Return how long the pages of a call take."""
        each = self._config.page_time * (2 if record.header.resolution == "fine" else 1)
        # A connection is lost during a page, so that page takes time, too.
        return each * (call.pages if call.outcome == "ok" else call.pages + 1)


class DueChange(NamedTuple):
    """The next status of a fax."""

    status: FaxStatus
    attempt: int
    pages_sent: int = 0
    error: str = ""


def change_status(record: FaxRecord, call: LineCall) -> DueChange:
    """Return the next status of a fax, given the call that is made or under way."""
    attempt = record.attempts if record.status == "sending" else record.attempts + 1
    if record.status != "sending" and call.is_answered:
        return DueChange("sending", attempt)
    if call.outcome == "ok":
        return DueChange("delivered", attempt, call.pages)
    if attempt <= record.header.max_retries and not call.is_permanent:
        return DueChange("retrying", attempt, call.pages, call.error)
    return DueChange(call.final_status, attempt, call.pages, call.error)


def find_due(record: FaxRecord, changed_at: datetime, line: FaxLine, call: LineCall | None) -> datetime | None:
    """Return when the status of a fax changes next; None if it is final."""
    if record.status == "queued":
        return changed_at + line.time_to_dial()
    if record.status == "retrying":
        return changed_at + timedelta(seconds=record.header.retry_delay) + line.time_to_dial()
    if record.status == "sending" and call is not None:
        return changed_at + line.time_to_send(record, call)
    return None
