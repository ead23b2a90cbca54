"""`latency`: the answer takes its time."""

from typing import ClassVar

from clerkship.faults.contract import Fault, Spoiled
from clerkship.model.duration import Duration
from clerkship.sandbox.exchange import Request


class Latency(Fault):
    """Each request takes this much longer: in simulated time, and on a paced clock in real time too."""

    name: ClassVar[str] = "latency"
    by: Duration

    def before(self, request: Request, rng: object) -> Spoiled:
        """Delay it."""
        return Spoiled(delay=self.by)
