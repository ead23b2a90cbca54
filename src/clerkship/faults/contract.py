"""What a fault is: something that may answer instead of the sandbox, or spoil its answer."""

from datetime import timedelta
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field

from clerkship.model.frozen import Frozen, Number, Whole
from clerkship.sandbox.exchange import Reply, Request


class Spoiled(NamedTuple):
    """What a fault makes of a request: another reply, a delay, or both."""

    reply: Reply | None = None
    delay: timedelta = timedelta(0)


class Fault(Frozen):
    """Strikes requests to one sandbox, or to any; some of them, or so many times."""

    name: ClassVar[str]
    sandbox: Annotated[str | None, Field(description="which sandbox; all if not given")] = None
    times: Annotated[Whole | None, Field(ge=1, description="how many requests; all that come if not given")] = None
    probability: Annotated[Number, Field(gt=0, le=1, description="how likely it strikes each")] = 1.0

    def before(self, request: Request, rng: Random) -> Spoiled | None:
        """Before the sandbox sees the request; a reply here means it never does."""
        return None

    def after(self, request: Request, reply: Reply, rng: Random) -> Reply | None:
        """After it has answered."""
        return None
