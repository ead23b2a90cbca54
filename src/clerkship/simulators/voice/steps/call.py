"""`voice.call`: let a simulated caller ring at an own number."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.model.closed import PERSON
from clerkship.model.conversation_key import PhoneNumber
from clerkship.model.errors import InputError
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.voice.checks import check_text
from clerkship.simulators.voice.dialling import Caller, find_ringing_call, ring_agent
from clerkship.simulators.voice.names import OWN_NUMBER, PHONE_NUMBER
from clerkship.simulators.voice.state import VoiceState


class CallAgent(Step):
    """Let a call ring at an own number: from a person of the scenario, or from a caller who says some lines, one after
    each thing that the agent says, and then hangs up.
    """

    name: ClassVar[str] = "voice.call"
    simulator: ClassVar[str | None] = "voice"
    person: Annotated[
        str | None, PERSON, Field(description="name of a person of the scenario with `channel: phone`, who calls")
    ] = None
    sender: Annotated[
        PhoneNumber | None, Field(alias="from", description="the caller's number; that of the person by default")
    ] = None
    to: Annotated[PhoneNumber | None, OWN_NUMBER, Field(description="own number that rings; the first by default")] = (
        None
    )
    says: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        Field(max_length=100, description="what a caller says who is no person of the scenario"),
    ] = ()
    voicemail: Annotated[
        str | None,
        Field(description="what they leave in the mailbox if the call is not answered; by default they hang up"),
    ] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    @model_validator(mode="after")
    def _check_caller(self) -> Self:
        if (self.person is None) == (not self.says):
            raise ValueError("expected either `person` or `says`")
        if self.person is None and self.sender is None:
            raise ValueError("`from` is missing: a caller with `says` needs a number")
        if self.person is not None and self.sender is not None:
            raise ValueError("`from` has no effect with `person`, who calls from their own number")
        return self

    def list_names(self) -> Iterable[tuple[str, str]]:
        """Return the number of a caller who is no person of the scenario."""
        return [(PHONE_NUMBER.sort, self.sender)] if self.sender is not None else []

    def run(self, host: StepHost) -> None:
        """Let the call ring."""
        state, action = host.state(VoiceState, self.sandbox)
        number, caller = self._build_caller(state)
        try:
            for text in (*caller.lines, *filter(None, [caller.voicemail])):
                check_text(text, state.config)
            ring_agent(state, action, number, self.to, caller)
        except Refusal as refusal:
            raise InputError.of(f"voice.call: {refusal.reason}") from None

    def _build_caller(self, state: VoiceState) -> tuple[str, Caller]:
        if self.person is None:
            return self.sender or "", Caller(self.says, self.voicemail or "")
        person = state.people.find_by_name(self.person)
        if person is None or not person.is_open:
            raise InputError.of(f"voice.call: no person named {self.person!r} can be reached by phone")
        if state.people.find_call(person.number) is not None or find_ringing_call(state, person.number) is not None:
            raise InputError.of(f"voice.call: {self.person} is in a call already")
        lines = (person.greeting,) if person.greeting and not person.turns else ()
        return person.number, Caller(lines, self.voicemail or "", is_person=True)
