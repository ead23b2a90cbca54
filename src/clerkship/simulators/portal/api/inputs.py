"""What the operations of the REST API take. Fields are checked as those of forms are, and refused in the same words."""

from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from clerkship.model.frozen import Flag, Frozen, Number, Whole
from clerkship.payer.inquiry import Frequency, ReviewType, Unit
from clerkship.simulators.portal.records import DocumentType
from clerkship.simulators.portal.request_form import ATTESTATION

AnswerInput = str | Flag | Number | Whole
CodeListName = Literal["procedure", "diagnosis", "place", "modifier", "document_type", "service_type"]


def choice_of(literal: Any, description: str) -> Any:
    """Return the field of a text with fixed values; another value is refused by the check of the form."""
    return Field(description=description, json_schema_extra={"enum": ["", *get_args(literal)]})


class ReferenceInput(Frozen):
    """A request."""

    reference: Annotated[str, Field(description="reference or authorization number of the request")]


class IdInput(Frozen):
    """A record."""

    id: Annotated[str, Field(description="its id, as a list or an earlier answer has it")]


class RequestFilter(Frozen):
    """Filters, sorting and page of the list of requests."""

    number: Annotated[str, Field(description="reference or authorization number")] = ""
    member_id: Annotated[str, Field(description="member ID on the card")] = ""
    status: Annotated[str, Field(description="pending, need_more_info, approved, modified, denied or cancelled")] = ""
    requested_from: Annotated[str, Field(description="first day of request, such as 2026-03-16")] = ""
    requested_to: Annotated[str, Field(description="last day of request, such as 2026-03-16")] = ""
    sort: Annotated[str, Field(description="newest, oldest, status or valid_to")] = ""
    page: Annotated[str, Field(description="number of the page, from 1; a page has 20 requests")] = ""


class ServiceInput(Frozen):
    """A procedure that is requested."""

    code: Annotated[str, Field(description="procedure code, such as 72148")] = ""
    modifiers: Annotated[tuple[str, ...], Field(description="modifiers, such as LT")] = ()
    units: Annotated[Number | Whole, Field(description="how many")] = 1
    unit: Annotated[str, choice_of(Unit, "of what")] = "units"
    frequency: Annotated[str, choice_of(Frequency, "how often these units are given")] = "total"
    start: Annotated[str, Field(description="first day of service, such as 2026-03-16")] = ""
    end: Annotated[str, Field(description="last day of service, such as 2026-03-16")] = ""


class DraftFields(Frozen):
    """The fields of a request. Those that are not given stay as they are."""

    member: Annotated[str, Field(description="the portal's number of the member (`ref`), from a lookup")] = ""
    review: Annotated[str, choice_of(ReviewType, "what is requested")] = ""
    urgency: Annotated[str, choice_of(Literal["standard", "urgent"], "how urgent it is")] = ""
    place: Annotated[str, Field(description="place of service code, such as 22")] = ""
    requesting_npi: Annotated[str, Field(description="NPI of the requesting provider, of the own practice")] = ""
    servicing_npi: Annotated[str, Field(description="NPI of the provider that performs the services")] = ""
    diagnoses: Annotated[tuple[str, ...], Field(description="ICD-10 codes, the principal first")] = ()
    services: Annotated[tuple[ServiceInput, ...], Field(description="the procedures")] = ()
    answers: Annotated[
        dict[str, AnswerInput], Field(description="answers to clinical questions, by the id of the question")
    ] = {}
    contact_name: Annotated[str, Field(description="whom the payer can ask")] = ""
    contact_phone: Annotated[str, Field(description="phone number for questions")] = ""
    note: Annotated[str, Field(description="a note for the payer")] = ""


class DraftChange(DraftFields, IdInput):
    """Changes of a draft."""

    revision: Annotated[
        Whole | None, Field(description="the revision that the change is based on; another one is refused")
    ] = None


class Attestation(Frozen):
    """The confirmation that a submission needs."""

    attest: Annotated[Flag, Field(description=f"true to confirm: {ATTESTATION}")] = False


class DraftSubmission(Attestation, IdInput):
    """The submission of a draft."""


class NewRequest(Attestation, DraftFields):
    """A request with all of its data."""

    documents: Annotated[tuple[str, ...], Field(description="ids of uploaded documents")] = ()


class ReplyInput(ReferenceInput):
    """A reply to questions of the payer."""

    answers: Annotated[dict[str, AnswerInput], Field(description="answers, by the id of the question")] = {}
    documents: Annotated[tuple[str, ...], Field(description="ids of uploaded documents")] = ()
    note: Annotated[str, Field(description="a note for the payer")] = ""


class LineChange(Frozen):
    """A change of one procedure of a request. What is empty stays."""

    line: Annotated[Whole, Field(ge=1, description="number of the procedure in `lines`, from 1")]
    units: Annotated[Number | Whole | None, Field(description="how many")] = None
    start: Annotated[str, Field(description="first day of service, such as 2026-03-16")] = ""
    end: Annotated[str, Field(description="last day of service, such as 2026-03-16")] = ""


class ChangeInput(ReferenceInput):
    """A change of what a request asks for. What is empty stays."""

    place: Annotated[str, Field(description="place of service code")] = ""
    urgency: Annotated[str, choice_of(Literal["standard", "urgent"], "how urgent it is")] = ""
    services: Annotated[tuple[LineChange, ...], Field(description="changes of procedures")] = ()


class AppealInput(ReferenceInput):
    """An appeal against a denial."""

    reason: Annotated[str, Field(description="why the denial should be reversed")] = ""
    documents: Annotated[tuple[str, ...], Field(description="ids of uploaded documents")] = ()


class UploadInput(Frozen):
    """A file to upload."""

    name: Annotated[str, Field(description="name of the file, such as note.pdf")]
    type: Annotated[DocumentType, Field(description="what it is")] = "other"
    data: Annotated[bytes, Field(description="its content")] = b""


class DraftUpload(UploadInput, IdInput):
    """A file for a draft."""


class PersonInput(Frozen):
    """Who is looked up: the birth date, and the member ID or both names. A dependent has the ID of the card, and an own
    birth date and first name.
    """

    payer: Annotated[str, Field(description="id of the payer; not needed if the portal has one payer")] = ""
    member_id: Annotated[str, Field(description="member ID on the card")] = ""
    birth_date: Annotated[str, Field(description="birth date, such as 2026-03-16")] = ""
    family: Annotated[str, Field(description="last name")] = ""
    given: Annotated[str, Field(description="first name")] = ""


class ClaimSearch(PersonInput):
    """Whose claims are searched, and which."""

    claim_number: Annotated[str, Field(description="the payer's number of the claim")] = ""
    first_day: Annotated[str, Field(description="first day of service, such as 2026-03-16")] = ""
    last_day: Annotated[str, Field(description="last day of service, such as 2026-03-16")] = ""


class EligibilityInput(IdInput):
    """A member, a day and a service type."""

    service_date: Annotated[str, Field(description="day of service; today if not given, such as 2026-03-16")] = ""
    service_type: Annotated[str, Field(description="service type, such as mri_ct; all if not given")] = ""


class NeedInput(Frozen):
    """A service and a plan, or a member."""

    code: Annotated[str, Field(description="procedure code, or words of its description")] = ""
    plan: Annotated[str, Field(description="id of the plan; not needed with a member")] = ""
    member: Annotated[str, Field(description="the portal's number of a member")] = ""


class ProviderSearch(Frozen):
    """What the directory is searched for."""

    name: Annotated[str, Field(description="words of the name")] = ""
    npi: Annotated[str, Field(description="NPI, ten digits")] = ""
    plan: Annotated[str, Field(description="id of the plan whose network it must be in")] = ""


class NpiInput(Frozen):
    """A provider."""

    npi: Annotated[str, Field(description="its NPI")]


class CodeSearch(Frozen):
    """A list of codes, and what is searched in it."""

    list: Annotated[CodeListName, Field(description="which list")]
    text: Annotated[str, Field(description="beginning of a code, or words of its description")] = ""


class QuestionsInput(Frozen):
    """Procedures, and answers so far."""

    procedure_codes: Annotated[tuple[str, ...], Field(description="procedure codes of the request")] = ()
    answers: Annotated[dict[str, AnswerInput], Field(description="answers so far, by id of the question")] = {}
