"""`error`: the system behind the door is down."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.faults.contract import Fault, Spoiled
from clerkship.model.frozen import Whole
from clerkship.sandbox.exchange import Refusal, Request, refuse_as_json


class Error(Fault):
    """Answers with an error status; the sandbox never sees the request."""

    name: ClassVar[str] = "error"
    status: Annotated[Whole, Field(ge=400, le=599)] = 503
    reason: str = "the service is unavailable"

    def before(self, request: Request, rng: object) -> Spoiled:
        """Answer instead."""
        return Spoiled(reply=refuse_as_json(Refusal(self.status, "injected_fault", self.reason)))
