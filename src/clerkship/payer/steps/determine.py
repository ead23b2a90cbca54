"""`payer.determine`: decide authorization requests."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clerkship.payer.determination_rule import Determination
from clerkship.payer.state import PayerState
from clerkship.sandbox.steps.contract import Step, StepHost


class PayerDetermine(Determination, Step):
    """Decides the authorization requests that match: those that are open when the step runs, and those that come
    later. The rule comes before the `determinations` of the config.
    """

    name: ClassVar[str] = "payer.determine"
    simulator: ClassVar[str | None] = "payer"
    applies_to: Annotated[
        Literal["open", "later", "both"],
        Field(description="`open`: requests without a decision when the step runs; `later`: requests after it"),
    ] = "both"
    sandbox: Annotated[str | None, Field(description="name of the domain; not needed if there is only one")] = None

    def run(self, host: StepHost) -> None:
        """Set the rule."""
        payer, action = host.state(PayerState, self.sandbox)
        rule = Determination.model_construct(**{field: getattr(self, field) for field in Determination.model_fields})
        payer.set_determination(action, rule, is_open=self.applies_to != "later", is_lasting=self.applies_to != "open")
