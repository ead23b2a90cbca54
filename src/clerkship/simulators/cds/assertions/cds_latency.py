"""`cds_latency`: the agent's services answered hooks in time."""

from datetime import timedelta
from math import ceil
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import OutboundAttempted
from clerkship.model.duration import Duration
from clerkship.model.errors import PlatformError
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Check, compare_value
from clerkship.simulators.cds.assertions.selection import CallAssertion
from clerkship.simulators.cds.delivery import CdsDelivery


class NoMeasurement(PlatformError):
    """Raised when the durations of calls were not stored, so that a criterion about them cannot be checked."""


class CdsLatency(CallAssertion):
    """The services answered the selected calls in this wall time: the slowest (`max`), and 95 of 100 (`p95`). A call
    that failed counts with the time until it failed. At least one call must have been measured.
    """

    name: ClassVar[str] = "cds_latency"
    max: Annotated[Duration | None, Field(description="most time of any call, such as 500ms")] = None
    p95: Annotated[Duration | None, Field(description="most time of 95 of 100 calls")] = None
    count: Annotated[CountExpectation, Field(description="expected number of calls")] = {"gte": 1}

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        if self.max is None and self.p95 is None:
            raise ValueError("expected `max`, `p95` or both")
        if allows_zero(self.count):
            raise ValueError("`count` must exclude 0: without a call there is no time to check")
        return self

    def check(self, evidence: Evidence) -> Check:
        """Compare the durations of the calls. Raises NoMeasurement if there are calls without one."""
        calls = self.select_calls(self.select_hooks(evidence))
        seqs = _find_attempts(evidence, {call.message for call in calls})
        if not seqs:
            row = FieldCheck(path="count", expected=self.count, actual=0, passed=False)
            return Check.of(False, f"there was not {self.describe_calls()}", row)
        unmeasured = len([seq for seq in seqs if seq not in evidence.call_times])
        if unmeasured:
            raise NoMeasurement(
                f"{unmeasured} of {len(seqs)} calls have no measured duration: it is stored beside the log by the run "
                "that made the call, but not by a replay, and not for the events before a fork; run the task again"
            )
        times = sorted((evidence.call_times[seq], seq) for seq in seqs)
        rows = [compare_value("count", self.count, len(times))]
        slowest = {"max": times[-1], "p95": times[ceil(len(times) * 0.95) - 1]}
        limits = {"max": self.max, "p95": self.p95}
        rows += [_compare(name, limit, *slowest[name]) for name, limit in limits.items() if limit is not None]
        detail = f"{len(times)} calls took up to {times[-1][0]:.0f} ms, 95 of 100 up to {slowest['p95'][0]:.0f} ms"
        return Check.of(all(row.passed for row in rows), detail, *rows)


def _find_attempts(evidence: Evidence, messages: set[str]) -> list[int]:
    return [
        event.seq
        for event in evidence.of_kind(OutboundAttempted.kind)
        if isinstance(event.payload, OutboundAttempted)
        and event.payload.channel == CdsDelivery.name
        and event.payload.message in messages
    ]


def _compare(name: str, limit: timedelta, actual_ms: float, seq: int) -> FieldCheck:
    limit_ms = limit.total_seconds() * 1000
    return compare_value(f"{name}, ms", {"lte": limit_ms}, actual_ms, seq)
