"""Letters of payers: what they say about a decision, and the PDF of a letter."""

from collections.abc import Sequence

from clerkship.formats.pdf_letter.letter import LetterContent, LetterTable, build_letter
from clerkship.payer.answer import Appeal, Authorization, Member
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.events import LetterReceived
from clerkship.simulators.portal.records import Letter
from clerkship.simulators.portal.request_form import name_member

_SUBJECTS = {
    "approved": "Approval of your request {id}",
    "modified": "Partial approval of your request {id}",
    "denied": "Denial of your request {id}",
    "need_more_info": "Request for information about {id}",
    "cancelled": "Withdrawal of your request {id}",
}


def write_decision(request: Authorization, member: Member | None, deadline_days: int) -> tuple[str, list[str]]:
    """Return the subject and the paragraphs of a letter about a decision."""
    codes = ", ".join(service.procedure_code for service in request.query.services) or "the admission"
    name = name_member(member) if member else "your patient"
    paragraphs = [f"This is about your request {request.id} for {name}: {codes}."]
    if request.status in ("approved", "modified"):
        amounts = "; ".join(f"{each.procedure_code}: {each.quantity:g} {each.unit}" for each in request.services)
        paragraphs.append(
            f"We approve it with the authorization number {request.number}, valid from {request.valid_from:%m/%d/%Y} "
            f"to {request.valid_to:%m/%d/%Y}. Approved: {amounts or codes}."
        )
    elif request.status == "denied":
        paragraphs.append("We cannot approve it.")
    elif request.status == "need_more_info":
        paragraphs.append("We need more information before we can decide.")
    if request.text:
        paragraphs.append(request.text)
    paragraphs += [question.text for question in request.questions]
    if request.status in ("denied", "modified"):
        paragraphs.append(
            f"You can appeal within {deadline_days} days. Send what supports the request with your appeal."
        )
    return _SUBJECTS.get(request.status, "Your request {id}").format(id=request.id), paragraphs


def write_appeal_decision(appeal: Appeal) -> tuple[str, list[str]]:
    """Return the subject and the paragraphs of a letter about an appeal."""
    outcomes = {
        "overturned": "We reverse our decision.",
        "upheld": "Our decision stays.",
        "dismissed": "We cannot consider your appeal.",
    }
    paragraphs = [f"This is about your appeal {appeal.id} against our decision on {appeal.of}."]
    paragraphs += [outcomes.get(appeal.status, ""), appeal.text]
    return f"Decision on your appeal {appeal.id}", [each for each in paragraphs if each]


def deliver_letter(
    desk: Desk,
    payer_id: str,
    subject: str,
    paragraphs: Sequence[str],
    reference: str = "",
    member: Member | None = None,
) -> None:
    """Put a letter into the inbox."""
    letter = Letter(
        id=desk.action.ids.new("letter"),
        payer_id=payer_id,
        received=desk.action.now,
        subject=subject,
        paragraphs=tuple(paragraphs),
        reference=reference,
        member_name=name_member(member) if member else "",
    )
    desk.action.emit(LetterReceived(letter=letter))


def write_letter(desk: Desk, letter: Letter) -> bytes:
    """Return a letter as PDF."""
    facts = [["Reference", letter.reference], ["Member", letter.member_name]]
    return build_letter(
        LetterContent(
            sender=desk.name_payer(letter.payer_id),
            date=f"{desk.local_time(letter.received):%B %d, %Y}",
            addressee=[desk.organization, f"NPI {desk.npi}"],
            subject=letter.subject,
            body=[LetterTable([row for row in facts if row[1]]), *letter.paragraphs],
        )
    )
