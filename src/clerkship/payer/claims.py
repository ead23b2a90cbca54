"""Answers to inquiries about claims."""

from clerkship.payer.answer import ClaimAnswer, PayerClaim
from clerkship.payer.inquiry import ClaimQuery
from clerkship.payer.matching import identify_parties
from clerkship.payer.money import MAX_ERROR
from clerkship.payer.records import PayerRecords


def answer_claims(records: PayerRecords, query: ClaimQuery) -> ClaimAnswer:
    """Return the claims of a person that match a query, oldest first; none if the provider did not send them."""
    parties = identify_parties(records, query)
    names = {"payer_name": parties.payer_name, "provider_name": parties.provider_name}
    if parties.member is None:
        return ClaimAnswer(**names, rejection=parties.rejection)
    claims = (each for each in records.list_claims(parties.member.key) if matches_claim(each, query))
    readable = tuple(each for each in claims if records.may_read(query.provider_id, each.provider_id))
    return ClaimAnswer(**names, member=parties.member, claims=readable)


def matches_claim(claim: PayerClaim, query: ClaimQuery) -> bool:
    """Return whether a claim has the numbers and the charge of a query, and a day of service in its period."""
    if query.claim_number is not None and query.claim_number.strip() != claim.number:
        return False
    if query.account is not None and query.account.strip() != claim.account:
        return False
    if query.charge is not None and abs(query.charge - claim.charge) > MAX_ERROR:
        return False
    first, last = query.start or query.end, query.end or query.start
    return (first is None or claim.end >= first) and (last is None or claim.start <= last)
