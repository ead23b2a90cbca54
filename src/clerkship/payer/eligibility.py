"""Which policy of a member is in force on a day, and answers to eligibility inquiries."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Literal, NamedTuple

from clerkship.payer.answer import Coverage, EligibilityAnswer, Member, OtherCoverage, Rejection
from clerkship.payer.benefits import list_benefits, list_inactive_benefits
from clerkship.payer.inquiry import EligibilityInquiry
from clerkship.payer.matching import identify_parties, reject
from clerkship.payer.records import PayerRecords

CoverageStatus = Literal["active", "terminated", "future"]


class CoverageOnDay(NamedTuple):
    """A policy, and what it is on a day."""

    coverage: Coverage
    status: CoverageStatus


def is_in_force(coverage: Coverage, day: date) -> bool:
    """Return whether a policy covers a day."""
    return coverage.start <= day and (coverage.end is None or day <= coverage.end)


def find_coverage(member: Member, day: date) -> CoverageOnDay | None:
    """Return the policy in force on a day, or else the last one before it, or else the next one after it.

    Of several in force, the one that pays first. None for a member without policies.
    """
    current = [each for each in member.coverages if is_in_force(each, day)]
    if current:
        return CoverageOnDay(min(current, key=lambda each: each.order), "active")
    ended = [each for each in member.coverages if each.end is not None and each.end < day]
    if ended:
        return CoverageOnDay(max(ended, key=lambda each: each.end or each.start), "terminated")
    coming = [each for each in member.coverages if each.start > day]
    return CoverageOnDay(min(coming, key=lambda each: each.start), "future") if coming else None


def find_other_coverages(records: PayerRecords, member: Member, day: date) -> Sequence[OtherCoverage]:
    """Return the policies with other payers that cover the same person on a day, in the order in which they pay."""
    keys = records.book.keys_by_patient.get(member.patient, ()) if member.patient else ()
    others: list[OtherCoverage] = []
    for key in keys:
        other = records.get_member(key)
        policy = find_coverage(other, day)
        if other.payer_id == member.payer_id or policy is None or policy.status != "active":
            continue
        payer = records.find_payer(other.payer_id)
        others.append(
            OtherCoverage(
                payer_id=other.payer_id,
                payer_name=(payer.name if payer else None) or other.payer_id,
                member_id=other.member_id,
                order=policy.coverage.order,
            )
        )
    return sorted(others, key=lambda each: (each.order, each.payer_id))


MAX_PAST = timedelta(days=2 * 365 + 1)
"""How long ago a day of service may be."""
MAX_FUTURE = timedelta(days=366)
"""How far in the future a day of service may be."""


def check_service_date(day: date | None, today: date) -> Rejection | None:
    """Return why a payer does not answer about a day; None if it does."""
    if day is not None and day < today - MAX_PAST:
        return reject("service_date_too_early", "request", f"The day of service ({day}) is more than two years ago.")
    if day is not None and day > today + MAX_FUTURE:
        return reject("service_date_too_late", "request", f"The day of service ({day}) is more than a year ahead.")
    return None


def answer_eligibility(records: PayerRecords, inquiry: EligibilityInquiry, today: date) -> EligibilityAnswer:
    """Return whether and how a person is covered on the day of service."""
    day = inquiry.service_date or today
    parties = identify_parties(records, inquiry)
    names = {"payer_name": parties.payer_name, "provider_name": parties.provider_name}
    member = parties.member
    if member is None:
        return EligibilityAnswer(**names, rejection=parties.rejection)
    rejection = check_service_date(inquiry.service_date, today)
    policy = find_coverage(member, day)
    if rejection is None and policy is None:
        rejection = reject("not_eligible", "subscriber", "The member has no policy.")
    if rejection is not None or policy is None:
        return EligibilityAnswer(**names, rejection=rejection, member=member)
    coverage, status = policy
    if status == "active":
        benefits = list_benefits(records, inquiry, member, coverage)
    else:
        benefits = list_inactive_benefits(inquiry, coverage)
    return EligibilityAnswer(
        **names,
        member=member,
        coverage=coverage,
        status=status,
        service_date=day,
        in_network=records.is_in_network(inquiry.provider_id, coverage.plan),
        benefits=benefits,
        other_coverages=tuple(find_other_coverages(records, member, day)),
    )
