"""`drop`: the connection breaks."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clerkship.sandbox.faults.contract import Fault, FaultEffect
from clerkship.sandbox.request import NO_REPLY, Reply


class DropFault(Fault):
    """The connection breaks and no reply arrives.

    This happens before the sandbox sees the request, or after it has handled it; the agent cannot tell which. Over
    HTTP the connection is closed without a byte. In Python `Dropped`, a ConnectionError, is raised. In a
    conversation the person does not get the agent's messages of that turn, waits a minute and repeats their last
    message. `when: reply` does not affect conversations, because a turn has no reply to lose.
    """

    name: ClassVar[str] = "drop"
    when: Annotated[Literal["request", "reply"], Field(description="what is lost")] = "request"

    @property
    def affects_turns(self) -> bool:
        """Whether it drops requests; a turn has no reply to lose."""
        return self.when == "request"

    def on_request(self, rng: object) -> FaultEffect | None:
        """Drop the request."""
        return self.on_turn(rng) if self.when == "request" else None

    def on_reply(self, reply: Reply, rng: object, *, wants_body: bool = True) -> FaultEffect:
        """Drop the reply. The log records its status."""
        return FaultEffect({"when": self.when, "status": reply.status}, reply=NO_REPLY)

    def on_turn(self, rng: object) -> FaultEffect:
        """Drop what the agent says."""
        return FaultEffect({"when": self.when}, reply=NO_REPLY)
