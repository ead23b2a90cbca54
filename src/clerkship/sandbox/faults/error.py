"""`error`: the system is down."""

import math
from typing import Annotated, ClassVar

from pydantic import Field, JsonValue

from clerkship.model.duration import Duration
from clerkship.model.frozen import Whole
from clerkship.sandbox.faults.contract import Fault, FaultEffect
from clerkship.sandbox.request import Refusal


class ErrorFault(Fault):
    """Answers with an error status; the sandbox never sees the request."""

    name: ClassVar[str] = "error"
    status: Annotated[Whole, Field(ge=400, le=599)] = 503
    reason: str = "the service is unavailable"
    retry_after: Annotated[
        Duration | None, Field(description="when to retry, sent as a Retry-After header in whole seconds")
    ] = None

    def on_request(self, rng: object) -> FaultEffect:
        """Answer with an error, and with Retry-After as in RFC 9110 §10.2.3."""
        details: dict[str, JsonValue] = {"status": self.status}
        headers: dict[str, str] = {}
        if self.retry_after is not None:
            seconds = math.ceil(self.retry_after.total_seconds())
            details["retry_after"], headers["Retry-After"] = seconds, str(seconds)
        refusal = Refusal(self.status, "injected_fault", self.reason)
        return FaultEffect(details, refusal=refusal, headers=headers)
