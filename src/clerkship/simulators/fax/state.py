"""The state of a fax line: the faxes that were sent and have arrived, their pages, and what is still to be sent.

See docs/decisions/0023-fax.md.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from clerkship.events.event import Event
from clerkship.events.lifecycle import OutboundAttempted
from clerkship.formats.fax_pages.files import read_single_page, write_tiff
from clerkship.formats.fax_pages.page import FaxPage, PageWords, Resolution
from clerkship.sandbox.agenda import Agenda, find_first_due
from clerkship.sandbox.request import Refusal, find_record
from clerkship.sandbox.state import ActionContext, DueWork, State
from clerkship.simulators.fax.checks import MAX_HEADER_TEXT, check_number, check_outgoing, check_own_number
from clerkship.simulators.fax.config import FaxConfig
from clerkship.simulators.fax.events import (
    FaxArrived,
    FaxContentDeleted,
    FaxMarked,
    FaxQueued,
    FaxRead,
    FaxRefused,
    FaxStatusChanged,
    PageStored,
    ReplyPlanned,
)
from clerkship.simulators.fax.index import FaxIndex
from clerkship.simulators.fax.line import FaxLine, LineCall, change_status, find_due
from clerkship.simulators.fax.outgoing import IncomingFax, OutgoingFax
from clerkship.simulators.fax.records import FaxHeader, FaxPart, FaxRecord
from clerkship.simulators.fax.rendering import (
    HeaderLine,
    RenderedDocument,
    RenderedPage,
    render_incoming,
    render_outgoing,
)
from clerkship.simulators.fax.replies import PlannedReplies, PlannedReply

MAX_REFUSED_TEXT = 1000
"""How much of a refused fax its event keeps."""
MAX_STORED_BYTES = 1_000_000_000
"""Bytes of all pages of a line."""


class FaxState(State[FaxConfig]):
    """The faxes of one organization.

    `send` and `receive` check a fax, render its pages, give it an id and emit its events. What was sent is transmitted
    later, in simulated time.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.line = FaxLine(self.config)
        """The machines that can be called."""
        self.index = FaxIndex()
        self.answered_calls: set[tuple[str, str]] = set()
        """Name of a delivery and id of a fax: the agent answered the call, so it is not made again after a rewind."""
        self._agenda = Agenda[str](lambda id: self.index.faxes[id].due)
        self.replies = PlannedReplies()

    @property
    def faxes(self) -> Mapping[str, FaxRecord]:
        """All faxes by id, in order."""
        return self.index.faxes

    def find_fax(self, id: str) -> FaxRecord:
        """Return a fax; refused if it does not exist."""
        return self.index.find(id)

    def page(self, hash: str) -> PageStored:
        """Return a page with its true words; refused if it is not stored. The agent must not get the words."""
        return find_record(self.index.pages, "page", hash)

    def pages_of(self, id: str) -> list[PageStored]:
        """Return the pages of a fax in order, also if the agent deleted them."""
        return [self.page(hash) for hash in self.find_fax(id).header.pages]

    def shipped_words(self, hash: str) -> PageWords | None:
        """Return the OCR words of a page that the datasets have."""
        words = self.records.get(hash)
        return words if isinstance(words, PageWords) else None

    # What the agent and steps do.

    def send(self, action: ActionContext, fax: OutgoingFax) -> Event:
        """Send a fax; return its FaxQueued.

        Emits FaxRefused and raises Refusal if it is not accepted. A number that does not exist is accepted: the call
        fails later.
        """
        try:
            checked = self._check(fax)
            header_line = HeaderLine(_get_local_time(action, self.config), checked.header_text or "", checked.sender)
            documents = render_outgoing(
                self._name_recipient(checked), header_line, self._find_words, self.config.organization
            )
            pages = self._build_pages(documents)
        except Refusal as refusal:
            action.emit(_build_refused(fax, refusal))
            raise
        self._store(action, pages)
        header = FaxHeader(
            id=action.ids.new("fax"),
            direction="outbound",
            sender=checked.sender,
            to=checked.to,
            parts=_build_parts(documents),
            resolution=checked.resolution,
            header_text=checked.header_text or "",
            max_retries=checked.max_retries,
            retry_delay=checked.retry_delay,
            labels=checked.labels,
            in_reply_to=checked.in_reply_to,
        )
        return action.emit(FaxQueued(header=header))

    def _name_recipient(self, fax: OutgoingFax) -> OutgoingFax:
        """Return the fax with the name of the contact on its cover page, unless that has a name."""
        contact = self.line.contacts.get(fax.to)
        if fax.cover is None or fax.cover.recipient or contact is None:
            return fax
        return fax.model_copy(update={"cover": fax.cover.model_copy(update={"recipient": contact.name})})

    def receive(self, action: ActionContext, fax: IncomingFax) -> Event:
        """Let a fax to the organization arrive; return its FaxArrived. Raises Refusal if a number is not valid."""
        sender, to = check_number(fax.sender, "sender"), check_own_number(fax.to, self.config)
        if not any(document.pages for document in fax.documents):
            raise Refusal(422, "no_pages", "documents: expected at least one page")
        if fax.id in self.faxes:
            raise Refusal(409, "id_in_use", f"id: there is already a fax {fax.id}")
        if fax.in_reply_to is not None:
            self.find_fax(fax.in_reply_to)
        contact = self.line.contacts.get(sender)
        name = fax.header_text if fax.header_text is not None else contact.name if contact is not None else ""
        degradation = self.config.degradation if fax.degradation is None else fax.degradation
        documents = render_incoming(fax, HeaderLine(_get_local_time(action, self.config), name, sender), degradation)
        self._store(action, self._build_pages(documents))
        header = FaxHeader(
            id=fax.id or action.ids.new("fax"),
            direction="inbound",
            sender=sender,
            to=to,
            parts=_build_parts(documents),
            resolution=_find_resolution(documents),
            header_text=name[:MAX_HEADER_TEXT],
            labels=fax.labels,
            in_reply_to=fax.in_reply_to,
        )
        return action.emit(FaxArrived(header=header))

    def plan_reply(self, action: ActionContext, fax: IncomingFax, delay: timedelta) -> Event:
        """Let a fax arrive some time after the next fax to its sender was delivered, also in part; return its
        ReplyPlanned. Raises Refusal if a number is not valid.
        """
        if fax.id in self.faxes or self.replies.has_id(fax.id):
            raise Refusal(409, "id_in_use", f"id: there is already a fax {fax.id}")
        documents = [
            RenderedDocument(each.name, each.format, [RenderedPage(page.page, page.words) for page in each.pages])
            for each in fax.documents
        ]
        plan = ReplyPlanned(
            sender=check_number(fax.sender, "sender"),
            to=check_own_number(fax.to, self.config),
            delay=delay.total_seconds(),
            parts=_build_parts(documents),
            missing_pages=fax.missing_pages,
            header_text=fax.header_text,
            has_header=fax.has_header,
            degradation=fax.degradation,
            seed=fax.seed,
            fax_id=fax.id,
        )
        self._store(action, self._build_pages(documents))
        return action.emit(plan)

    def read_pages(
        self, action: ActionContext, id: str, format: str, page: int | None = None
    ) -> list[tuple[PageStored, FaxPage]]:
        """Return the pages of a fax, or one of them, with their dots, as the agent reads them in a format.

        One that arrived is then marked as read. Refused if its content is deleted, or there is no such page.
        """
        record = self.find_fax(id)
        if record.is_content_deleted:
            raise Refusal(410, "content_deleted", f"the content of fax {id[:60]} is deleted")
        hashes = record.header.pages
        if page is not None:
            if not 1 <= page <= len(hashes):
                raise Refusal(404, "no_such_page", f"fax {id[:60]} has no page {page} (expected: 1 to {len(hashes)})")
            hashes = hashes[page - 1 : page]
        stored = [self.page(hash) for hash in hashes]
        action.emit(FaxRead(id=id, format=format, page=page))
        return [(each, read_single_page(each.data)) for each in stored]

    def mark(self, action: ActionContext, id: str, *, unread: bool = False) -> FaxRecord:
        """Mark a fax that arrived as read or unread; refused for one that was sent."""
        record = self.find_fax(id)
        if not record.is_inbound:
            raise Refusal(409, "not_received", f"fax {id[:60]} was sent; only faxes that arrived are marked")
        action.emit(FaxMarked(id=id, unread=unread))
        return record

    def delete_content(self, action: ActionContext, id: str) -> None:
        """Delete the pages of a fax from the service; refused while it is being sent, and if they are deleted."""
        record = self.find_fax(id)
        if record.is_content_deleted:
            raise Refusal(410, "content_deleted", f"the content of fax {id[:60]} is deleted already")
        if record.due is not None:
            raise Refusal(409, "not_finished", f"fax {id[:60]} is {record.status}; delete its content when it is done")
        action.emit(FaxContentDeleted(id=id))

    def _check(self, fax: OutgoingFax) -> OutgoingFax:
        if len(self.faxes) >= self.config.max_faxes:
            raise Refusal(429, "too_many_faxes", f"the line has {self.config.max_faxes} faxes, its maximum")
        answered = None if fax.in_reply_to is None else self.find_fax(fax.in_reply_to)
        return check_outgoing(fax, self.config, answered)

    def _find_words(self, hash: str) -> PageWords | None:
        stored = self.index.pages.get(hash)
        return None if stored is None else stored.true_words

    def _build_pages(self, documents: Sequence[RenderedDocument]) -> list[PageStored]:
        """Return the pages that are not stored yet, or whose words were not known; refused if there is no space."""
        built: dict[str, PageStored] = {}
        for document in documents:
            for page, words in document.pages:
                known = built.get(page.hash) or self.index.pages.get(page.hash)
                if known is not None and (known.true_words is not None or words is None):
                    continue
                built[page.hash] = PageStored(
                    hash=page.hash,
                    resolution=page.resolution,
                    width=page.width,
                    height=page.height,
                    data=write_tiff([page]),
                    true_words=words,
                )
        if self.index.stored_bytes + sum(len(page.data) for page in built.values()) > MAX_STORED_BYTES:
            raise Refusal(507, "storage_full", f"the pages of all faxes have {MAX_STORED_BYTES} bytes, the maximum")
        return list(built.values())

    def _store(self, action: ActionContext, pages: Sequence[PageStored]) -> None:
        for page in pages:
            action.emit(page)

    # What happens later.

    def next_due(self) -> DueWork | None:
        """Return the first change of a status that is due, or the first planned fax."""
        return find_first_due(self._agenda, self.replies.agenda)

    def run_due(self, action: ActionContext) -> None:
        """Change the status of the fax that is due: call its number, or finish sending its pages. A planned fax that is
        due arrives.
        """
        change, reply = self._agenda.first(), self.replies.agenda.first()
        if reply is not None and (change is None or reply[0] < change[0]):
            self.receive(action, self.replies.planned[reply[1]].build_fax(self.index.pages))
        elif change is not None:
            self._change_status(action, self.faxes[change[1]])

    def _change_status(self, action: ActionContext, record: FaxRecord) -> None:
        is_sending = record.status == "sending"
        number = record.line_call if is_sending else self.index.calls.get(record.header.to, 0) + 1
        change = change_status(record, self._dial(record, number))
        action.emit(
            FaxStatusChanged(
                id=record.id,
                status=change.status,
                attempt=change.attempt,
                pages_sent=change.pages_sent,
                error=change.error,
            )
        )
        if change.status == "delivered" and self.line.is_own(record.header.to):
            copy = record.header.model_copy(
                update={"id": action.ids.new("fax"), "direction": "inbound", "labels": {}, "in_reply_to": None}
            )
            action.emit(FaxArrived(header=copy))

    def _dial(self, record: FaxRecord, number: int) -> LineCall:
        return self.line.dial(record.header.to, len(record.header.pages), number)

    # Changes.

    def apply(self, event: Event) -> None:
        self.index.apply(event)
        match event.payload:
            case FaxQueued(header=header):
                self._schedule(self.faxes[header.id], event)
            case FaxArrived():
                self.replies.remove(event.cause)
            case ReplyPlanned() as plan:
                self.replies.planned[event.seq] = PlannedReply(plan)
            case FaxStatusChanged(id=id, status=status):
                if status in ("delivered", "partial"):
                    self.replies.answer(event, self.faxes[id].header.to)
                self._schedule(self.faxes[id], event)
            # A call that was under way during a rewind may be of a fax that is undone.
            case OutboundAttempted(channel=channel, message=id, is_answered=True) if id in self.faxes:
                self.answered_calls.add((channel, id))

    def _schedule(self, record: FaxRecord, event: Event) -> None:
        call = self._dial(record, record.line_call) if record.status == "sending" else None
        at = find_due(record, event.at, self.line, call)
        record.due = None if at is None else self._agenda.schedule(record.id, at, event.seq)


def _build_parts(documents: Sequence[RenderedDocument]) -> tuple[FaxPart, ...]:
    return tuple(
        FaxPart(
            name=document.name, format=document.format, pages=tuple(rendered.page.hash for rendered in document.pages)
        )
        for document in documents
    )


def _find_resolution(documents: Sequence[RenderedDocument]) -> Resolution:
    return next(rendered.page.resolution for document in documents for rendered in document.pages)


def _get_local_time(action: ActionContext, config: FaxConfig) -> datetime:
    return action.now.astimezone(timezone(timedelta(minutes=config.zone or 0)))


def _build_refused(fax: OutgoingFax, refusal: Refusal) -> FaxRefused:
    """Return the event of a refused fax. It keeps the beginning of what was refused, in valid text."""
    return FaxRefused(
        code=refusal.code,
        reason=_clean(refusal.reason),
        to=_clean(fax.to),
        names=tuple(_clean(document.name) for document in fax.documents),
    )


def _clean(text: str) -> str:
    return text[:MAX_REFUSED_TEXT].encode(errors="replace").decode()
