"""The inbox and the uploaded documents: open, and download as files."""

from typing import NamedTuple

from clerkship.sandbox.request import Reply
from clerkship.simulators.portal.desk import NOT_FOUND, Desk, DeskRefusal
from clerkship.simulators.portal.events import Downloaded, LetterOpened
from clerkship.simulators.portal.letters import write_letter
from clerkship.simulators.portal.records import Letter, UploadedDocument

PDF = "application/pdf"


class DownloadedFile(NamedTuple):
    """A file as it is sent."""

    name: str
    media: str
    data: bytes


def list_letters(desk: Desk) -> list[Letter]:
    """Return the letters of the payers of this portal, newest first."""
    return [each for each in reversed(desk.state.letters.values()) if each.payer_id in desk.payer_ids]


def get_letter(desk: Desk, id: str) -> Letter:
    """Return a letter."""
    letter = desk.state.letters.get(id)
    if letter is None or letter.payer_id not in desk.payer_ids:
        raise DeskRefusal(NOT_FOUND, "There is no such letter.", "Open the inbox.")
    return letter


def open_letter(desk: Desk, id: str) -> Letter:
    """Return a letter, which is read then."""
    letter = get_letter(desk, id)
    if not letter.is_read:
        desk.action.emit(LetterOpened(session=desk.session, id=letter.id))
    return desk.state.letters[id]


def list_letter_records(letter: Letter) -> tuple[str, ...]:
    """Return what a letter shows, for the log."""
    return (f"letter/{letter.id}", *([f"request/{letter.reference}"] if letter.reference else []))


def download_letter_pdf(desk: Desk, id: str) -> DownloadedFile:
    """Return a letter as PDF."""
    letter = get_letter(desk, id)
    data = write_letter(desk, letter)
    desk.action.emit(Downloaded(session=desk.session, what="letter", id=letter.id))
    return DownloadedFile(f"{letter.id}.pdf", PDF, data)


def get_document(desk: Desk, id: str) -> UploadedDocument:
    """Return a document that the practice uploaded."""
    document = desk.state.documents.get(id)
    if document is None:
        raise DeskRefusal(NOT_FOUND, "There is no such document.", "Open the request that it belongs to.")
    return document


def download_uploaded(desk: Desk, id: str) -> DownloadedFile:
    """Return a document that the practice uploaded."""
    document = get_document(desk, id)
    desk.action.emit(Downloaded(session=desk.session, what="document", id=document.id))
    return DownloadedFile(document.name, document.media, desk.state.contents[document.id])


def build_download(file: DownloadedFile) -> Reply:
    """Return the reply that sends a file."""
    safe = "".join(each if each.isascii() and (each.isalnum() or each in "._- ") else "_" for each in file.name)
    return Reply(200, file.data, file.media, {"Content-Disposition": f'attachment; filename="{safe}"'})
