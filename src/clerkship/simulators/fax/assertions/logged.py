"""The faxes of a run, read from its events."""

from collections.abc import Mapping
from typing import NamedTuple

from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.simulators.fax.events import FaxArrived, FaxQueued, FaxStatusChanged, PageStored
from clerkship.simulators.fax.records import FaxHeader, FaxStatus

UNDER_WAY: frozenset[FaxStatus] = frozenset({"queued", "sending", "retrying"})
"""Statuses that are not final."""


class LoggedPage(NamedTuple):
    """A page of a sent fax."""

    number: int
    """Its place in the fax, from 1."""
    document: int
    """The number of its document in the fax, from 1."""
    number_in_document: int
    """Its place in the document, from 1."""
    name: str
    """The name of its document."""
    hash: str

    @property
    def caption(self) -> str:
        """The page in words."""
        return f"page {self.number} ({self.name})" if self.name else f"page {self.number}"


class LoggedFax(NamedTuple):
    """A fax that the agent sent, with what became of it."""

    event: Event
    header: FaxHeader
    status: FaxStatus
    pages_sent: int
    """How many pages the recipient has."""
    answered: FaxHeader | None
    """The fax that it answers, if the agent says so and it arrived."""

    @property
    def is_under_way(self) -> bool:
        """Whether it was neither delivered nor given up at the end of the run."""
        return self.status in UNDER_WAY

    @property
    def pages(self) -> list[LoggedPage]:
        """All of its pages."""
        return list_pages(self.header)

    @property
    def received_pages(self) -> list[LoggedPage]:
        """The pages that the recipient has."""
        return self.pages[: self.pages_sent]

    def describe(self) -> str:
        """Return the number, the pages and the status."""
        count = len(self.header.pages)
        number = f"{count} page{'s' if count != 1 else ''}"
        return f"{number} to {self.header.to}, {self.status.replace('_', ' ')} (#{self.event.seq})"


def list_pages(header: FaxHeader) -> list[LoggedPage]:
    """Return the pages of a fax, in order."""
    pages: list[LoggedPage] = []
    for document, part in enumerate(header.parts, 1):
        pages += [
            LoggedPage(len(pages) + place, document, place, part.name, page) for place, page in enumerate(part.pages, 1)
        ]
    return pages


def list_sent_faxes(evidence: Evidence, sandbox: str | None = None) -> list[LoggedFax]:
    """Return the faxes that the agent sent, in order, whatever became of them.

    Those that a reaction sends because of something that the agent did are the agent's.
    """
    return [fax for fax in evidence.cached(_read_faxes) if sandbox in (None, fax.event.source)]


def get_stored_page(evidence: Evidence, source: str, page: str) -> PageStored | None:
    """Return a page by its hash; None if the log does not have it."""
    return evidence.cached(_read_pages).get((source, page))


def _read_faxes(evidence: Evidence) -> list[LoggedFax]:
    arrived: dict[tuple[str, str | None], FaxHeader] = {}
    changes: dict[tuple[str, str], FaxStatusChanged] = {}
    for event in evidence.of_kind(FaxArrived.kind, FaxStatusChanged.kind):
        if isinstance(event.payload, FaxArrived):
            arrived[event.source, event.payload.header.id] = event.payload.header
        elif isinstance(event.payload, FaxStatusChanged):
            changes[event.source, event.payload.id] = event.payload
    faxes = []
    for event in evidence.of_kind(FaxQueued.kind):
        if isinstance(event.payload, FaxQueued) and evidence.find_originator(event) == "agent":
            header = event.payload.header
            change = changes.get((event.source, header.id))
            answered = arrived.get((event.source, header.in_reply_to))
            status: FaxStatus = change.status if change is not None else "queued"
            faxes.append(LoggedFax(event, header, status, change.pages_sent if change is not None else 0, answered))
    return faxes


def _read_pages(evidence: Evidence) -> Mapping[tuple[str, str], PageStored]:
    stored = ((event.source, event.payload) for event in evidence.of_kind(PageStored.kind))
    return {(source, page.hash): page for source, page in stored if isinstance(page, PageStored)}
