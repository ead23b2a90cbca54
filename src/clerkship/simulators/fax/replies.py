"""Faxes that a correspondent sends only after it got one from the organization."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from clerkship.events.event import Event
from clerkship.formats.fax_pages.files import read_single_page
from clerkship.sandbox.agenda import Agenda
from clerkship.sandbox.state import DueWork
from clerkship.simulators.fax.events import PageStored, ReplyPlanned
from clerkship.simulators.fax.outgoing import IncomingDocument, IncomingFax, IncomingPage


@dataclass
class PlannedReply:
    """A planned fax, and when it is due."""

    plan: ReplyPlanned
    due: DueWork | None = None
    """When it arrives, and the event because of which; None until a fax reached its sender."""

    def build_fax(self, pages: Mapping[str, PageStored]) -> IncomingFax:
        """Return the fax, given the pages that are stored."""
        plan = self.plan
        documents = tuple(
            IncomingDocument(
                name=part.name, format=part.format, pages=tuple(_build_page(pages[hash]) for hash in part.pages)
            )
            for part in plan.parts
        )
        return IncomingFax(
            id=plan.fax_id,
            sender=plan.sender,
            to=plan.to,
            documents=documents,
            missing_pages=plan.missing_pages,
            header_text=plan.header_text,
            has_header=plan.has_header,
            degradation=plan.degradation,
            seed=plan.seed,
        )


class PlannedReplies:
    """The planned faxes in order. Each fax that reaches a number makes the next one from there due."""

    def __init__(self) -> None:
        self.planned: dict[int, PlannedReply] = {}
        """Those that have not arrived, by the seq of their ReplyPlanned."""
        self.agenda = Agenda(self._find_due)

    def _find_due(self, seq: int) -> DueWork | None:
        return self.planned[seq].due if seq in self.planned else None

    def has_id(self, id: str) -> bool:
        """Return whether a planned fax will have an id."""
        return bool(id) and any(each.plan.fax_id == id for each in self.planned.values())

    def answer(self, event: Event, number: str) -> None:
        """Make the next fax from a number due, because a fax reached it."""
        for seq, reply in self.planned.items():
            if reply.due is None and reply.plan.sender == number:
                reply.due = self.agenda.schedule(seq, event.at + timedelta(seconds=reply.plan.delay), event.seq)
                return

    def remove(self, cause: int | None) -> None:
        """Remove the fax that arrived because of an event."""
        for seq, reply in self.planned.items():
            if reply.due is not None and reply.due.cause == cause:
                del self.planned[seq]
                return


def _build_page(stored: PageStored) -> IncomingPage:
    return IncomingPage(page=read_single_page(stored.data), words=stored.true_words)
