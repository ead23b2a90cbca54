"""Faxes that a correspondent sends only after it got one from the organization."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from clerkship.events.event import Event
from clerkship.formats.fax_pages.files import read_single_page
from clerkship.simulators.fax.events import PageStored, ReplyPlanned
from clerkship.simulators.fax.outgoing import IncomingDocument, IncomingFax, IncomingPage


@dataclass
class PlannedReply:
    """A planned fax, and when it is due."""

    plan: ReplyPlanned
    due: tuple[datetime, int] | None = None
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
        self._waiting: list[PlannedReply] = []

    def add(self, plan: ReplyPlanned) -> None:
        """Add a planned fax."""
        self._waiting.append(PlannedReply(plan))

    def has_id(self, id: str) -> bool:
        """Return whether a planned fax will have an id."""
        return bool(id) and any(each.plan.fax_id == id for each in self._waiting)

    def answer(self, event: Event, number: str) -> None:
        """Make the next fax from a number due, because a fax reached it."""
        reply = next((each for each in self._waiting if each.due is None and each.plan.sender == number), None)
        if reply is not None:
            reply.due = (event.at + timedelta(seconds=reply.plan.delay), event.seq)

    def remove(self, cause: int | None) -> None:
        """Remove the fax that arrived because of an event."""
        self._waiting = [each for each in self._waiting if each.due is None or each.due[1] != cause]

    def first(self) -> PlannedReply | None:
        """Return the fax that is due first; None if none is due."""
        return min((each for each in self._waiting if each.due), key=lambda each: each.due or (), default=None)

    def dump(self) -> list[Any]:
        """Return plain data."""
        return [
            [each.plan.model_dump(mode="json"), [each.due[0].isoformat(), each.due[1]] if each.due else None]
            for each in self._waiting
        ]


def _build_page(stored: PageStored) -> IncomingPage:
    return IncomingPage(page=read_single_page(stored.data), words=stored.true_words)
