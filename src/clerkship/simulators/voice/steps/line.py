"""`voice.line`: change what calls to a line meet."""

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.model.conversation_key import PhoneNumber
from clerkship.model.duration import Duration
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.voice.events import LineChanged
from clerkship.simulators.voice.names import LINE
from clerkship.simulators.voice.records import DialOutcome
from clerkship.simulators.voice.state import VoiceState


class ChangeLine(Step):
    """Changes what later calls to a line meet: it becomes busy, or rings for longer. Calls under way go on."""

    name: ClassVar[str] = "voice.line"
    simulator: ClassVar[str | None] = "voice"
    number: Annotated[PhoneNumber, LINE, Field(description="number of the line")]
    outcomes: Annotated[
        tuple[DialOutcome, ...] | None,
        Field(min_length=1, max_length=50, description="what each later call meets, in order; the last one repeats"),
    ] = None
    ring: Annotated[Duration | None, Field(description="how long it rings before it is answered")] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    @model_validator(mode="after")
    def _check_change(self) -> Self:
        if self.outcomes is None and self.ring is None:
            raise ValueError("expected `outcomes` or `ring`")
        return self

    def run(self, host: StepHost) -> None:
        """Change the line. Raises InputError if there is none with the number."""
        state, action = host.state(VoiceState, self.sandbox)
        check_line(state, self.name, self.number)
        action.emit(
            LineChanged(
                number=self.number,
                outcomes=self.outcomes,
                ring_seconds=None if self.ring is None else self.ring.total_seconds(),
                calls_before=state.calls.rung.get(self.number, 0),
            )
        )


def check_line(state: VoiceState, step: str, number: str) -> None:
    """Raise InputError for a line that the sandbox does not have."""
    if state.lines.find(number) is None:
        known = list(state.lines.by_number)
        hint = did_you_mean(number, known) or f"lines: {', '.join(known[:20]) or 'none'}"
        raise InputError.of(f"{step}: there is no line {number}", hint=hint)
