"""Operations of the REST API that look something up: members, providers, codes, questions, letters and claims."""

from dataclasses import replace
from typing import cast

from clerkship.payer.answer import PayerClaim
from clerkship.payer.inquiry import ServiceType
from clerkship.sandbox.operation import NoInput
from clerkship.sandbox.request import Reply
from clerkship.simulators.portal.api.inputs import (
    ClaimSearch,
    CodeSearch,
    EligibilityInput,
    IdInput,
    NeedInput,
    NpiInput,
    PersonInput,
    ProviderSearch,
    QuestionsInput,
)
from clerkship.simulators.portal.api.request_operations import to_typed
from clerkship.simulators.portal.api.results import (
    ApiClaim,
    ApiClaimRow,
    ApiClaims,
    ApiCodeList,
    ApiEligibility,
    ApiInbox,
    ApiNamed,
    ApiNeed,
    ApiPayers,
    ApiProviders,
    ApiQuestions,
)
from clerkship.simulators.portal.api.serve import ApiAnswer
from clerkship.simulators.portal.claim_search import CLAIM_LABELS, find_claims, read_claim
from clerkship.simulators.portal.codes.choices import ChoiceKind, find_label, list_choices
from clerkship.simulators.portal.describe import (
    build_amount_facts,
    build_benefit_rows,
    build_coverage_facts,
    build_letter_row,
    build_limit_facts,
    build_member_card,
    build_provider_row,
    list_claim_values,
    list_coverage_values,
)
from clerkship.simulators.portal.desk import Desk, refuse_field
from clerkship.simulators.portal.directory import find_in_directory, get_provider, log_search
from clerkship.simulators.portal.downloads import (
    build_download,
    download_letter_pdf,
    list_letter_records,
    list_letters,
    open_letter,
)
from clerkship.simulators.portal.form_values import FormValues
from clerkship.simulators.portal.lists import CodeLists, RequestQuestions
from clerkship.simulators.portal.member_lookup import check_need, list_payers, list_plans, look_up, read_person
from clerkship.simulators.portal.questions.answering import build_question_fields
from clerkship.simulators.portal.request_form import name_member
from clerkship.simulators.portal.views import CodeRow, LetterRow, MemberCard, ProviderRow

_CHOICES: dict[str, ChoiceKind] = {
    "place": "places",
    "modifier": "modifiers",
    "document_type": "document_types",
    "service_type": "service_types",
}


def list_portal_payers(desk: Desk, _: NoInput) -> ApiAnswer[ApiPayers]:
    """List the payers of the portal, and the plans of their members."""
    payers = tuple(ApiNamed(id=each.value, name=each.label) for each in list_payers(desk))
    plans = tuple(ApiNamed(id=each.value, name=each.label) for each in list_plans(desk))
    return ApiAnswer(ApiPayers(payers=payers, plans=plans), "member_search")


def look_up_patient(desk: Desk, given: PersonInput) -> ApiAnswer[MemberCard]:
    """Find a patient as a member of a payer, by birth date and member ID, or birth date and both names. `ref` of the
    answer is the number that requests and drafts name. Check that it is the right person: there are namesakes.
    """
    member = desk.get_member(look_up(desk, FormValues(given.model_dump())))
    return ApiAnswer(build_member_card(desk, member))


def read_patient(desk: Desk, given: IdInput) -> ApiAnswer[MemberCard]:
    """Read a member that was looked up before, by the portal's number."""
    member = desk.get_member(given.id)
    card = build_member_card(desk, member)
    return ApiAnswer(card, "member", (f"member/{member.key}",), list_coverage_values(card, desk.today))


def read_eligibility(desk: Desk, given: EligibilityInput) -> ApiAnswer[ApiEligibility]:
    """Read coverage and benefits of a member on a day: deductible and maximum with what remains, what the plan pays for
    each service, limits, and other coverage.
    """
    member, form = desk.get_member(given.id), FormValues({"service_date": given.service_date})
    day = form.day("service_date", "The day of service")
    if given.service_type and not find_label("service_types", given.service_type):
        form.refuse("service_type", "Choose a service type of the list.")
    form.check()
    answer = desk.check_eligibility(desk.build_party(member), day, (cast(ServiceType, given.service_type or "plan"),))
    card = build_member_card(desk, member, day)
    result = ApiEligibility(
        member=card,
        amounts=tuple(build_amount_facts(answer)),
        benefits=tuple(build_benefit_rows(answer)),
        limits=tuple(build_limit_facts(answer)),
        other_coverages=tuple(build_coverage_facts(answer)),
        rejection=answer.rejection.text if answer.rejection else "",
    )
    return ApiAnswer(result, "member", (f"member/{member.key}",), list_coverage_values(card, day or desk.today))


def check_authorization_need(desk: Desk, given: NeedInput) -> ApiAnswer[ApiNeed]:
    """Say whether a procedure needs an authorization under a plan, or under the plan of a member. Words instead of a
    code give the codes that match.
    """
    form = FormValues(given.model_dump())
    need = check_need(desk, form)
    form.check()
    result = ApiNeed(result=need.result, text=need.text, code=need.row, plan=need.plan, matches=need.matches)
    return ApiAnswer(result, "need_check", (), {"code": need.code, "plan": need.plan, "result": need.result})


def search_providers(desk: Desk, given: ProviderSearch) -> ApiAnswer[ApiProviders]:
    """Search the directory of providers by words of the name, NPI and plan."""
    form = FormValues(given.model_dump())
    found = find_in_directory(desk, form)
    form.check()
    rows = tuple(build_provider_row(desk, each) for each in found.providers)
    return ApiAnswer(ApiProviders(providers=rows), "directory", tuple(f"provider/{each.npi}" for each in rows))


def read_provider(desk: Desk, given: NpiInput) -> ApiAnswer[ProviderRow]:
    """Read a provider of the directory, with the networks that it is in."""
    row = build_provider_row(desk, get_provider(desk, given.npi))
    return ApiAnswer(row, "directory", (f"provider/{row.npi}",))


def search_codes(desk: Desk, given: CodeSearch) -> ApiAnswer[ApiCodeList]:
    """Search procedure or diagnosis codes by the beginning of the code or words of the description; or list the places
    of service, modifiers, document types or service types.
    """
    lists, text = CodeLists(desk.state.config), given.text.strip()[:200]
    if given.list in ("procedure", "diagnosis"):
        if not text:
            raise refuse_field("text", "Enter the beginning of a code, or words of its description.")
        known = lists.procedures if given.list == "procedure" else lists.diagnoses
        rows = known.search(text, desk.today)
        log_search(desk, given.list, text, [each.code for each in rows])
    else:
        kind = _CHOICES[given.list]
        named = [CodeRow(each.value, find_label(kind, each.value)) for each in list_choices(kind)]
        rows = [each for each in named if text.lower() in f"{each.code} {each.description}".lower()]
    return ApiAnswer(ApiCodeList(codes=tuple(rows)), "draft")


def ask_clinical_questions(desk: Desk, given: QuestionsInput) -> ApiAnswer[ApiQuestions]:
    """List the clinical questions that a request for some procedures must answer, given the answers so far. Answers may
    lead to more questions, so ask again until none has a problem.
    """
    typed = {id: to_typed(value) for id, value in given.answers.items()}
    questions = RequestQuestions(desk.state.config, list(given.procedure_codes))
    asked = questions.ask(typed)
    fields = zip(build_question_fields(asked), asked, strict=True)
    rows = tuple(replace(field, problem=each.problem) for field, each in fields)
    shown = {"questions": [each.id for each in rows]}
    return ApiAnswer(ApiQuestions(title=questions.title, questions=rows), "draft", (), shown)


def list_inbox(desk: Desk, _: NoInput) -> ApiAnswer[ApiInbox]:
    """List the letters of payers in the inbox, newest first."""
    letters = list_letters(desk)
    rows = tuple(build_letter_row(desk, each) for each in letters)
    return ApiAnswer(ApiInbox(letters=rows), "inbox", tuple(f"letter/{each.id}" for each in letters))


def read_letter(desk: Desk, given: IdInput) -> ApiAnswer[LetterRow]:
    """Read a letter, which counts as read then."""
    letter = open_letter(desk, given.id)
    shown = {"reference": letter.reference}
    row = replace(build_letter_row(desk, letter), paragraphs=letter.paragraphs)
    return ApiAnswer(row, "letter", list_letter_records(letter), shown)


def read_letter_pdf(desk: Desk, given: IdInput) -> Reply:
    """Download a letter as PDF."""
    return build_download(download_letter_pdf(desk, given.id))


def find_patient_claims(desk: Desk, given: ClaimSearch) -> ApiAnswer[ApiClaims]:
    """Search the claims of a member, by the same data as a lookup; with a claim number or days of service if given."""
    form = FormValues(given.model_dump())
    number = form.text("claim_number", "The claim number", 50)
    start, end = form.day("first_day", "The first day"), form.day("last_day", "The last day")
    payer_id, person = read_person(desk, form)
    claims, rejection, _ = find_claims(desk, payer_id, person, claim_number=number or None, start=start, end=end)
    if rejection:
        raise refuse_field("member_id", rejection)
    statuses = {each.number: each.status for each in claims}
    records = tuple(f"claim/{each.number}" for each in claims)
    rows = tuple(ApiClaimRow(**_list_claim_fields(each)) for each in claims)
    return ApiAnswer(ApiClaims(claims=rows), "claim_list", records, {"statuses": statuses})


def _list_claim_fields(claim: PayerClaim) -> dict[str, object]:
    names = ("number", "status", "account", "start", "end", "charge", "paid")
    return {**{name: getattr(claim, name) for name in names}, "status_label": CLAIM_LABELS[claim.status]}


def read_patient_claim(desk: Desk, given: IdInput) -> ApiAnswer[ApiClaim]:
    """Read a claim of a member that was looked up: status, amounts, adjustments and why it was denied or is pended."""
    claim = read_claim(desk, given.id)
    member = desk.records.get_member(claim.member_key)
    names = ("received", "status_date", "paid_date", "payment_number", "reason", "text", "adjustments", "lines")
    more = {name: getattr(claim, name) for name in names}
    result = ApiClaim(**_list_claim_fields(claim), **more, member_name=name_member(member))
    return ApiAnswer(result, "claim", (f"claim/{claim.number}", f"member/{member.key}"), list_claim_values(claim))
