"""`x12_response`: the agent received the expected transaction."""

from collections.abc import Iterable
from typing import ClassVar

from clerkship.simulators.x12.assertions.selection import TransactionAssertion
from clerkship.simulators.x12.records import X12Transaction
from clerkship.simulators.x12.state import X12State


class X12ResponseReceived(TransactionAssertion):
    """A transaction that the agent received (271, 277, 278, 999 or TA1) has these values; or the number of such
    transactions is as expected. The reply to a batch counts once it is delivered.
    """

    name: ClassVar[str] = "x12_response"
    codes: ClassVar[tuple[str, ...]] = ("271", "277", "278", "999", "TA1")
    grammars: ClassVar[tuple[str, ...]] = ("271", "277", "278_response", "278_inquiry_response", "999")

    def find_candidates(self, state: X12State) -> Iterable[X12Transaction]:
        """Return what the agent received."""
        return (each for each in state.visible_transactions() if not each.is_from_agent)

    def describe_outcome(self) -> str:
        return "received"
