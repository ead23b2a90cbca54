"""The steps of the payers: decide requests, record authorizations, change coverage and claims."""

from datetime import date
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clerkship.formats.fhir.names import PATIENT
from clerkship.model.frozen import Whole
from clerkship.payer.answer import Adjustment, Member
from clerkship.payer.determination_rule import Determination
from clerkship.payer.inquiry import ServiceType
from clerkship.payer.name_sorts import ACCOUNT, CLAIM, MEMBER_ID, PAYER, PLAN
from clerkship.payer.plan import Amount, Dollars
from clerkship.payer.scenario_changes import RecordedAuthorization, select_claim, select_member
from clerkship.payer.state import PayerState
from clerkship.sandbox.steps.contract import Step, StepHost


class PayerStep(Step):
    """A step of the payers."""

    simulator: ClassVar[str | None] = "payer"
    sandbox: Annotated[str | None, Field(description="name of the domain; not needed if there is only one")] = None


class MemberStep(PayerStep):
    """A step about one member."""

    member_id: Annotated[str | None, MEMBER_ID, Field(description="id of the member")] = None
    patient: Annotated[str | None, PATIENT, Field(description="the patient of the chart, such as Patient/pat-0013")] = (
        None
    )
    payer: Annotated[str | None, PAYER, Field(description="number of the payer")] = None

    @model_validator(mode="after")
    def _check_member(self) -> Self:
        if self.member_id is None and self.patient is None:
            raise ValueError("expected `member_id` or `patient`")
        return self

    def find_member(self, payer: PayerState) -> Member:
        """Return the member; raise InputError if there is not exactly one."""
        return select_member(payer.current, self.payer, self.member_id, self.patient)


class PayerDetermine(Determination, PayerStep):
    """Decides the authorization requests that match: those that are open when the step runs, and those that come
    later. The rule comes before the `determinations` of the config.
    """

    name: ClassVar[str] = "payer.determine"
    applies_to: Annotated[
        Literal["open", "later", "both"],
        Field(description="`open`: requests without a decision when the step runs; `later`: requests after it"),
    ] = "both"

    def run(self, host: StepHost) -> None:
        payer, action = host.state(PayerState, self.sandbox)
        rule = Determination.model_construct(**{field: getattr(self, field) for field in Determination.model_fields})
        payer.set_determination(action, rule, is_open=self.applies_to != "later", is_lasting=self.applies_to != "open")


class PayerSetAuthorization(RecordedAuthorization, MemberStep):
    """Records a request for an authorization from an earlier day, with its decision, or replaces the record with the
    same `reference`. Name the member by `member_id` or `patient`, and the `payer` if there are several.
    """

    name: ClassVar[str] = "payer.set_authorization"

    def run(self, host: StepHost) -> None:
        payer, action = host.state(PayerState, self.sandbox)
        payer.set_authorization(action, self.find_member(payer), self)


_SELECTION = {"number", "account", "sandbox"}


class PayerSetClaim(PayerStep):
    """Changes the status of a claim, named by the payer's `number` or the provider's `account`. Without `paid` and
    `adjustments`, a payment is calculated by the plan of the member, and a denial pays nothing.
    """

    name: ClassVar[str] = "payer.set_claim"
    number: Annotated[str | None, CLAIM, Field(description="the payer's number")] = None
    account: Annotated[str | None, ACCOUNT, Field(description="the provider's own number")] = None
    status: Annotated[Literal["received", "pended", "denied", "paid"], Field(description="the new status")]
    reason: Annotated[str | None, Field(description="why it is pended or denied, such as missing_authorization")] = None
    text: Annotated[str | None, Field(description="an explanation for people")] = None
    paid: Annotated[Dollars | None, Field(description="dollars paid")] = None
    adjustments: Annotated[
        tuple[Adjustment, ...] | None,
        Field(description="why less was paid than charged; the charge is `paid` and these"),
    ] = None
    status_date: Annotated[date | None, Field(description="day of the status; by default the current day")] = None
    paid_date: Annotated[date | None, Field(description="day of the payment; by default the current day")] = None
    payment_number: Annotated[str | None, Field(description="number of the payment")] = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.number is None and self.account is None:
            raise ValueError("expected `number` or `account`")
        if self.status != "paid" and (self.paid or self.paid_date or self.payment_number):
            raise ValueError(f"a {self.status} claim has no payment")
        return self

    def run(self, host: StepHost) -> None:
        payer, action = host.state(PayerState, self.sandbox)
        claim = select_claim(payer.current, self.number, self.account)
        fields = {field: getattr(self, field) for field in self.model_fields_set - _SELECTION}
        payer.set_claim(action, claim, {field: value for field, value in fields.items() if value is not None})


_POLICY = ("start", "end", "plan", "group", "order")
_USED = ("deductible_met", "out_of_pocket_met", "used")


class PayerSetEligibility(MemberStep):
    """Changes the policy of a member that is in force, or else the last one, and what the member has used this year.
    What is not given stays. Name the member by `member_id` or `patient`, and the `payer` if there are several.
    """

    name: ClassVar[str] = "payer.set_eligibility"
    start: Annotated[date | None, Field(description="first covered day")] = None
    end: Annotated[date | None, Field(description="last covered day; null if it has no end")] = None
    plan: Annotated[str | None, PLAN, Field(min_length=1, description="id of the plan")] = None
    group: Annotated[str | None, Field(description="number of the group")] = None
    order: Annotated[Whole | None, Field(ge=1, le=9, description="1 if it pays first, 2 if it pays second")] = None
    deductible_met: Annotated[Dollars | None, Field(description="dollars paid toward the deductible")] = None
    out_of_pocket_met: Annotated[Dollars | None, Field(description="dollars paid toward the maximum")] = None
    used: Annotated[dict[ServiceType, Amount], Field(description="visits used, by service type")] = {}

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if not self.model_fields_set & {*_POLICY, *_USED}:
            raise ValueError(f"nothing to change: expected one of {', '.join((*_POLICY, *_USED))}")
        return self

    def run(self, host: StepHost) -> None:
        payer, action = host.state(PayerState, self.sandbox)
        member = self.find_member(payer)
        changes = {field: getattr(self, field) for field in _POLICY if field in self.model_fields_set}
        changes = {field: value for field, value in changes.items() if value is not None or field == "end"}
        used = {field: getattr(self, field) for field in _USED if field in self.model_fields_set}
        payer.set_eligibility(action, member, changes, used)
