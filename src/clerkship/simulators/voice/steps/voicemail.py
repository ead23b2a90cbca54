"""`voice.voicemail`: leave a voicemail."""

from typing import Annotated, ClassVar, Self

from pydantic import AwareDatetime, Field, model_validator

from clerkship.formats.phone_tree.nodes import MAILBOX
from clerkship.formats.phone_tree.prompts import measure_speech
from clerkship.model.conversation_key import PhoneNumber
from clerkship.model.errors import InputError
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.voice.checks import check_number, check_text
from clerkship.simulators.voice.events import VoicemailLeft
from clerkship.simulators.voice.names import PHONE_NUMBER
from clerkship.simulators.voice.state import VoiceState


class LeaveVoicemailStep(Step):
    """Leave a voicemail in a mailbox, without a call."""

    name: ClassVar[str] = "voice.voicemail"
    simulator: ClassVar[str | None] = "voice"
    mailbox: Annotated[str | None, MAILBOX, Field(description="name of the mailbox")] = None
    to: Annotated[
        PhoneNumber | None,
        PHONE_NUMBER,
        Field(description="in place of `mailbox`: the number of a line or of the organization"),
    ] = None
    sender: Annotated[str, Field(alias="from", description="the caller's phone number")]
    text: Annotated[str, Field(min_length=1, description="what the caller says")]
    received: Annotated[
        AwareDatetime | None, Field(description="when it was left, if that was earlier; now by default")
    ] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    @model_validator(mode="after")
    def _check_mailbox(self) -> Self:
        if (self.mailbox is None) == (self.to is None):
            raise ValueError("expected either `mailbox` or `to`")
        return self

    def run(self, host: StepHost) -> None:
        state, action = host.state(VoiceState, self.sandbox)
        if self.received is not None and self.received > host.now:
            raise InputError.of("voice.voicemail: `received` is in the future; use `at` on the step instead")
        try:
            message = VoicemailLeft(
                id=state.mailboxes.new_id(),
                mailbox=self._find_mailbox(state),
                from_number=check_number(self.sender),
                text=check_text(self.text, state.config),
                seconds=measure_speech(self.text),
                received_at=self.received,
            )
            state.mailboxes.leave(action, message)
        except Refusal as refusal:
            raise InputError.of(f"voice.voicemail: {refusal.reason}") from None

    def _find_mailbox(self, state: VoiceState) -> str:
        if self.to is None:
            return self.mailbox or ""
        mailbox = state.lines.find_mailbox(self.to)
        if mailbox is None:
            raise InputError.of(f"voice.voicemail: the number {self.to} has no mailbox")
        return mailbox.name
