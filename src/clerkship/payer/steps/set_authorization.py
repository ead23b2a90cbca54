"""`payer.set_authorization`: an authorization that a payer has already."""

from datetime import date
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clerkship.formats.fhir.names import PATIENT
from clerkship.payer.inquiry import RequestedService, ReviewType
from clerkship.payer.name_sorts import MEMBER_ID, PAYER
from clerkship.payer.scenario_changes import RecordedAuthorization, select_member
from clerkship.payer.state import PayerState
from clerkship.sandbox.steps.contract import Step, StepHost


class PayerSetAuthorization(Step):
    """Records a request for an authorization from an earlier day, with its decision, or replaces the record with the
    same `reference`. Name the member by `member_id` or `patient`, and the `payer` if there are several.
    """

    name: ClassVar[str] = "payer.set_authorization"
    simulator: ClassVar[str | None] = "payer"
    reference: Annotated[str, Field(min_length=1, max_length=50, description="the payer's reference number")]
    member_id: Annotated[str | None, MEMBER_ID, Field(description="id of the member")] = None
    patient: Annotated[str | None, PATIENT, Field(description="the patient of the chart, such as Patient/pat-0013")] = (
        None
    )
    payer: Annotated[str | None, PAYER, Field(description="number of the payer")] = None
    provider_id: Annotated[str, Field(min_length=1, description="NPI of the provider that requested it")]
    status: Annotated[Literal["approved", "denied", "pending", "cancelled"], Field(description="its status")]
    number: Annotated[
        str | None, Field(min_length=1, max_length=50, description="the authorization number, if it was approved")
    ] = None
    services: Annotated[tuple[RequestedService, ...], Field(min_length=1, description="the requested services")]
    diagnoses: Annotated[tuple[str, ...], Field(description="ICD-10 codes without dots")] = ()
    review: Annotated[ReviewType, Field(description="what was requested")] = "services"
    reason: Annotated[str, Field(description="why it was denied, such as not_medically_necessary")] = ""
    text: Annotated[str, Field(description="an explanation for people")] = ""
    requested: Annotated[date | None, Field(description="day of the request; by default the current day")] = None
    decided: Annotated[date | None, Field(description="day of the decision; by default that of the request")] = None
    valid_from: Annotated[date | None, Field(description="first day of an approval; by default that of `decided`")] = (
        None
    )
    valid_to: Annotated[date | None, Field(description="last day of an approval")] = None
    sandbox: Annotated[str | None, Field(description="name of the domain; not needed if there is only one")] = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.member_id is None and self.patient is None:
            raise ValueError("expected `member_id` or `patient`")
        if self.status == "approved" and (self.number is None or self.valid_to is None):
            raise ValueError("an approved request has a `number` and a `valid_to`")
        if self.status in ("denied", "pending") and (self.number or self.valid_from or self.valid_to):
            raise ValueError(f"a {self.status} request has no `number`, `valid_from` and `valid_to`")
        for start, end in (("requested", "decided"), ("valid_from", "valid_to")):
            first, last = getattr(self, start), getattr(self, end)
            if first is not None and last is not None and last < first:
                raise ValueError(f"`{end}` ({last}) is before `{start}` ({first})")
        return self

    def run(self, host: StepHost) -> None:
        """Record the authorization."""
        payer, action = host.state(PayerState, self.sandbox)
        member = select_member(payer.current, self.payer, self.member_id, self.patient)
        fields = {field: getattr(self, field) for field in RecordedAuthorization.model_fields}
        payer.set_authorization(action, member, RecordedAuthorization.model_construct(**fields))
