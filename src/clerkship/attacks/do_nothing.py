"""`do-nothing`: is silent, changes nothing, answers null."""

from typing import ClassVar

from clerkship.attacks.contract import AttackAgent, Knowledge, Strategy
from clerkship.model.snapshot import Snapshot

INACTION = "doing nothing can be right here (allow_inaction)"


class DoNothing(Strategy):
    """The agent that is not there."""

    name: ClassVar[str] = "do-nothing"
    summary: ClassVar[str] = "is silent, changes nothing, answers null"
    advice: ClassVar[str] = "require something that must happen: an answer, a message, a change, a read"

    def unfit(self, snapshot: Snapshot, knowledge: Knowledge) -> str:
        """Not where the task says that doing nothing can be right."""
        return INACTION if snapshot.task.allow_inaction else super().unfit(snapshot, knowledge)

    def agent(self, snapshot: Snapshot, knowledge: Knowledge) -> AttackAgent:
        """The idle agent."""
        return AttackAgent()
