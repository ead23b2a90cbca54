"""`chat.say`: the person says something, at once or at a set time."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.chat.state import ChatState


class ChatSay(Step):
    """Adds a message of the person, whatever the agent does. A conversation that has ended starts again."""

    name: ClassVar[str] = "chat.say"
    simulator: ClassVar[str | None] = "chat"
    text: Annotated[str, Field(min_length=1)]
    sandbox: str | None = None

    def run(self, host: StepHost) -> None:
        state, action = host.state(ChatState, self.sandbox)
        if not state.open:
            state.start(action, state.person or "person")
        state.say(action, self.text)
