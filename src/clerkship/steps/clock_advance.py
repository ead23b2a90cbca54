"""`clock.advance`: let simulated time pass."""

from typing import ClassVar

from clerkship.model.duration import Duration
from clerkship.steps.contract import Stage, Step


class ClockAdvance(Step):
    """Moves the clock on; what falls due on the way happens."""

    name: ClassVar[str] = "clock.advance"
    by: Duration

    def run(self, stage: Stage) -> None:
        """Do it."""
        stage.advance(self.by)
