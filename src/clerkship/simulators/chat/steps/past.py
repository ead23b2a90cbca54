"""`chat.past`: what was said before the trial."""

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from clerkship.model.frozen import Frozen
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.chat.state import ChatState

Text = Annotated[str | None, Field(min_length=1, max_length=100_000)]


class PastLine(Frozen):
    """What one side said."""

    person: Text = None
    agent: Text = None

    @model_validator(mode="after")
    def _check_side(self) -> "PastLine":
        if (self.person is None) == (self.agent is None):
            raise ValueError("expected one of `person` and `agent`, with what they said")
        return self


class ChatPast(Step):
    """Adds messages from before the trial. The agent gets them as the history of the conversation; they do not count as
    its own. If the last one is the person's, it is the first message that the agent answers.
    """

    name: ClassVar[str] = "chat.past"
    simulator: ClassVar[str | None] = "chat"
    messages: Annotated[
        tuple[PastLine, ...], Field(min_length=1, description="`{person: …}` or `{agent: …}`, in order")
    ]
    sandbox: str | None = None

    @model_validator(mode="after")
    def _check_sides(self) -> "ChatPast":
        if all(line.agent is None for line in self.messages):
            raise ValueError("nothing was said by an agent; give the person an `opening` instead")
        return self

    def run(self, host: StepHost) -> None:
        state, action = host.state(ChatState, self.sandbox)
        if not state.open:
            state.start(action, state.person or "person")
        state, action = host.state(ChatState, self.sandbox, "scenario")
        *before, last = self.messages
        for line in before if last.agent is None else self.messages:
            state.add_past(action, line.agent or line.person or "", by_agent=line.agent is not None)
        if last.person is not None:
            state, action = host.state(ChatState, self.sandbox)
            state.say(action, last.person)
