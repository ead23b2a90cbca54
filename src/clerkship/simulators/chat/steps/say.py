"""`chat.say`: the person says something of their own accord, now or at a time."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.simulators.chat.state import ChatState
from clerkship.steps.contract import Step, StepHost


class ChatSay(Step):
    """A line the person says whatever the agent does. If the conversation has ended, it begins again."""

    name: ClassVar[str] = "chat.say"
    simulator: ClassVar[str | None] = "chat"
    text: Annotated[str, Field(min_length=1)]
    sandbox: str | None = None

    def run(self, stage: StepHost) -> None:
        """Do it."""
        state, act = stage.state(ChatState, self.sandbox)
        if not state.open:
            state.start(act, state.person or "person")
        state.say(act, self.text)
