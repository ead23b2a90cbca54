"""Hooks that ask a payer, so that its phone line answers as its X12 and FHIR interfaces do.

The line's values give the payer (`payer_id`) and the provider that calls (`npi`). A request that the payer rejects,
such as one with the wrong birth date, has the outcome `not_found`: a line does not say which part was wrong.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clerkship.payer.answer import Authorization, AuthorizationAnswer, Benefit, EligibilityAnswer, PayerClaim
from clerkship.payer.determination import read_answer
from clerkship.payer.eligibility import find_coverage
from clerkship.payer.inquiry import (
    AuthorizationQuery,
    ClaimQuery,
    EligibilityInquiry,
    PartyQuery,
    PersonQuery,
    RequestedService,
    ServiceType,
)
from clerkship.payer.matching import identify_parties
from clerkship.payer.plan import find_service_type
from clerkship.payer.state import PayerState
from clerkship.simulators.voice.hooks.contract import (
    Hook,
    HookContext,
    HookResult,
    is_same_reference,
    normalize_reference,
    read_date,
)
from clerkship.text.spoken_words import split_words

PAYER = "payer"
PARTIES = ("payer_id", "npi", "member_id", "birth_date")
NOT_FOUND = HookResult("not_found")
_OUTCOMES_BY_STATUS = {
    "approved": "approved",
    "modified": "approved",
    "pending": "pending",
    "need_more_info": "pending",
    "denied": "denied",
    "cancelled": "denied",
    "received": "pending",
    "pended": "pending",
    "paid": "paid",
}
_SPOKEN_STATUSES = {
    "modified": "approved with changes",
    "need_more_info": "waiting for more information",
    "pended": "pending",
}

_SERVICE_WORDS: Mapping[ServiceType, tuple[str, ...]] = {
    "mri_ct": ("mri", "mris", "ct", "cat scan", "mra", "magnetic resonance", "scan"),
    "physical_therapy": ("physical therapy", "physiotherapy", "pt", "therapy visits", "occupational therapy"),
    "chiropractic": ("chiropractic", "chiropractor"),
    "mental_health": ("psychotherapy", "counseling", "mental health", "psychiatry", "psychiatric"),
    "dental": ("dental",),
    "vision": ("eye exam", "vision"),
}
"""Words of a question that name a service without its code."""


def find_member(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Find a member by member id and birth date. The payer logs no inquiry for it."""
    payer, action = context.action.domain(PayerState)
    query = _build_query(arguments)
    member = identify_parties(payer.current, PartyQuery(**query)).member if query else None
    if member is None:
        return NOT_FOUND
    values = {"member_name": " ".join((*member.given, member.family)), "member_id": member.member_id}
    coverage = find_coverage(member, payer.find_today(action.now))
    is_active = coverage is not None and coverage[1] == "active"
    return HookResult("found" if is_active else "inactive", values)


def check_eligibility(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Check whether a member is covered today, and what an office visit costs them."""
    payer, action = context.action.domain(PayerState)
    query = _build_query(arguments)
    if not query:
        return NOT_FOUND
    answer = payer.check_eligibility(action, EligibilityInquiry(**query, service_types=("plan", "office_visit")))
    if answer.coverage is None:
        is_known = answer.rejection is not None and answer.rejection.reason == "not_eligible"
        return HookResult("inactive" if is_known else "not_found")
    coverage = answer.coverage
    values = {
        "plan_name": coverage.plan_name,
        "group": coverage.group,
        "coverage_start": coverage.start.isoformat(),
        "coverage_end": coverage.end.isoformat() if coverage.end else "",
    }
    if answer.status != "active":
        return HookResult("inactive", values)
    amounts = {"copay": _find_copay(answer), "deductible_left": _find_deductible(answer)}
    return HookResult("active", {**values, **amounts})


def check_requirement(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Check whether a procedure needs an authorization under the member's plan, and whether one was requested."""
    payer, action = context.action.domain(PayerState)
    query, code = _build_query(arguments), normalize_reference(arguments.get("procedure_code", ""))
    if not query:
        return NOT_FOUND
    inquiry = EligibilityInquiry(**query, service_types=(find_service_type(code),), procedure_codes=(code,))
    answer = payer.check_eligibility(action, inquiry)
    benefit = next((each for each in answer.benefits if each.procedure_code == code), None)
    if answer.coverage is None or benefit is None:
        return NOT_FOUND
    values = {"service": code, "plan_name": answer.coverage.plan_name}
    if benefit.kind == "not_covered":
        return HookResult("not_covered", values)
    filed = find_authorization(context, {**arguments, "reference": ""})
    if filed.outcome != "not_found":
        return HookResult("requested", {**filed.values, **values})
    return HookResult("required" if benefit.authorization_required else "not_required", values)


def find_authorization(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Find an authorization by its number or procedure; else the newest one of the member that is not cancelled."""
    payer, action = context.action.domain(PayerState)
    query = _build_query(arguments)
    if not query:
        return NOT_FOUND
    party, reference = PartyQuery(**query), arguments.get("reference", "").strip()
    filed = (each for known in _list_authorizations(payer, party) for each in (known.id, known.number))
    number = next((each for each in filed if each and is_same_reference(reference, each)), reference)
    known = payer.find_authorizations(action, party, number or None).authorizations
    matches = [each for each in known if reference or each.status != "cancelled"]
    matches = [each for each in matches if _is_for(each, arguments)]
    if not matches:
        return NOT_FOUND
    newest = max(matches, key=lambda each: each.requested)
    return HookResult(_OUTCOMES_BY_STATUS[newest.status], _describe_authorization(newest))


def _is_for(authorization: Authorization, arguments: Mapping[str, str]) -> bool:
    """Return whether an authorization is for the service that is named: by its code, else by words of the question."""
    codes = {each.procedure_code for each in authorization.services}
    code = normalize_reference(arguments.get("procedure_code", ""))
    if code:
        return code in map(normalize_reference, codes)
    question = f" {' '.join(split_words(arguments.get('question', '')))} "
    types = {type for type, words in _SERVICE_WORDS.items() if any(f" {word} " in question for word in words)}
    return not types or not types.isdisjoint(map(find_service_type, codes))


def request_authorization(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Take a request for one service by phone. One that the payer rejects, and that is no duplicate, is not taken."""
    payer, action = context.action.domain(PayerState)
    query, day = _build_query(arguments), read_date(arguments.get("service_date", ""))
    code, diagnosis = (normalize_reference(arguments.get(name, "")) for name in ("procedure_code", "diagnosis"))
    if not query or day is None or not code or not diagnosis:
        return NOT_FOUND
    quantity = arguments.get("quantity", "")
    service = RequestedService(
        procedure_code=code,
        quantity=int(quantity) if quantity.isdecimal() and int(quantity) else 1,
        start=day,
        end=day,
        performer_id=arguments.get("performer") or None,
    )
    request = AuthorizationQuery(
        **query,
        services=(service,),
        diagnoses=(diagnosis,),
        place=arguments.get("place") or None,
        is_urgent=arguments.get("urgent", "").lower() in ("yes", "true", "urgent"),
        answers=_read_answers(arguments),
    )
    return _report(payer.request_authorization(action, request), code)


def review_denial(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Decide a denied request again, with the answers that a clinician gives to a physician of the payer."""
    payer, action = context.action.domain(PayerState)
    query, reference = _build_query(arguments), arguments.get("reference", "")
    filed = _list_authorizations(payer, PartyQuery(**query)) if query else ()
    match = next((each for each in filed if is_same_reference(reference, each.id)), None)
    if match is None:
        return NOT_FOUND
    answers = AuthorizationQuery(**query, answers=_read_answers(arguments))
    return _report(payer.review_denial(action, match.id, answers), "")


def _read_answers(arguments: Mapping[str, str]) -> dict[str, str | bool | float]:
    """Return answers to clinical questions, which are written as `id: value; id: value`.

    Numbers, `yes` and `no` become values of their types: rules compare them so.
    """
    pairs = (each.partition(":") for each in arguments.get("answers", "").split(";"))
    given = {id.strip(): value.strip() for id, _, value in pairs if id.strip() and value.strip()}
    return {id: _read_value(value) for id, value in given.items()}


def _read_value(text: str) -> str | bool | float:
    typed = (read_answer(type, (), text) for type in ("number", "boolean"))
    return next((value for value in typed if value is not None), text)


def _report(answer: AuthorizationAnswer, code: str) -> HookResult:
    """Return what became of a request that was made by phone."""
    if answer.member is None:
        return NOT_FOUND
    if answer.rejection is not None:
        is_duplicate = answer.rejection.reason == "duplicate_request"
        return HookResult("duplicate" if is_duplicate else "rejected", {"reason": answer.rejection.text})
    if not answer.is_required:
        return HookResult("not_required", {"service": code})
    authorization = answer.authorizations[0]
    return HookResult(_OUTCOMES_BY_STATUS[authorization.status], _describe_authorization(authorization))


def find_claim(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Find a claim by its number or its day of service; the newest one if several match."""
    payer, action = context.action.domain(PayerState)
    query = _build_query(arguments)
    entry, day = arguments.get("claim_number", "").strip(), read_date(arguments.get("service_date", ""))
    if not query or not (entry or day):
        return NOT_FOUND
    filed = (each.number for each in _list_claims(payer, PartyQuery(**query)))
    number = next((each for each in filed if is_same_reference(entry, each)), entry) if entry else None
    claims = payer.find_claims(action, ClaimQuery(**query, claim_number=number, start=day, end=day)).claims
    if not claims:
        return NOT_FOUND
    newest = max(claims, key=lambda each: (each.start, each.received))
    return HookResult(_OUTCOMES_BY_STATUS[newest.status], _describe_claim(newest))


def find_provider(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Find a provider by its NPI."""
    payer, _ = context.action.domain(PayerState)
    provider = payer.current.find_provider(arguments.get("npi", "").strip())
    return HookResult("found", {"provider_name": provider.name}) if provider is not None else NOT_FOUND


def _build_query(arguments: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a query about a member; nothing if the entries cannot be those of one."""
    birth_date, member_id = read_date(arguments.get("birth_date", "")), arguments.get("member_id", "").strip()
    if birth_date is None or not member_id:
        return {}
    return {
        "payer_id": arguments.get("payer_id", "").strip(),
        "provider_id": arguments.get("npi", "").strip(),
        "subscriber": PersonQuery(member_id=member_id, birth_date=birth_date),
    }


def _list_authorizations(payer: PayerState, party: PartyQuery) -> Sequence[Authorization]:
    member = identify_parties(payer.current, party).member
    return payer.current.list_authorizations(member.key) if member is not None else ()


def _list_claims(payer: PayerState, party: PartyQuery) -> Sequence[PayerClaim]:
    member = identify_parties(payer.current, party).member
    return payer.current.list_claims(member.key) if member is not None else ()


def _find_copay(answer: EligibilityAnswer) -> str:
    copays = (each for each in answer.benefits if each.kind == "copay" and "office_visit" in each.service_types)
    return _render_amount(each for each in copays if each.in_network in (None, answer.in_network))


def _find_deductible(answer: EligibilityAnswer) -> str:
    return _render_amount(
        each
        for each in answer.benefits
        if each.kind == "deductible" and each.period == "remaining" and each.level == "individual"
    )


def _render_amount(benefits: Iterable[Benefit]) -> str:
    """Return the amount of the first benefit in dollars; nothing is to be paid if there is none."""
    return f"{next((each.amount for each in benefits if each.amount is not None), 0.0):.2f}"


def _describe_authorization(authorization: Authorization) -> dict[str, str]:
    return {
        "reference": authorization.number or authorization.id,
        "status": _SPOKEN_STATUSES.get(authorization.status, authorization.status),
        "service": ", ".join(dict.fromkeys(each.procedure_code for each in authorization.services)),
        "valid_from": authorization.valid_from.isoformat() if authorization.valid_from else "",
        "valid_until": authorization.valid_to.isoformat() if authorization.valid_to else "",
        "reason": authorization.text or authorization.reason.replace("_", " "),
    }


def _describe_claim(claim: PayerClaim) -> dict[str, str]:
    return {
        "claim_number": claim.number,
        "status": _SPOKEN_STATUSES.get(claim.status, claim.status),
        "amount": f"{claim.paid if claim.status == 'paid' else claim.charge:.2f}",
        "status_date": claim.status_date.isoformat(),
        "service_date": claim.start.isoformat(),
        "payment_number": claim.payment_number or "",
        "reason": claim.text or claim.reason.replace("_", " "),
    }


HOOKS = (
    Hook(
        "payer.find_member",
        "Find a member of the payer by member id and birth date.",
        PARTIES,
        ("found", "inactive", "not_found"),
        ("member_name", "member_id"),
        find_member,
        PAYER,
    ),
    Hook(
        "payer.check_eligibility",
        "Check whether a member is covered today; `copay` is that of an office visit.",
        PARTIES,
        ("active", "inactive", "not_found"),
        ("plan_name", "group", "coverage_start", "coverage_end", "copay", "deductible_left"),
        check_eligibility,
        PAYER,
    ),
    Hook(
        "payer.check_requirement",
        "Check whether a procedure code needs an authorization, and whether one is `requested` for the member already.",
        (*PARTIES, "procedure_code"),
        ("required", "not_required", "requested", "not_covered", "not_found"),
        ("service", "plan_name", "reference", "status", "valid_from", "valid_until", "reason"),
        check_requirement,
        PAYER,
    ),
    Hook(
        "payer.find_authorization",
        "Find an authorization of a member by its number, its procedure code or the service that a "
        "`question` names; the newest one if several match. A cancelled one is `denied`.",
        PARTIES,
        ("approved", "pending", "denied", "not_found"),
        ("reference", "status", "service", "valid_from", "valid_until", "reason"),
        find_authorization,
        PAYER,
        ("reference", "procedure_code", "question"),
    ),
    Hook(
        "payer.request_authorization",
        "Request an authorization for one service. `answers` are written `id: value; id: value`, with the ids of the "
        "payer's clinical questions.",
        (*PARTIES, "procedure_code", "diagnosis", "service_date"),
        ("approved", "pending", "denied", "not_required", "duplicate", "rejected", "not_found"),
        ("reference", "status", "service", "valid_from", "valid_until", "reason"),
        request_authorization,
        PAYER,
        ("place", "performer", "quantity", "urgent", "answers"),
    ),
    Hook(
        "payer.review_denial",
        "Let a physician of the payer decide a denied request again, with `answers` to the payer's clinical questions.",
        (*PARTIES, "reference", "answers"),
        ("approved", "pending", "denied", "rejected", "not_found"),
        ("reference", "status", "service", "valid_from", "valid_until", "reason"),
        review_denial,
        PAYER,
    ),
    Hook(
        "payer.find_claim",
        "Find a claim of a member by its number or by the day of service. `amount` is what was paid, or else charged.",
        PARTIES,
        ("paid", "pending", "denied", "not_found"),
        ("claim_number", "status", "amount", "status_date", "service_date", "payment_number", "reason"),
        find_claim,
        PAYER,
        ("claim_number", "service_date"),
    ),
    Hook(
        "payer.find_provider",
        "Find a provider that the payer has on file by its NPI.",
        ("npi",),
        ("found", "not_found"),
        ("provider_name",),
        find_provider,
        PAYER,
    ),
)
