"""The operations of a fax line, in terms of no protocol."""

import base64
import binascii
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from clerkship.formats.fax_pages.files import write_pdf, write_png, write_tiff
from clerkship.formats.fax_pages.page import Resolution
from clerkship.kit.wall import monotonic
from clerkship.model.conversation_key import normalize_any_address
from clerkship.model.frozen import Flag, Frozen, Number, Whole
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fax.config import FaxContact
from clerkship.simulators.fax.events import FaxWebhookRegistered
from clerkship.simulators.fax.index import FaxFilter
from clerkship.simulators.fax.ocr_words import read_upright
from clerkship.simulators.fax.outgoing import (
    DEFAULT_RETRIES,
    DEFAULT_RETRY_DELAY,
    FaxCover,
    OutgoingDocument,
    OutgoingFax,
)
from clerkship.simulators.fax.records import Direction, FaxRecord, FaxStatus
from clerkship.simulators.fax.state import FaxState
from clerkship.transports.outbound.event_webhook import register_url

Context = OperationContext[FaxState]
WEBHOOK_LINK = "webhook"
"""The name of the callback address that is called for each fax that arrives, and for each that is done."""
MAX_LISTED = 1000
After = Annotated[str, Field(description="the next of the previous page")]
Count = Annotated[int, Field(ge=1, le=MAX_LISTED, description="the largest number of entries to return")]
MAX_TEXT_SECONDS = 30.0
"""Wall time after which no further page of a request is read. The playground waits as long."""
MAX_TEXT_PAGES = 20
"""Pages whose text one request reads, because a page takes a second or more."""


def view_fax(record: FaxRecord) -> dict[str, Any]:
    """Describe a fax."""
    header = record.header
    view = {
        "id": header.id,
        "direction": header.direction,
        "sender": header.sender,
        "to": header.to,
        "at": record.created_at.isoformat(),
        "status": record.status,
        "pages": len(header.pages),
        "resolution": header.resolution,
    }
    view |= {"unread": record.is_unread} if record.is_inbound else _view_sending(record)
    return view | ({"content_deleted": True} if record.is_content_deleted else {})


def _view_sending(record: FaxRecord) -> dict[str, Any]:
    """Describe what only a fax that was sent has."""
    header = record.header
    optional = {"in_reply_to": header.in_reply_to, "labels": dict(header.labels), "error": record.error}
    return {
        "status_at": record.status_at.isoformat(),
        "documents": [{"name": part.name, "format": part.format, "pages": len(part.pages)} for part in header.parts],
        "header": header.header_text,
        "attempts": record.attempts,
        "pages_sent": record.pages_sent,
        "max_retries": header.max_retries,
        "retry_delay": header.retry_delay,
        **{name: value for name, value in optional.items() if value},
    }


def view_contact(contact: FaxContact) -> dict[str, Any]:
    """Describe a contact, without how its line behaves."""
    return {"name": contact.name, "number": contact.number}


def read_text(state: FaxState, action: ActionContext, id: str, page: int | None) -> dict[str, Any]:
    """Return the text of each page of a fax, or of one page.

    The words are never the true ones: they are those of the datasets, or else those that the engine reads. Raises
    OcrUnavailable, an error of the platform, if there is neither. Refused for all pages of a long fax.
    """
    count = len(state.find_fax(id).header.pages)
    if page is None and count > MAX_TEXT_PAGES:
        limit = f"the text of at most {MAX_TEXT_PAGES} is read at once"
        raise Refusal(413, "too_many_pages", f"fax {id[:60]} has {count} pages, and {limit}: give a page")
    pages = state.read_pages(action, id, "text", page)
    texts = []
    deadline = monotonic() + MAX_TEXT_SECONDS
    for number, (stored, dots) in enumerate(pages, page or 1):
        if monotonic() > deadline:
            raise Refusal(413, "too_slow", f"the pages of fax {id[:60]} take too long to read at once: give a page")
        shipped = state.shipped_words(stored.hash)
        words = read_upright(dots) if shipped is None else shipped
        texts.append({"page": number, "text": words.text})
    return {"id": id, "pages": texts}


class FaxId(Frozen):
    """A fax."""

    id: Annotated[str, Field(description="id of a fax")]


class FaxMark(FaxId):
    """A fax to mark."""

    unread: Annotated[Flag, Field(description="true to mark it as unread again")] = False


class FaxDownload(FaxId):
    """A fax to download."""

    format: Annotated[Literal["pdf", "tiff"], Field(description="pdf or tiff")] = "pdf"


class FaxPageNumber(FaxId):
    """A page of a fax."""

    page: Annotated[int, Field(description="number of the page, from 1")]


class FaxTextPages(FaxId):
    """The pages of a fax whose text to read."""

    page: Annotated[int | None, Field(description="number of a page, from 1; all pages by default")] = None


class NewDocument(Frozen):
    """A file to send: PDF, TIFF, PNG, JPEG or text."""

    name: Annotated[str, Field(description="name of the file")] = ""
    text: Annotated[str | None, Field(description="its text; form feeds begin a new page")] = None
    base64: Annotated[str | None, Field(description="its content in base64, instead of text")] = None
    content_type: Annotated[str, Field(description="its media type; the content decides")] = ""


class NewFax(Frozen):
    """A fax to send."""

    to: Annotated[str, Field(description="fax number, such as +15550100123; the sender of in_reply_to by default")] = ""
    sender: Annotated[str, Field(description="own number; the first by default")] = ""
    text: Annotated[str | None, Field(description="a text to send, before the documents if there are any")] = None
    documents: Annotated[
        tuple[NewDocument, ...] | None, Field(description="files or texts; each begins on a new page")
    ] = None
    cover: Annotated[
        FaxCover | None, Field(description="a cover page before the documents; it has date, numbers and page count")
    ] = None
    header: Annotated[
        str | None, Field(description="the sender's name in the line at the top of each page; the organization's name")
    ] = None
    resolution: Annotated[Resolution, Field(description="standard (204x98 dots per inch) or fine (204x196)")] = "fine"
    max_retries: Annotated[Whole, Field(description="attempts after the first one fails, 0 to 5")] = DEFAULT_RETRIES
    retry_delay: Annotated[Number, Field(description="seconds between two attempts")] = DEFAULT_RETRY_DELAY
    in_reply_to: Annotated[str | None, Field(description="id of the fax that it answers")] = None
    labels: Annotated[dict[str, str], Field(description="your own notes on the fax")] = {}


class FaxList(Frozen):
    """Which faxes to list."""

    direction: Annotated[Direction | None, Field(description="inbound or outbound")] = None
    status: Annotated[FaxStatus | None, Field(description="only faxes with this status")] = None
    address: Annotated[str | None, Field(description="only faxes from or to this number")] = None
    unread: Annotated[bool | None, Field(description="true for unread faxes only")] = None
    since: Annotated[AwareDatetime | None, Field(description="only faxes at or after this time")] = None
    after: After = ""
    count: Count = 100


class FaxContactList(Frozen):
    """Which contacts to list."""

    name: Annotated[str, Field(description="a part of the name")] = ""
    number: Annotated[str, Field(description="a fax number")] = ""
    after: After = ""
    count: Count = 100


class WebhookUrl(Frozen):
    """Where the agent is called."""

    url: Annotated[str, Field(description="URL of the agent; empty to end it")]


@operation()
def show_line(context: Context, _: NoInput) -> dict[str, Any]:
    """Show the organization's own fax numbers: {"organization", "numbers", "unread", "project"}.

    The project is its id in the Sinch API.
    """
    settings = context.state.config
    return {
        "organization": settings.organization,
        "numbers": list(settings.numbers),
        "unread": context.state.index.unread,
        "project": settings.project,
    }


@operation(shorter_hint="give a `name`")
def list_contacts(context: Context, page: FaxContactList) -> dict[str, Any]:
    """Search the fax machines of others: {"contacts": [{"name", "number"}], "next"}."""
    contacts = iter(context.state.line.contacts.values())
    if page.after:
        if page.after not in context.state.line.contacts:
            raise Refusal(404, "no_such_contact", f"there is no contact {page.after[:60]}")
        for contact in contacts:
            if contact.number == page.after:
                break
    part = page.name.casefold()
    number = normalize_any_address(page.number)
    wanted = (each for each in contacts if part in each.name.casefold() and number in ("", each.number))
    return _page("contacts", [view_contact(contact) for contact in islice(wanted, page.count)], page.count, "number")


@operation(essential=True)
def send_fax(context: Context, fax: NewFax) -> dict[str, Any]:
    """Send a fax: files (PDF, TIFF, PNG, JPEG) or text. Returns it with its id; it is sent later, see its status."""
    if fax.text is None and fax.documents is None:
        raise Refusal(422, "invalid_input", "expected text or documents")
    given = (*(() if fax.text is None else (NewDocument(text=fax.text),)), *(fax.documents or ()))
    documents = tuple(_build_document(document, number) for number, document in enumerate(given, 1))
    fields = fax.model_dump(exclude={"text", "documents", "cover", "header"})
    outgoing = OutgoingFax(documents=documents, cover=fax.cover, header_text=fax.header, **fields)
    event = context.state.send(context.action, outgoing)
    return view_fax(context.state.find_fax(event.payload.header.id))  # type: ignore[attr-defined]


@operation(essential=True, shorter_hint="give a `count`")
def list_faxes(context: Context, page: FaxList) -> dict[str, Any]:
    """List faxes, oldest first: {"faxes": [{"id", "direction", "sender", "to", "status", "pages", …}], "next"}."""
    wanted = FaxFilter(page.direction, page.status, page.address, page.unread, page.since)
    after = context.state.find_fax(page.after).number if page.after else 0
    records = islice(context.state.index.list_faxes(wanted, after), page.count)
    return _page("faxes", [view_fax(record) for record in records], page.count, "id")


@operation(essential=True)
def show_fax(context: Context, fax: FaxId) -> dict[str, Any]:
    """Show the status of a fax, its numbers and how many pages it has; not its content."""
    return view_fax(context.state.find_fax(fax.id))


@operation()
def download_fax(context: Context, fax: FaxDownload) -> bytes:
    """Download all pages of a fax as a PDF or TIFF file; one that arrived is then marked as read."""
    pages = [page for _, page in context.state.read_pages(context.action, fax.id, fax.format)]
    return write_pdf(pages) if fax.format == "pdf" else write_tiff(pages)


@operation()
def download_page(context: Context, page: FaxPageNumber) -> bytes:
    """Download a page of a fax as a PNG picture; one that arrived is then marked as read."""
    [(_, dots)] = context.state.read_pages(context.action, page.id, "png", page.page)
    return write_png(dots)


@operation(essential=True, shorter_hint="give a `page`")
def read_fax_text(context: Context, fax: FaxTextPages) -> dict[str, Any]:
    """Read the text of a fax by OCR, with its mistakes: {"id", "pages": [{"page", "text"}]}. Marks it as read.

    A page that is upside down or sideways is turned first.
    """
    return read_text(context.state, context.action, fax.id, fax.page)


@operation(essential=True)
def mark_fax(context: Context, mark: FaxMark) -> dict[str, Any]:
    """Mark a fax as read, or as unread again."""
    return view_fax(context.state.mark(context.action, mark.id, unread=mark.unread))


@operation()
def delete_fax_content(context: Context, fax: FaxId) -> None:
    """Delete the pages of a fax. Its numbers and its status stay."""
    context.state.delete_content(context.action, fax.id)


@operation(tool=False, logs_body=False)
def register_webhook(context: Context, webhook: WebhookUrl) -> None:
    """Register the URL that is called for each fax that arrives and for each that is done; an empty one ends it."""
    register_url(context, WEBHOOK_LINK, webhook.url)  # first, because it may refuse the address
    context.action.emit(FaxWebhookRegistered(registered=bool(webhook.url)))


def _build_document(document: NewDocument, number: int) -> OutgoingDocument:
    name = document.name or f"document {number}"
    if (document.text is None) == (document.base64 is None):
        raise Refusal(422, "invalid_input", f"document {name[:60]!r}: expected either text or base64")
    if document.text is not None:
        return OutgoingDocument(name=name, format="text", data=document.text.encode())
    try:
        data = base64.b64decode(document.base64 or "", validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(422, "invalid_input", f"document {name[:60]!r}: expected base64") from None
    return OutgoingDocument(name=name, media_type=document.content_type, data=data)


def _page(name: str, entries: list[dict[str, Any]], count: int, key: str) -> dict[str, Any]:
    return {name: entries, **({"next": entries[-1][key]} if len(entries) == count else {})}


OPERATIONS = (
    *(show_line, list_contacts, send_fax, list_faxes, show_fax, download_fax, download_page, read_fax_text),
    *(mark_fax, delete_fax_content, register_webhook),
)
