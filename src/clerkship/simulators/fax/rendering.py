"""The pages of a fax as its recipient gets them: converted documents, the header line, a degraded page."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from clerkship.formats.fax_pages.canvas import DrawnPage
from clerkship.formats.fax_pages.conversion import convert, detect_format
from clerkship.formats.fax_pages.degradation import Degradation
from clerkship.formats.fax_pages.degrade import degrade, degrade_words
from clerkship.formats.fax_pages.document import MAX_PAGES, DocumentFormat, FaxDocument, UnreadableDocument
from clerkship.formats.fax_pages.header import add_header, format_header
from clerkship.formats.fax_pages.page import FaxPage, PageWords
from clerkship.kit.wall import monotonic
from clerkship.sandbox.request import Refusal
from clerkship.simulators.fax.checks import refuse_document
from clerkship.simulators.fax.outgoing import FaxCover, IncomingFax, OutgoingDocument, OutgoingFax
from clerkship.simulators.fax.templates import cover_sheet

NO_DEGRADATION = Degradation()
MAX_SECONDS = 30.0
"""Wall time after which no further document of a fax is converted. The playground waits as long."""
FindWords = Callable[[str], PageWords | None]
"""Returns the true words of a page that is stored, by its hash."""


class RenderedPage(NamedTuple):
    """A page, with its true words if they are known."""

    page: FaxPage
    words: PageWords | None


class RenderedDocument(NamedTuple):
    """A document and its pages."""

    name: str
    format: DocumentFormat
    pages: Sequence[RenderedPage]


class HeaderLine(NamedTuple):
    """What the line at the top of each page says, but for the number of the page."""

    at: datetime
    name: str
    number: str


def draw_cover(
    fax: OutgoingFax, cover: FaxCover, header: HeaderLine, organization: str, count: int
) -> RenderedDocument:
    """Draw the cover page of a fax whose documents have so many pages, on the letterhead of the organization."""
    own = {"sender": {"name": organization, "fax": header.number}, "date": f"{header.at:%m/%d/%Y}"}
    recipient = {"name": cover.recipient, "attention": cover.attention, "fax": fax.to}
    fields = {**own, "recipient": recipient, **cover.model_dump(exclude={"recipient", "attention"})}
    pages: Sequence[DrawnPage] = ()
    while not pages or fields["pages"] != count + len(pages):  # a long message needs another page
        fields["pages"] = count + max(len(pages), 1)
        pages = cover_sheet.TEMPLATE.draw_values(fields, organization, fax.resolution)
    return RenderedDocument("cover page", "text", [RenderedPage(*each) for each in pages])


def render_outgoing(
    fax: OutgoingFax, header: HeaderLine, find_words: FindWords, organization: str
) -> list[RenderedDocument]:
    """Convert the documents of a fax to pages with the header line; refused if one cannot be converted."""
    documents, count = [], 0
    deadline = monotonic() + MAX_SECONDS
    for document in fax.documents:
        if monotonic() > deadline:
            raise Refusal(413, "too_slow", "the documents take too long to convert; send them in several faxes")
        converted = _convert(document, fax, find_words)
        count += len(converted.pages)
        if count > MAX_PAGES:
            raise Refusal(413, "too_many_pages", f"the fax has more than {MAX_PAGES} pages")
        documents.append(converted)
    if fax.cover is not None:
        documents.insert(0, draw_cover(fax, fax.cover, header, organization, count))
    return _draw_headers(documents, header)


def _convert(document: OutgoingDocument, fax: OutgoingFax, find_words: FindWords) -> RenderedDocument:
    try:
        format = document.format or detect_format(document.name, document.media_type, document.data)
        converted = convert(FaxDocument(name=document.name, format=format, data=document.data), fax.resolution)
    except UnreadableDocument as error:
        raise refuse_document(document.name, error) from None
    # A page of a fax that is sent on unchanged has the same dots, so its words are known.
    pages = [RenderedPage(each.page, each.words or find_words(each.page.hash)) for each in converted]
    return RenderedDocument(document.name, format, pages)


def render_incoming(fax: IncomingFax, header: HeaderLine, degradation: Degradation) -> list[RenderedDocument]:
    """Degrade the pages of a fax that arrives, and draw the header line on them.

    The line comes last: the sender's machine prints it, so it is straight where the paper was crooked.
    """
    documents = [
        RenderedDocument(each.name, each.format, [RenderedPage(page.page, page.words) for page in each.pages])
        for each in fax.documents
    ]
    if degradation != NO_DEGRADATION:
        documents = [
            document._replace(pages=[_degrade(page, degradation, fax.seed) for page in document.pages])
            for document in documents
        ]
    if fax.has_header:
        documents = _draw_headers(documents, header)
    return _lose_pages(documents, fax.missing_pages) if fax.missing_pages else documents


def _degrade(rendered: RenderedPage, degradation: Degradation, seed: str) -> RenderedPage:
    # The seed is not that of the trial, so that a page looks the same, and has the same hash, in each trial.
    page = degrade(rendered.page, degradation, seed)
    if rendered.words is None:
        return RenderedPage(page, None)
    return RenderedPage(page, degrade_words(rendered.words, rendered.page, degradation, seed))


def _lose_pages(documents: Sequence[RenderedDocument], lost: Collection[int]) -> list[RenderedDocument]:
    """Leave out pages by their numbers in the fax; a document without pages is left out, too."""
    remaining, number = [], 0
    for document in documents:
        numbered = list(enumerate(document.pages, number + 1))
        number += len(numbered)
        pages = [page for place, page in numbered if place not in lost]
        if pages:
            remaining.append(document._replace(pages=pages))
    return remaining


def _draw_headers(documents: Sequence[RenderedDocument], header: HeaderLine) -> list[RenderedDocument]:
    total, number, drawn = sum(len(document.pages) for document in documents), 0, []
    for document in documents:
        pages = []
        for rendered in document.pages:
            number += 1
            line = format_header(header.at, header.name, header.number, number, total)
            page, words = add_header(rendered.page, rendered.words or PageWords(), line)
            pages.append(RenderedPage(page, None if rendered.words is None else words))
        drawn.append(document._replace(pages=pages))
    return drawn
