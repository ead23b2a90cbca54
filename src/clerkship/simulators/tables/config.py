"""The configuration of a `tables` simulator."""

from typing import Annotated

from pydantic import Field

from clerkship.model.closed import NameOf
from clerkship.model.frozen import Frozen, Whole

TABLE = NameOf("table")
FUNCTION = NameOf("table function")


class TablesConfig(Frozen):
    """The limits of one call of a function."""

    max_steps: Annotated[
        Whole,
        Field(
            ge=1_000,
            le=100_000_000,
            description="steps of one call: functions of functions.py that begin, and rounds of loops",
        ),
    ] = 1_000_000
    max_result: Annotated[
        Whole, Field(ge=1_000, le=20_000_000, description="size limit of the result of one call, in bytes")
    ] = 1_000_000
    max_changes: Annotated[Whole, Field(ge=1, le=10_000, description="records that one call may change")] = 1_000
