"""Sums of money, in dollars and cents."""

from collections.abc import Sequence
from typing import Protocol

from clerkship.payer.answer import Adjustment, ClaimLine

MAX_ERROR = 0.005
"""Dollars by which two sums of cents may differ as floating-point numbers."""


class AdjudicatedClaim(Protocol):
    """A claim with what was charged, paid and adjusted."""

    @property
    def status(self) -> str: ...
    @property
    def charge(self) -> float: ...
    @property
    def paid(self) -> float: ...
    @property
    def adjustments(self) -> tuple[Adjustment, ...]: ...
    @property
    def lines(self) -> tuple[ClaimLine, ...]: ...


def to_cents(dollars: float) -> float:
    """Round an amount to cents."""
    return round(dollars + 1e-9, 2)


def find_sum_mistake(claim: AdjudicatedClaim) -> str:
    """Return what does not add up in a claim; empty if all does."""
    charges, payments = sum(line.charge for line in claim.lines), sum(line.paid for line in claim.lines)
    if claim.lines and _differ(charges, claim.charge):
        return f"the charges of `lines` add up to {charges:.2f}, and `charge` is {claim.charge:.2f}"
    if payments and _differ(payments, claim.paid):
        return f"the payments of `lines` add up to {payments:.2f}, and `paid` is {claim.paid:.2f}"
    if claim.status not in ("paid", "denied"):
        return f"a {claim.status} claim has no payment, and `paid` is {claim.paid:.2f}" if claim.paid else ""
    if claim.status == "denied" and claim.paid:
        return f"a denied claim has no payment, and `paid` is {claim.paid:.2f}"
    adjusted = sum(item.amount for item in list_adjustments(claim.adjustments, claim.lines))
    if claim.status == "denied" and not adjusted:
        return ""
    if _differ(claim.charge, claim.paid + adjusted):
        return (
            f"`charge` is {claim.charge:.2f}, but `paid` and the adjustments add up to {claim.paid + adjusted:.2f}; "
            f"explain the difference of {claim.charge - claim.paid - adjusted:.2f} in `adjustments`"
        )
    return ""


def list_adjustments(adjustments: Sequence[Adjustment], lines: Sequence[ClaimLine]) -> list[Adjustment]:
    """Return the adjustments of a claim and of its lines."""
    return [*adjustments, *(item for line in lines for item in line.adjustments)]


def _differ(first: float, second: float) -> bool:
    return abs(first - second) > MAX_ERROR
