"""`messages.sent_before`: a message that the organization sent before the agent begins."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.messages.names import OWN_ADDRESS
from clerkship.simulators.messages.outgoing import OutgoingMessage
from clerkship.simulators.messages.records import Channel
from clerkship.simulators.messages.state import MessagesState


class SentBefore(Step):
    """Add a message that the organization has sent earlier, such as a reminder that a patient then answers."""

    name: ClassVar[str] = "messages.sent_before"
    simulator: ClassVar[str | None] = "messages"
    channel: Annotated[Channel, Field(description="sms, email or portal")]
    to: Annotated[str, Field(description="a phone number, an e-mail address or a portal account")]
    sender: Annotated[
        str, OWN_ADDRESS, Field(alias="from", description="own number or address; the first by default")
    ] = ""
    text: str
    subject: str | None = None
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    def run(self, host: StepHost) -> None:
        """Add the message, as delivered."""
        state, action = host.state(MessagesState, self.sandbox)
        message = OutgoingMessage(
            channel=self.channel, to=(self.to,), sender=self.sender, text=self.text, subject=self.subject
        )
        state.send(action, message, in_past=True)
