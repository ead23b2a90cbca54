"""`messages.set_consent`: opt a phone number out of text messages, or in."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.messages.config import PhoneNumber
from clerkship.simulators.messages.consent import Consent
from clerkship.simulators.messages.names import OWN_ADDRESS
from clerkship.simulators.messages.state import MessagesState


class SetConsent(Step):
    """Opt a phone number out of text messages, or in again, as if they had done so elsewhere."""

    name: ClassVar[str] = "messages.set_consent"
    simulator: ClassVar[str | None] = "messages"
    number: PhoneNumber
    consent: Annotated[Consent, Field(description="opted_out or opted_in")]
    own_number: Annotated[
        PhoneNumber | None,
        OWN_ADDRESS,
        Field(description="for one number of the organization; for all of them if not given"),
    ] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    def run(self, host: StepHost) -> None:
        state, action = host.state(MessagesState, self.sandbox)
        state.set_consent(action, self.number, self.consent, self.own_number or "")
