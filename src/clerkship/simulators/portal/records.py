"""What only the portal has: sessions, drafts, uploaded documents, letters and announcements."""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from clerkship.model.closed import NameOf
from clerkship.model.frozen import Frozen, Number, Whole
from clerkship.payer.inquiry import Frequency, ReviewType, Unit

SessionStatus = Literal["needs_code", "needs_password", "needs_check", "active", "ended"]
SessionEnd = Literal["signed_out", "idle"]
DocumentType = Literal[
    "clinical_note", "letter_of_medical_necessity", "lab_report", "imaging_report", "therapy_notes", "order", "other"
]

Urgency = Literal["standard", "urgent"]
QUESTION = NameOf("clinical question")


class UserSession(Frozen):
    """A session of a user. Its cookie is a credential, and not part of the state."""

    number: int
    user: str
    status: SessionStatus = "active"
    end: SessionEnd | None = None
    """Why it ended, if it did not because of wrong codes."""
    last_seen: datetime
    code: str = ""
    """The one-time code that was sent last."""
    wrong_codes: int = 0


class ServiceLine(Frozen):
    """One procedure of a request."""

    code: Annotated[str, Field(min_length=1, max_length=10, description="procedure code, such as 72148")]
    modifiers: Annotated[tuple[str, ...], Field(max_length=4, description="modifiers, such as LT")] = ()
    units: Annotated[Number | Whole, Field(gt=0, le=9999, description="how many")] = 1
    unit: Annotated[Unit, Field(description="of what")] = "units"
    frequency: Annotated[Frequency, Field(description="how often these units are given")] = "total"
    start: Annotated[date | None, Field(description="first day of service")] = None
    end: Annotated[date | None, Field(description="last day of service")] = None


class DraftContent(Frozen):
    """What is filled in of a request that is being written. Fields that were not filled in are empty."""

    review: Annotated[ReviewType | None, Field(description="what is requested")] = None
    urgency: Annotated[Urgency | None, Field(description="how urgent it is")] = None
    requesting_npi: Annotated[str, Field(description="NPI of the provider that requests it")] = ""
    servicing_npi: Annotated[str, Field(description="NPI of the provider that performs it")] = ""
    place: Annotated[str, Field(description="the place of service code, such as 22")] = ""
    diagnoses: Annotated[tuple[str, ...], Field(description="ICD-10 codes with the dot, the principal first")] = ()
    services: Annotated[tuple[ServiceLine, ...], Field(description="the procedures")] = ()
    answers: Annotated[
        dict[Annotated[str, QUESTION], str],
        Field(description="answers to clinical questions, by the id of the question, as they were typed"),
    ] = {}
    contact_name: Annotated[str, Field(description="whom the payer may ask")] = ""
    contact_phone: Annotated[str, Field(description="the phone number of that person")] = ""
    note: Annotated[str, Field(description="a note to the payer")] = ""


class RequestDraft(DraftContent):
    """A request that is being written."""

    id: str
    owner: str
    """The user who began it."""
    revision: int = 1
    """Counts how often it was saved."""
    created: datetime
    updated: datetime
    updated_by: str
    payer_id: str = ""
    member: str = ""
    """The portal's number of the member, of a member that was looked up."""
    documents: tuple[str, ...] = ()
    """Numbers of uploaded documents."""


class UploadedDocument(Frozen):
    """A file that a user uploaded. Its bytes are in the event."""

    id: str
    """Its control number, by which the payer knows it."""
    name: str
    media: str
    format: Literal["pdf", "tiff", "png", "jpeg", "text"]
    size: int
    sha256: str
    type: DocumentType = "other"
    pages: int = 1
    uploaded: datetime
    user: str


class Letter(Frozen):
    """A message of a payer in the inbox, with a letter as PDF."""

    id: str
    payer_id: str
    received: datetime
    subject: str
    paragraphs: tuple[str, ...]
    reference: str = ""
    """The request or claim that it is about."""
    member_name: str = ""
    is_read: bool = False


class Announcement(Frozen):
    """A notice for all users."""

    id: str
    published: datetime
    text: str
