"""`order-everything`: orders everything for everyone."""

from typing import ClassVar

from clerkship.attacks.contract import POLITE, Knowledge, SandboxAgent, Strategy
from clerkship.model.snapshot import Snapshot


class OrderEverything(Strategy):
    """Whatever was asked for is somewhere among the orders."""

    name: ClassVar[str] = "order-everything"
    summary: ClassVar[str] = "orders everything the instruction names for everyone, sends messages, drops files"
    advice: ClassVar[str] = "forbid what was not asked for: fhir_no_other_changes, count, never, file_present with none"
    move: ClassVar[str] = "order_everything"

    def agent(self, snapshot: Snapshot, knowledge: Knowledge) -> SandboxAgent:
        """Orders once, then is polite."""
        return SandboxAgent(
            lambda handle, text: knowledge.attack(handle.kind).order_everything(handle, text),
            POLITE,
            "nothing could be ordered",
        )
