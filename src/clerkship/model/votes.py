"""How often a judge is asked the same."""

from typing import Annotated

from pydantic import AfterValidator, Field

from clerkship.model.frozen import Whole

MOST_VOTES = 15


def _odd(votes: int) -> int:
    if votes % 2 == 0:
        raise ValueError("expected an odd number of votes: an even one can be split in halves")
    return votes


Votes = Annotated[Whole, Field(ge=1, le=MOST_VOTES), AfterValidator(_odd)]
