"""`clock.advance`: let simulated time pass."""

from typing import ClassVar

from clerkship.model.duration import Duration
from clerkship.steps.contract import Step, StepHost


class ClockAdvance(Step):
    """Moves the clock on; what falls due on the way happens."""

    name: ClassVar[str] = "clock.advance"
    by: Duration

    def run(self, stage: StepHost) -> None:
        """Do it."""
        stage.advance(self.by)
