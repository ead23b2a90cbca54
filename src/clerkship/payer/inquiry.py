"""What providers ask a payer. X12, FHIR, the payer portal and the phone all translate their requests to these."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from clerkship.model.frozen import Frozen, Number, Whole

ServiceType = Literal[
    "plan",
    "medical",
    "chiropractic",
    "dental",
    "hospital",
    "mri_ct",
    "emergency",
    "pharmacy",
    "office_visit",
    "vision",
    "mental_health",
    "physical_therapy",
    "urgent_care",
]
"""A kind of service that a plan pays for. `plan` is the plan as a whole."""
SERVICE_TYPE_NAMES: Final[Mapping[ServiceType, str]] = {
    "plan": "Health plan as a whole",
    "medical": "Medical care",
    "chiropractic": "Chiropractic",
    "dental": "Dental care",
    "hospital": "Hospital",
    "mri_ct": "MRI or CT scan",
    "emergency": "Emergency services",
    "pharmacy": "Pharmacy",
    "office_visit": "Office visit",
    "vision": "Vision",
    "mental_health": "Mental health",
    "physical_therapy": "Physical therapy",
    "urgent_care": "Urgent care",
}
"""How people call each service type."""
ReviewType = Literal["admission", "services", "referral"]
"""What an authorization is for."""
Unit = Literal["units", "visits", "days", "hours", "months"]
Frequency = Literal["once", "per_week", "per_month", "total"]
"""How often the quantity of a service is given."""


class PersonQuery(Frozen):
    """A person as a request describes them. A payer compares what is given with what it has on file."""

    member_id: str | None = None
    family: str | None = None
    given: str | None = None
    birth_date: date | None = None
    gender: Literal["male", "female", "unknown"] | None = None


class PartyQuery(Frozen):
    """Who asks whom about which person. Every inquiry has these fields."""

    payer_id: str
    """The number of the payer, such as `CM002`."""
    provider_id: str
    """The NPI of the provider that asks."""
    subscriber: PersonQuery
    dependent: PersonQuery | None = None
    """The patient, if it is a dependent without a member id of its own."""


class EligibilityInquiry(PartyQuery):
    """Is this person covered on a day, and for what?"""

    service_date: date | None = None
    """The day of service; today if not given."""
    service_types: tuple[ServiceType, ...] = ("plan",)
    procedure_codes: tuple[str, ...] = ()


class RequestedService(Frozen):
    """One service of an authorization request."""

    omitted_when_empty: ClassVar[frozenset[str]] = frozenset({"frequency"})
    procedure_code: Annotated[str, Field(description="code of the service, such as 72148")]
    modifiers: Annotated[tuple[str, ...], Field(description="modifiers of the code")] = ()
    quantity: Annotated[Number | Whole, Field(gt=0, description="how many")] = 1
    unit: Annotated[Unit, Field(description="of what")] = "units"
    start: Annotated[date | None, Field(description="first day of service")] = None
    end: Annotated[date | None, Field(description="last day of service")] = None
    performer_id: Annotated[str | None, Field(description="NPI of the provider that is to perform it")] = None
    place: Annotated[
        str | None,
        Field(description="place of service code, such as 11 for an office, if it differs from the request's"),
    ] = None
    trace: Annotated[str, Field(description="the requester's own number for it, which the answer repeats")] = ""
    frequency: Annotated[Frequency | None, Field(description="how often the quantity is given")] = None


class AuthorizationQuery(PartyQuery):
    """A request to authorize services."""

    review: ReviewType = "services"
    service_type: ServiceType | None = None
    services: tuple[RequestedService, ...] = ()
    diagnoses: tuple[str, ...] = ()
    """ICD-10 codes, the principal first, without the dot."""
    place: str | None = None
    """The place of service code, such as `11` for an office, or `22` for an outpatient hospital."""
    is_urgent: bool = False
    start: date | None = None
    end: date | None = None
    answers: dict[str, str | bool | float] = {}
    """Answers to the payer's clinical questions, by the id of the question."""
    attachments: tuple[str, ...] = ()
    """Control numbers of documents that the requester sends."""
    note: str = ""
    trace: str = ""
    """The requester's own number for the request, which the answer repeats."""


class ClaimQuery(PartyQuery):
    """What is the status of a claim? The more is given, the fewer claims match."""

    claim_number: str | None = None
    """The payer's number."""
    account: str | None = None
    """The provider's own number for the patient's account or claim."""
    charge: float | None = None
    start: date | None = None
    end: date | None = None
