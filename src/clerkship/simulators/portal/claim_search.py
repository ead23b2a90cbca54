"""Ask the payers about claims."""

from clerkship.payer.answer import Member, PayerClaim
from clerkship.payer.inquiry import ClaimQuery, PersonQuery
from clerkship.simulators.portal.desk import NOT_FOUND, Desk, DeskRefusal
from clerkship.simulators.portal.events import Searched

CLAIM_LABELS = {"received": "Received", "pended": "In process", "denied": "Denied", "paid": "Paid"}


def find_claims(
    desk: Desk, payer_id: str, person: PersonQuery, **terms: object
) -> tuple[tuple[PayerClaim, ...], str, Member | None]:
    """Ask the payer for claims; return them, why it does not answer, and the member. Logs the search."""
    query = ClaimQuery(**dict(desk.find_party(payer_id, person)), **terms)
    answer = desk.payer.find_claims(desk.payer_action, query)
    text = answer.rejection.text if answer.rejection else ""
    typed = {"payer": payer_id, **{key: str(value) for key, value in (*person, *terms.items()) if value is not None}}
    records = tuple(f"claim/{each.number}" for each in answer.claims)
    reason = answer.rejection.reason if answer.rejection else ""
    desk.action.emit(Searched(session=desk.session, subject="claim", terms=typed, records=records, rejection=reason))
    if answer.member is not None:
        desk.register_member(answer.member)
    return answer.claims, text, answer.member


def read_claim(desk: Desk, number: str) -> PayerClaim:
    """Return a claim of the practice, of a member that was looked up; any other is not found."""
    claim = desk.records.find_claim(number)
    if (
        claim is None
        or claim.payer_id not in desk.payer_ids
        or claim.member_key not in desk.state.member_refs
        or not desk.records.may_read(desk.npi, claim.provider_id)
    ):
        raise DeskRefusal(NOT_FOUND, f"There is no claim {number[:40]}.", "Search for the claim of the member first.")
    party = desk.build_party(desk.records.get_member(claim.member_key))
    desk.payer.find_claims(desk.payer_action, ClaimQuery(**dict(party), claim_number=claim.number))
    return claim
