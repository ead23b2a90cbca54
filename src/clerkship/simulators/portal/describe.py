"""Records of the payers and of the portal in the words of its pages."""

from collections.abc import Iterable, Sequence
from datetime import date

from clerkship.payer.answer import Authorization, Benefit, EligibilityAnswer, Member, PayerClaim
from clerkship.payer.eligibility import find_coverage
from clerkship.payer.inquiry import SERVICE_TYPE_NAMES, ServiceType
from clerkship.payer.members import ProviderOnFile
from clerkship.simulators.portal.codes.choices import find_label
from clerkship.simulators.portal.desk import Desk
from clerkship.simulators.portal.form_values import write_day
from clerkship.simulators.portal.lists import CodeLists, RequestQuestions
from clerkship.simulators.portal.records import Letter, RequestDraft, UploadedDocument
from clerkship.simulators.portal.request_form import name_member
from clerkship.simulators.portal.uploads import format_size
from clerkship.simulators.portal.views import (
    BenefitRow,
    CodeRow,
    DocumentRow,
    DraftRow,
    Fact,
    LetterRow,
    MemberCard,
    ProviderRow,
    RequestRow,
    ServiceRow,
)

STATUS_LABELS: dict[str, str] = {
    "pending": "In review",
    "need_more_info": "More information needed",
    "approved": "Approved",
    "modified": "Partly approved",
    "denied": "Denied",
    "cancelled": "Withdrawn",
}
COVERAGE_LABELS = {"active": "Active", "terminated": "Terminated", "future": "Not yet active"}


def build_member_card(desk: Desk, member: Member, day: date | None = None) -> MemberCard:
    """Return a member with the policy on a day."""
    found = find_coverage(member, day or desk.today)
    coverage = found.coverage if found else None
    return MemberCard(
        ref=desk.state.member_refs.get(member.key, ""),
        name=name_member(member),
        birth_date=member.birth_date,
        gender=member.gender.capitalize(),
        member_id=member.member_id,
        relationship={"self": "Subscriber", "spouse": "Spouse", "child": "Child"}.get(member.relationship, "Dependent"),
        payer_id=member.payer_id,
        payer_name=desk.name_payer(member.payer_id),
        plan_name=coverage.plan_name if coverage else "",
        group=coverage.group if coverage else "",
        status=found.status if found else "terminated",
        start=coverage.start if coverage else None,
        end=coverage.end if coverage else None,
    )


def label_status(desk: Desk, request: Authorization) -> str:
    """Return the status of a request in words."""
    label = STATUS_LABELS[request.status]
    return f"{label} (expired)" if desk.is_expired(request) and request.status in ("approved", "modified") else label


def build_request_row(desk: Desk, request: Authorization) -> RequestRow:
    """Return a request as a list shows it."""
    member = desk.records.find_member(request.member_key)
    requester = desk.state.requesters.get(request.id)
    return RequestRow(
        reference=request.id,
        number=request.number or "",
        member_name=name_member(member) if member else "",
        member_id=member.member_id if member else "",
        payer_name=desk.name_payer(request.payer_id),
        services=", ".join(each.procedure_code for each in request.query.services) or "Admission",
        status=request.status,
        status_label=label_status(desk, request),
        requested=desk.local_time(request.requested),
        decided=desk.local_time(request.decided) if request.decided else None,
        valid_to=request.valid_to,
        requested_by=desk.state.config.find_user(requester).name if requester else desk.organization,
    )


def build_service_rows(codes: CodeLists, request: Authorization) -> list[ServiceRow]:
    """Return the procedures of a request with their decisions."""
    decided = {each.procedure_code: each for each in request.services}
    rows = []
    for service in request.query.services:
        decision = decided.get(service.procedure_code)
        is_decided = decision is not None and request.status not in ("pending", "need_more_info")
        rows.append(
            ServiceRow(
                code=service.procedure_code,
                description=codes.procedures.describe(service.procedure_code),
                modifiers=", ".join(service.modifiers),
                quantity=write_quantity(float(service.quantity), service.unit),
                frequency=find_label("frequencies", service.frequency or "total"),
                start=service.start or request.query.start,
                end=service.end or request.query.end,
                status=STATUS_LABELS[decision.status] if decision else "",
                approved=write_quantity(decision.quantity, decision.unit) if decision and is_decided else "",
                reason=write_reason(decision.reason) if decision else "",
            )
        )
    return rows


def build_draft_services(codes: CodeLists, draft: RequestDraft) -> list[ServiceRow]:
    """Return the procedures of a draft."""
    return [
        ServiceRow(
            code=service.code,
            description=codes.procedures.describe(service.code),
            modifiers=", ".join(service.modifiers),
            quantity=write_quantity(float(service.units), service.unit),
            frequency=find_label("frequencies", service.frequency),
            start=service.start,
            end=service.end,
        )
        for service in draft.services
    ]


def build_diagnosis_rows(codes: CodeLists, diagnoses: Iterable[str]) -> list[CodeRow]:
    """Return diagnoses with their descriptions, with the dot."""
    return [CodeRow(codes.write_diagnosis(code), codes.diagnoses.describe(code)) for code in diagnoses]


def write_quantity(quantity: float, unit: str) -> str:
    """Return a quantity such as `1 unit` or `12 visits`."""
    number = int(quantity) if float(quantity).is_integer() else quantity
    return f"{number} {unit.removesuffix('s') if number == 1 else unit}"


def build_draft_row(desk: Desk, draft: RequestDraft) -> DraftRow:
    """Return a draft as a list shows it."""
    key = desk.state.members.get(draft.member)
    member = None if key is None else desk.records.find_member(key)
    return DraftRow(
        id=draft.id,
        member_name=name_member(member) if member else "",
        services=", ".join(service.code for service in draft.services),
        owner=desk.state.config.find_user(draft.owner).name,
        updated=desk.local_time(draft.updated),
        updated_by=desk.state.config.find_user(draft.updated_by).name,
    )


def build_document_rows(desk: Desk, ids: Iterable[str]) -> list[DocumentRow]:
    """Return documents by their numbers. One that was sent otherwise, as with a 278, has only its number."""
    rows = []
    for id in ids:
        document = desk.state.documents.get(id)
        if document is not None:
            rows.append(build_document_row(desk, document))
    return rows


def build_document_row(desk: Desk, document: UploadedDocument) -> DocumentRow:
    """Return a document as a list shows it."""
    return DocumentRow(
        id=document.id,
        name=document.name,
        type=find_label("document_types", document.type),
        size=format_size(document.size),
        uploaded=desk.local_time(document.uploaded),
        user=desk.state.config.find_user(document.user).name,
    )


def build_letter_row(desk: Desk, letter: Letter) -> LetterRow:
    """Return a letter as the inbox shows it."""
    return LetterRow(
        id=letter.id,
        subject=letter.subject,
        payer_name=desk.name_payer(letter.payer_id),
        member_name=letter.member_name,
        reference=letter.reference,
        received=desk.local_time(letter.received),
        is_read=letter.is_read,
    )


def build_provider_row(desk: Desk, provider: ProviderOnFile) -> ProviderRow:
    """Return a provider of the directory, with the networks that it is in."""
    records = desk.records
    employer = records.find_provider(provider.organization) if provider.organization else None
    plans = [id for id in records.book.plans if id != "default" and records.is_in_network(provider.npi, id)]
    others = len([id for id in records.book.plans if id != "default"]) - len(plans)
    names = ", ".join(records.find_plan(id).name or id for id in plans)
    return ProviderRow(
        npi=provider.npi,
        name=provider.name,
        kind="Practitioner" if employer else "Organization",
        organization=employer.name if employer else "",
        in_network="All plans" if not others else names or "Out of network",
    )


def build_benefit_rows(answer: EligibilityAnswer) -> list[BenefitRow]:
    """Return one row for each service of an answer: what the member pays in and out of network."""
    types: list[ServiceType] = list(
        dict.fromkeys(type for benefit in answer.benefits for type in benefit.service_types if type != "plan")
    )
    return [
        _build_benefit_row(type, [each for each in answer.benefits if type in each.service_types]) for type in types
    ]


def _build_benefit_row(type: ServiceType, benefits: Sequence[Benefit]) -> BenefitRow:
    is_needed = next(
        (each.authorization_required for each in benefits if each.authorization_required is not None), None
    )
    return BenefitRow(
        service=SERVICE_TYPE_NAMES[type],
        in_network=_write_terms(benefits, in_network=True),
        out_of_network=_write_terms(benefits, in_network=False),
        authorization="" if is_needed is None else "Required" if is_needed else "Not required",
    )


def _write_terms(benefits: Sequence[Benefit], *, in_network: bool) -> str:
    terms = [each for each in benefits if each.in_network in (in_network, None)]
    if any(each.kind == "not_covered" for each in terms):
        return "Not covered"
    copay = next((each.amount for each in terms if each.kind == "copay"), None)
    if copay is not None:
        return f"{write_dollars(copay)} copay"
    share = next((each.share for each in terms if each.kind == "coinsurance"), None)
    return "" if share is None else f"{share:.0%} coinsurance"


def build_amount_facts(answer: EligibilityAnswer) -> list[Fact]:
    """Return deductibles and maximums, with what remains of them."""
    names = {"deductible": "Deductible", "out_of_pocket_maximum": "Out-of-pocket maximum"}
    facts = []
    for benefit in answer.benefits:
        if benefit.kind in names and benefit.amount is not None:
            period = "remaining" if benefit.period == "remaining" else "this year"
            label = f"{names[benefit.kind]}, {benefit.level}, {period}"
            facts.append(Fact(label, write_dollars(benefit.amount)))
    return facts


def build_limit_facts(answer: EligibilityAnswer) -> list[Fact]:
    """Return limits on visits, with what remains of them."""
    return [
        Fact(
            f"{', '.join(SERVICE_TYPE_NAMES[type] for type in each.service_types)}, "
            f"{'remaining' if each.period == 'remaining' else 'this year'}",
            write_quantity(each.quantity, each.unit or "visits"),
        )
        for each in answer.benefits
        if each.kind == "limit" and each.quantity is not None
    ]


def build_coverage_facts(answer: EligibilityAnswer) -> list[Fact]:
    """Return other coverage of a member, and in which order it pays."""
    orders = {1: "first", 2: "second"}
    return [
        Fact(each.payer_name, f"Member ID {each.member_id}, pays {orders.get(each.order, 'later')}")
        for each in answer.other_coverages
    ]


def list_coverage_values(card: MemberCard, day: date) -> dict[str, str]:
    """Return what the page of a member shows, for the log."""
    return {"status": card.status, "plan": card.plan_name, "service_date": write_day(day)}


def list_request_values(request: Authorization) -> dict[str, str | None]:
    """Return what the page of a request shows, for the log."""
    return {
        "status": request.status,
        "number": request.number,
        "valid_to": write_day(request.valid_to),
        "reason": request.reason,
    }


def list_claim_values(claim: PayerClaim) -> dict[str, str | float]:
    """Return what the page of a claim shows, for the log."""
    return {"status": claim.status, "paid": claim.paid, "reason": claim.reason}


def write_reason(reason: str) -> str:
    """Return the reason of a payer, such as `missing_notes`, as people write it."""
    return reason.replace("_", " ").capitalize()


def write_dollars(amount: float) -> str:
    """Return an amount such as `$1,250.00`."""
    return f"${amount:,.2f}"


def build_answer_facts(desk: Desk, request: Authorization) -> list[Fact]:
    """Return the answers to clinical questions of a request."""
    asked = RequestQuestions(desk.state.config, [each.procedure_code for each in request.query.services])
    texts = {question.id: question.text for question in request.questions}
    answers = request.query.answers.items()
    return [Fact(texts.get(id) or asked.find_text(id), write_answer(value)) for id, value in answers]


def write_answer(value: str | bool | float) -> str:
    """Return an answer as people write it."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def write_period(start: date | None, end: date | None) -> str:
    """Return a period such as `03/16/2026 to 06/14/2026`, or one day."""
    return f"{write_day(start)} to {write_day(end)}" if start and end and start != end else write_day(start)
