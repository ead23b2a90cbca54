"""`clock.advance`: let simulated time pass."""

from typing import ClassVar

from clerkship.model.duration import Duration
from clerkship.sandbox.steps.contract import Step, StepHost


class ClockAdvance(Step):
    """Advances the simulated clock. Scheduled events that become due happen on the way."""

    name: ClassVar[str] = "clock.advance"
    by: Duration

    def run(self, host: StepHost) -> None:
        host.advance(self.by)
