"""`x12_request`: the agent sent the expected transaction."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clerkship.simulators.x12.assertions.selection import TransactionAssertion
from clerkship.simulators.x12.records import X12Transaction
from clerkship.simulators.x12.state import X12State


class X12RequestSent(TransactionAssertion):
    """A transaction that the agent sent (270, 276, 278; or 999, TA1) and that was accepted has these values; or the
    number of such transactions is as expected.
    """

    name: ClassVar[str] = "x12_request"
    codes: ClassVar[tuple[str, ...]] = ("270", "276", "278", "837", "999", "TA1")
    grammars: ClassVar[tuple[str, ...]] = ("270", "276", "278_request", "278_inquiry", "999")
    outcome: Annotated[
        Literal["accepted", "refused", "any"], Field(description="accepted ones, those refused with a 999, or both")
    ] = "accepted"

    def find_candidates(self, state: X12State) -> Iterable[X12Transaction]:
        """Return what the agent sent; an acknowledgment is never refused."""
        outcomes = {"accepted": ("accepted", "noted"), "refused": ("refused",), "any": ("accepted", "noted", "refused")}
        return (each for each in state.transactions.values() if each.outcome in outcomes[self.outcome])

    def describe_outcome(self) -> str:
        return "sent" if self.outcome == "any" else self.outcome
