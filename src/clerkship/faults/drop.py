"""`drop`: the connection breaks."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clerkship.faults.contract import Fault, FaultEffect
from clerkship.sandbox.request import NO_REPLY, Reply


class DropFault(Fault):
    """The connection breaks and no answer comes: before the sandbox sees the request, or after it has done its work;
    the agent cannot tell which. Over HTTP it is closed without a byte; in Python `clerkship.sandbox.handle.Dropped`, a
    ConnectionError, is raised. In a conversation the person hears nothing of that turn, waits a minute and says their
    last line again; `when: reply` does not strike there, for a turn has no answer to lose."""

    name: ClassVar[str] = "drop"
    when: Annotated[Literal["request", "reply"], Field(description="what gets lost")] = "request"

    @property
    def affects_turns(self) -> bool:
        """What the agent says can get lost; it has nothing coming back."""
        return self.when == "request"

    def on_request(self, rng: object) -> FaultEffect | None:
        """Lose the request."""
        return self.on_turn(rng) if self.when == "request" else None

    def on_reply(self, reply: Reply, rng: object, *, wants_body: bool = True) -> FaultEffect:
        """Lose the answer; the log keeps what it was."""
        return FaultEffect({"when": self.when, "status": reply.status}, reply=NO_REPLY)

    def on_turn(self, rng: object) -> FaultEffect:
        """Lose what the agent says."""
        return FaultEffect({"when": self.when}, reply=NO_REPLY)
