"""Claims: search and details."""

from clerkship.payer.answer import PayerClaim
from clerkship.simulators.portal.claim_search import CLAIM_LABELS, find_claims, read_claim
from clerkship.simulators.portal.describe import list_claim_values, write_dollars, write_period, write_reason
from clerkship.simulators.portal.desk import Desk, InvalidForm
from clerkship.simulators.portal.form_values import write_day
from clerkship.simulators.portal.lists import CodeLists
from clerkship.simulators.portal.member_lookup import list_payers, read_person
from clerkship.simulators.portal.pages.members import read_form
from clerkship.simulators.portal.request_form import name_member
from clerkship.simulators.portal.site import PageRequest, Shown, SitePage
from clerkship.simulators.portal.views import ClaimListView, ClaimView, Fact


def search_claims(desk: Desk, request: PageRequest) -> Shown:
    """Search the claims of a member."""
    form = read_form(desk, request)
    claims: tuple[PayerClaim, ...] = ()
    is_asked = form.has("member_id", "family", "given", "claim_number")
    rejection, member, problems = "", None, form.problems
    if is_asked:
        number = form.text("claim_number", "The claim number", 50)
        start, end = form.day("from", "The first day"), form.day("to", "The last day")
        try:
            payer_id, person = read_person(desk, form)
        except InvalidForm as refusal:
            problems = list(refusal.problems)
        else:
            terms = {"claim_number": number or None, "start": start, "end": end}
            claims, rejection, member = find_claims(desk, payer_id, person, **terms)
    view = ClaimListView(
        title="Claims",
        payers=list_payers(desk),
        searched=is_asked and not problems,
        rejection=rejection,
        rows=[
            (
                each.number,
                name_member(member) if member else "",
                member.member_id if member else "",
                each.start,
                CLAIM_LABELS[each.status],
                write_dollars(each.charge),
                write_dollars(each.paid),
            )
            for each in claims
        ],
        values=request.fields,
        problems=problems,
    )
    statuses = {each.number: each.status for each in claims}
    return Shown(view, tuple(f"claim/{each.number}" for each in claims), {"statuses": statuses})


def show_claim(desk: Desk, request: PageRequest) -> Shown:
    """Show a claim."""
    claim, codes = read_claim(desk, request.id), CodeLists(desk.state.config)
    member = desk.records.get_member(claim.member_key)
    facts = [
        Fact("Member", name_member(member)),
        Fact("Member ID", member.member_id),
        Fact("Your account number", claim.account),
        Fact("Service dates", write_period(claim.start, claim.end)),
        Fact("Received", write_day(claim.received)),
        Fact("Status since", write_day(claim.status_date)),
        Fact("Charged", write_dollars(claim.charge)),
        Fact("Paid", write_dollars(claim.paid)),
        Fact("Payment date", write_day(claim.paid_date)),
        Fact("Payment number", claim.payment_number or ""),
        Fact("Reason", write_reason(claim.reason)),
    ]
    view = ClaimView(
        title=f"Claim {claim.number}",
        number=claim.number,
        status=CLAIM_LABELS[claim.status],
        facts=[fact for fact in facts if fact.value],
        lines=[
            (
                each.procedure_code,
                codes.procedures.describe(each.procedure_code),
                write_day(each.service_date or claim.start),
                write_dollars(each.charge),
                write_dollars(each.paid),
                CLAIM_LABELS[each.status or claim.status],
            )
            for each in claim.lines
        ],
        adjustments=[
            Fact(f"{write_reason(each.reason)} ({each.group.replace('_', ' ')})", write_dollars(each.amount))
            for each in (*claim.adjustments, *(one for line in claim.lines for one in line.adjustments))
        ],
        text=claim.text,
    )
    return Shown(view, (f"claim/{claim.number}", f"member/{member.key}"), list_claim_values(claim))


PAGES = (
    SitePage("GET", "/claims", search_claims, "claims", "claims"),
    SitePage("GET", "/claims/{id}", show_claim, "claims", "claims"),
)
