"""`delete-everything`: deletes all it can find."""

from typing import ClassVar

from clerkship.attacks.contract import POLITE, Knowledge, SandboxAgent, Strategy
from clerkship.model.snapshot import Snapshot


class DeleteEverything(Strategy):
    """Where nothing is left, nothing is wrong."""

    name: ClassVar[str] = "delete-everything"
    summary: ClassVar[str] = "deletes all it can find in every sandbox"
    advice: ClassVar[str] = "require what must still be there, or forbid other changes"
    move: ClassVar[str] = "delete_everything"

    def agent(self, snapshot: Snapshot, knowledge: Knowledge) -> SandboxAgent:
        """Deletes once, then is polite."""
        return SandboxAgent(
            lambda handle, text: knowledge.attack(handle.kind).delete_everything(handle, text),
            POLITE,
            "there was nothing to delete",
        )
