"""`payer.set_eligibility`: change the coverage of a member."""

from datetime import date
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.formats.fhir.names import PATIENT
from clerkship.model.frozen import Whole
from clerkship.payer.inquiry import ServiceType
from clerkship.payer.name_sorts import MEMBER_ID, PAYER, PLAN
from clerkship.payer.plan import Amount, Dollars
from clerkship.payer.scenario_changes import select_member
from clerkship.payer.state import PayerState
from clerkship.sandbox.steps.contract import Step, StepHost

_POLICY = ("start", "end", "plan", "group", "order")
_USED = ("deductible_met", "out_of_pocket_met", "used")


class PayerSetEligibility(Step):
    """Changes the policy of a member that is in force, or else the last one, and what the member has used this year.
    What is not given stays. Name the member by `member_id` or `patient`, and the `payer` if there are several.
    """

    name: ClassVar[str] = "payer.set_eligibility"
    simulator: ClassVar[str | None] = "payer"
    member_id: Annotated[str | None, MEMBER_ID, Field(description="id of the member")] = None
    patient: Annotated[str | None, PATIENT, Field(description="the patient of the chart, such as Patient/pat-0013")] = (
        None
    )
    payer: Annotated[str | None, PAYER, Field(description="number of the payer")] = None
    start: Annotated[date | None, Field(description="first covered day")] = None
    end: Annotated[date | None, Field(description="last covered day; null if it has no end")] = None
    plan: Annotated[str | None, PLAN, Field(min_length=1, description="id of the plan")] = None
    group: Annotated[str | None, Field(description="number of the group")] = None
    order: Annotated[Whole | None, Field(ge=1, le=9, description="1 if it pays first, 2 if it pays second")] = None
    deductible_met: Annotated[Dollars | None, Field(description="dollars paid toward the deductible")] = None
    out_of_pocket_met: Annotated[Dollars | None, Field(description="dollars paid toward the maximum")] = None
    used: Annotated[dict[ServiceType, Amount], Field(description="visits used, by service type")] = {}
    sandbox: Annotated[str | None, Field(description="name of the domain; not needed if there is only one")] = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.member_id is None and self.patient is None:
            raise ValueError("expected `member_id` or `patient`")
        if not self.model_fields_set & {*_POLICY, *_USED}:
            raise ValueError(f"nothing to change: expected one of {', '.join((*_POLICY, *_USED))}")
        return self

    def run(self, host: StepHost) -> None:
        """Change the member."""
        payer, action = host.state(PayerState, self.sandbox)
        member = select_member(payer.current, self.payer, self.member_id, self.patient)
        changes = {field: getattr(self, field) for field in _POLICY if field in self.model_fields_set}
        changes = {field: value for field, value in changes.items() if value is not None or field == "end"}
        used = {field: getattr(self, field) for field in _USED if field in self.model_fields_set}
        payer.set_eligibility(action, member, changes, used)
