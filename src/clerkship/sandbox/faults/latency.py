"""`latency`: requests take longer."""

from datetime import timedelta
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.model.duration import Duration, render_duration
from clerkship.sandbox.faults.contract import Fault, FaultEffect


class LatencyFault(Fault):
    """Each request, and each turn of a conversation, takes longer.

    The delay is in simulated time, and over HTTP on a paced clock in real time too.
    """

    name: ClassVar[str] = "latency"
    by: Duration
    jitter: Annotated[
        Duration, Field(description="a random addition of at most this much, which depends on the seed")
    ] = timedelta(0)

    @property
    def affects_turns(self) -> bool:
        return True

    def on_request(self, rng: Random) -> FaultEffect:
        """Delay the request."""
        return self.on_turn(rng)

    def on_turn(self, rng: Random) -> FaultEffect:
        """Delay what the agent says."""
        delay = self.by
        if self.jitter:
            delay += timedelta(milliseconds=round(self.jitter / timedelta(milliseconds=1) * rng.random()))
        return FaultEffect({"by": render_duration(delay)}, delay=delay)
