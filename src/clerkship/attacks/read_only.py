"""`read-only`: reads everything, then answers null."""

from typing import ClassVar

from clerkship.attacks.contract import Knowledge, SandboxAgent, Strategy
from clerkship.attacks.do_nothing import INACTION
from clerkship.model.snapshot import Snapshot


class ReadOnly(Strategy):
    """Looks busy and decides nothing."""

    name: ClassVar[str] = "read-only"
    summary: ClassVar[str] = "reads everything in every sandbox, is silent, answers null"
    advice: ClassVar[str] = (
        "require the decision too: an answer that states what was found, and that nothing was needed"
    )
    move: ClassVar[str] = "read_everything"

    def unfit(self, snapshot: Snapshot, knowledge: Knowledge) -> str:
        """Not where the task says that doing nothing can be right."""
        return INACTION if snapshot.task.allow_inaction else super().unfit(snapshot, knowledge)

    def agent(self, snapshot: Snapshot, knowledge: Knowledge) -> SandboxAgent:
        """Reads and says nothing."""
        return SandboxAgent(
            lambda handle, text: knowledge.attack(handle.kind).read_everything(handle, text), None, "nothing to read"
        )
