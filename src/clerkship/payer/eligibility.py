"""Answers to eligibility inquiries."""

from datetime import date, timedelta

from clerkship.payer.answer import EligibilityAnswer, Rejection
from clerkship.payer.benefits import list_benefits, list_inactive_benefits
from clerkship.payer.coverage import find_coverage, find_other_coverages
from clerkship.payer.inquiry import EligibilityInquiry
from clerkship.payer.matching import identify_parties, reject
from clerkship.payer.records import PayerRecords

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
    found = find_coverage(member, day)
    if rejection is None and found is None:
        rejection = reject("not_eligible", "subscriber", "The member has no policy.")
    if rejection is not None or found is None:
        return EligibilityAnswer(**names, rejection=rejection, member=member)
    coverage, status = found
    if status == "active":
        benefits = list_benefits(records, inquiry, coverage, records.get_accumulators(member.key))
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
