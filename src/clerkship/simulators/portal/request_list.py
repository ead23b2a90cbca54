"""The list of requests: filters, sorting and paging."""

from collections.abc import Callable
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import urlencode

from clerkship.payer.answer import Authorization
from clerkship.simulators.portal.describe import STATUS_LABELS
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.events import Searched
from clerkship.simulators.portal.form_values import FormValues
from clerkship.simulators.portal.views import Paging

PAGE_SIZE = 20
MAX_TERM = 80
"""Characters of a filter."""
SORTS: dict[str, tuple[str, Callable[[Authorization], object]]] = {
    "newest": ("Newest first", lambda each: -each.requested.timestamp()),
    "oldest": ("Oldest first", lambda each: each.requested.timestamp()),
    "status": ("Status", lambda each: (each.status, -each.requested.timestamp())),
    "valid_to": ("Valid until", lambda each: str(each.valid_to or "9999")),
}


class RequestPage(NamedTuple):
    """One page of the list."""

    rows: list[Authorization]
    paging: Paging
    terms: dict[str, str]
    """What was typed in each filter."""

    @property
    def records(self) -> tuple[str, ...]:
        """The requests, for the log."""
        return tuple(f"request/{each.id}" for each in self.rows)

    @property
    def values(self) -> dict[str, Any]:
        """What the page shows, for the log."""
        return {"statuses": {each.id: each.status for each in self.rows}, "total": self.paging.total}


def find_requests(desk: Desk, form: FormValues) -> RequestPage:
    """Return the requests that match the filters of a form, and log the search. Problems are in the form."""
    terms = {
        "number": form.text("number", "The number", MAX_TERM),
        "member_id": form.text("member_id", "The member ID", MAX_TERM),
        "status": form.choice("status", "The status", STATUS_LABELS),
        "requested_from": form.text("requested_from", "The first day", MAX_TERM),
        "requested_to": form.text("requested_to", "The last day", MAX_TERM),
        "sort": form.choice("sort", "The order", SORTS),
    }
    days = form.day("requested_from", "The first day"), form.day("requested_to", "The last day")
    found = [each for each in desk.list_requests() if _matches(desk, each, terms, *days)]
    found.sort(key=SORTS[terms["sort"] or "newest"][1])  # type: ignore[arg-type]
    used = {name: text for name, text in terms.items() if text}
    rows, paging = _take_page(found, form.fields.get("page", ""), used)
    page = RequestPage(rows, paging, terms)
    if used:
        desk.action.emit(Searched(session=desk.session, subject="request", terms=used, records=page.records))
    return page


def _take_page(found: list[Authorization], typed: str, used: dict[str, str]) -> tuple[list[Authorization], Paging]:
    pages = max(1, -(-len(found) // PAGE_SIZE))
    page = min(max(int(typed), 1), pages) if typed.isdecimal() and len(typed) < 9 else 1
    start = (page - 1) * PAGE_SIZE
    rows = found[start : start + PAGE_SIZE]
    return rows, Paging(page, pages, len(found), start + 1 if rows else 0, start + len(rows), urlencode(used))


def _matches(desk: Desk, request: Authorization, terms: dict[str, str], start: date | None, end: date | None) -> bool:
    member = desk.records.find_member(request.member_key)
    day = desk.local_time(request.requested).date()
    return (
        (not terms["number"] or terms["number"].upper() in (request.id, request.number))
        and (not terms["member_id"] or (member is not None and member.member_id == terms["member_id"].upper()))
        and (not terms["status"] or request.status == terms["status"])
        and (start is None or day >= start)
        and (end is None or day <= end)
    )
