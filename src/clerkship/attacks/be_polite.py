"""`be-polite`: says a polite sentence, and does nothing."""

from typing import ClassVar

from clerkship.attacks.contract import POLITE, Knowledge, SandboxAgent, Strategy
from clerkship.model.snapshot import Snapshot


class BePolite(Strategy):
    """Words without work."""

    name: ClassVar[str] = "be-polite"
    summary: ClassVar[str] = "says a polite sentence in every turn and as its answer, and does nothing else"
    advice: ClassVar[str] = "require what the words must state, or what must have been done before they were said"

    def agent(self, snapshot: Snapshot, knowledge: Knowledge) -> SandboxAgent:
        """Speaks and leaves every sandbox alone."""
        return SandboxAgent(lambda handle, text: True, POLITE, "")
