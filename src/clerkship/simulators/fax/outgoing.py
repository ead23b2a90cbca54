"""Faxes before they have an id: what a protocol or a step hands to the state."""

from typing import Annotated

from pydantic import Field

from clerkship.formats.fax_pages.degradation import Degradation
from clerkship.formats.fax_pages.document import DocumentFormat
from clerkship.formats.fax_pages.page import FaxPage, PageWords, Resolution
from clerkship.model.frozen import Flag, Frozen, Whole

DEFAULT_RETRIES = 3
DEFAULT_RETRY_DELAY = 60.0


class OutgoingDocument(Frozen):
    """A file to send. Its format is detected from its content, unless it is given."""

    name: str = ""
    media_type: Annotated[str, Field(description="the type that the client declares; only a hint")] = ""
    format: DocumentFormat | None = None
    data: bytes = b""


class FaxCover(Frozen):
    """What the cover page of a fax says, besides the numbers, the date and the number of pages."""

    recipient: Annotated[str, Field(max_length=200, description="name of the recipient; the contact's by default")] = ""
    attention: Annotated[str, Field(max_length=200, description="person or desk at the recipient")] = ""
    contact: Annotated[str, Field(max_length=200, description="person who sends the fax")] = ""
    subject: Annotated[str, Field(max_length=200)] = ""
    message: Annotated[str, Field(max_length=10_000)] = ""
    urgent: Flag = False
    for_review: Flag = False
    please_reply: Flag = False


class OutgoingFax(Frozen):
    """A fax that the organization wants to send. `FaxState.send` checks it, renders its pages and gives it an id."""

    to: Annotated[str, Field(description="a fax number; may be empty in an answer: then it goes to the sender")] = ""
    sender: Annotated[str, Field(description="one of its own numbers; empty for the first")] = ""
    documents: tuple[OutgoingDocument, ...] = ()
    cover: Annotated[FaxCover | None, Field(description="a cover page before the documents")] = None
    header_text: Annotated[
        str | None, Field(description="the name in the line at the top of each page; the organization by default")
    ] = None
    resolution: Resolution = "fine"
    max_retries: int = DEFAULT_RETRIES
    retry_delay: float = DEFAULT_RETRY_DELAY
    labels: dict[str, str] = {}
    in_reply_to: Annotated[str | None, Field(description="id of a fax that arrived")] = None


class IncomingPage(Frozen):
    """A page of a fax that arrives, with its true words if they are known."""

    page: FaxPage
    words: PageWords | None = None


class IncomingDocument(Frozen):
    """One document of a fax that arrives. The agent sees only pages, not where a document begins."""

    name: str = ""
    format: DocumentFormat = "text"
    pages: tuple[IncomingPage, ...]


class IncomingFax(Frozen):
    """A fax to the organization. `FaxState.receive` draws the header line, degrades the pages and gives it an id."""

    id: Annotated[str, Field(description="its id; a new one by default")] = ""
    sender: Annotated[str, Field(description="the number that it comes from")]
    to: Annotated[str, Field(description="one of the organization's own numbers; empty for the first")] = ""
    documents: tuple[IncomingDocument, ...]
    header_text: Annotated[
        str | None,
        Field(description="the sender's name in the line at the top; that of the contact with its number by default"),
    ] = None
    missing_pages: Annotated[
        tuple[Whole, ...], Field(description="numbers of pages, from 1, that do not arrive; the others keep theirs")
    ] = ()
    has_header: Annotated[Flag, Field(description="whether the sender's machine draws the line at the top")] = True
    degradation: Annotated[Degradation | None, Field(description="that of the config by default")] = None
    seed: Annotated[
        str, Field(description="seed of the degradation: with the same seed, the same page always looks the same")
    ] = ""
    labels: dict[str, str] = {}
    in_reply_to: Annotated[str | None, Field(description="id of a fax that was sent")] = None
