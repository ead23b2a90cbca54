"""Which policy of a member is in force on a day, and who else covers the same person."""

from collections.abc import Sequence
from datetime import date
from typing import Literal

from clerkship.payer.answer import Coverage, Member, OtherCoverage
from clerkship.payer.records import PayerRecords

CoverageStatus = Literal["active", "terminated", "future"]


def is_in_force(coverage: Coverage, day: date) -> bool:
    """Return whether a policy covers a day."""
    return coverage.start <= day and (coverage.end is None or day <= coverage.end)


def find_coverage(member: Member, day: date) -> tuple[Coverage, CoverageStatus] | None:
    """Return the policy in force on a day, or else the last one before it, or else the next one after it.

    Of several in force, the one that pays first. None for a member without policies.
    """
    current = [each for each in member.coverages if is_in_force(each, day)]
    if current:
        return min(current, key=lambda each: each.order), "active"
    ended = [each for each in member.coverages if each.end is not None and each.end < day]
    if ended:
        return max(ended, key=lambda each: each.end or each.start), "terminated"
    coming = [each for each in member.coverages if each.start > day]
    return (min(coming, key=lambda each: each.start), "future") if coming else None


def find_other_coverages(records: PayerRecords, member: Member, day: date) -> Sequence[OtherCoverage]:
    """Return the policies with other payers that cover the same person on a day, in the order in which they pay."""
    keys = records.book.keys_by_patient.get(member.patient, ()) if member.patient else ()
    others: list[OtherCoverage] = []
    for key in keys:
        other = records.get_member(key)
        coverage = find_coverage(other, day)
        if other.payer_id == member.payer_id or coverage is None or coverage[1] != "active":
            continue
        payer = records.find_payer(other.payer_id)
        others.append(
            OtherCoverage(
                payer_id=other.payer_id,
                payer_name=(payer.name if payer else None) or other.payer_id,
                member_id=other.member_id,
                order=coverage[0].order,
            )
        )
    return sorted(others, key=lambda each: (each.order, each.payer_id))
