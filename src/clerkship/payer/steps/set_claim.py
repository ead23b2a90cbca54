"""`payer.set_claim`: change the status of a claim."""

from datetime import date
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clerkship.payer.answer import Adjustment
from clerkship.payer.name_sorts import ACCOUNT, CLAIM
from clerkship.payer.plan import Dollars
from clerkship.payer.scenario_changes import select_claim
from clerkship.payer.state import PayerState
from clerkship.sandbox.steps.contract import Step, StepHost

_SELECTION = {"number", "account", "sandbox"}


class PayerSetClaim(Step):
    """Changes the status of a claim, named by the payer's `number` or the provider's `account`. Without `paid` and
    `adjustments`, a payment is calculated by the plan of the member, and a denial pays nothing.
    """

    name: ClassVar[str] = "payer.set_claim"
    simulator: ClassVar[str | None] = "payer"
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
    sandbox: Annotated[str | None, Field(description="name of the domain; not needed if there is only one")] = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.number is None and self.account is None:
            raise ValueError("expected `number` or `account`")
        if self.status != "paid" and (self.paid or self.paid_date or self.payment_number):
            raise ValueError(f"a {self.status} claim has no payment")
        return self

    def run(self, host: StepHost) -> None:
        """Change the claim."""
        payer, action = host.state(PayerState, self.sandbox)
        claim = select_claim(payer.current, self.number, self.account)
        fields = {field: getattr(self, field) for field in self.model_fields_set - _SELECTION}
        payer.set_claim(action, claim, {field: value for field, value in fields.items() if value is not None})
