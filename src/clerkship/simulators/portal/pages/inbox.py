"""The inbox with letters of payers, and the documents of requests."""

from clerkship.sandbox.request import Reply
from clerkship.simulators.portal.describe import build_letter_row
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.downloads import (
    build_download,
    download_letter_pdf,
    download_uploaded,
    list_letter_records,
    list_letters,
    open_letter,
)
from clerkship.simulators.portal.site import PageRequest, Shown, SitePage
from clerkship.simulators.portal.views import InboxView, LetterView


def show_inbox(desk: Desk, request: PageRequest) -> Shown:
    """List the letters."""
    letters = list_letters(desk)
    view = InboxView(title="Inbox", rows=[build_letter_row(desk, each) for each in letters])
    return Shown(view, tuple(f"letter/{each.id}" for each in letters))


def show_letter(desk: Desk, request: PageRequest) -> Shown:
    """Show a letter."""
    letter = open_letter(desk, request.id)
    view = LetterView(title=letter.subject, row=build_letter_row(desk, letter), paragraphs=letter.paragraphs)
    return Shown(view, list_letter_records(letter), {"reference": letter.reference})


def download_letter(desk: Desk, request: PageRequest) -> Reply:
    """Return a letter as PDF."""
    return build_download(download_letter_pdf(desk, request.id))


def download_document(desk: Desk, request: PageRequest) -> Reply:
    """Return a document that the practice uploaded."""
    return build_download(download_uploaded(desk, request.id))


PAGES = (
    SitePage("GET", "/inbox", show_inbox, "inbox", "authorizations"),
    SitePage("GET", "/inbox/{id}", show_letter, "inbox", "authorizations"),
    SitePage("GET", "/inbox/{id}/letter.pdf", download_letter, "inbox", "authorizations"),
    SitePage("GET", "/documents/{id}", download_document, "authorizations", "authorizations"),
)
