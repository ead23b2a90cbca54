"""Properties: the same calls give the same log; a rejected call changes nothing; records add up."""

from datetime import date, timedelta
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.checks.conformance.rig import to_bytes
from clerkship.payer.answer import Rejection
from clerkship.payer.inquiry import PersonQuery
from clerkship.payer.money import find_sum_mistake
from clerkship.playground.component import PreparedComponent
from clerkship.playground.playground import replay
from tests.examples import examples
from tests.payer.clinic import (
    CLINIC,
    DOCTOR,
    HOSPITAL,
    JANE,
    JANE_ASKED,
    NAME,
    PayerClinic,
    claim_query,
    inquiry,
    party,
    prepare,
    request,
)
from tests.payer.test_authorizations import ASK_FIRST
from tests.payer.test_claims import CLAIM

RULES: list[dict[str, Any]] = [
    ASK_FIRST,
    {"match": {"procedure_code": "70553"}, "status": "denied"},
    {"match": {"procedure_code": "71250"}, "status": "approved", "delay": "2h"},
]
CODES = st.sampled_from(["70551", "70553", "71250", "72148", "99213", ""])
PEOPLE = st.sampled_from(
    [
        JANE_ASKED,
        JANE_ASKED.model_copy(update={"birth_date": date(1999, 1, 1)}),
        PersonQuery(family="doe", given="Jane Ann", birth_date=date(1980, 5, 17)),
        PersonQuery(member_id="CM0"),
    ]
)
PARTIES = st.fixed_dictionaries(
    {
        "payer_id": st.sampled_from(["CM002", "HL001", "X"]),
        "provider_id": st.sampled_from([CLINIC, CLINIC, DOCTOR, HOSPITAL, "1"]),
        "subscriber": PEOPLE,
    }
)
NUMBERS = st.integers(0, 5)
ANSWERS = st.dictionaries(st.sampled_from(["weeks", "urgent_signs"]), st.sampled_from(["8", "no", True, 2.0]))
CALLS = st.one_of(
    st.tuples(st.just("eligibility"), PARTIES),
    st.tuples(st.just("request"), PARTIES, CODES, ANSWERS),
    st.tuples(st.just("update"), PARTIES, NUMBERS, ANSWERS),
    st.tuples(st.just("cancel"), PARTIES, NUMBERS),
    st.tuples(st.just("inquire"), PARTIES),
    st.tuples(st.just("appeal"), PARTIES, NUMBERS, st.booleans()),
    st.tuples(st.just("claims"), PARTIES),
    st.tuples(st.just("wait"), st.integers(1, 100)),
)


@cache
def prepare_payer() -> PreparedComponent:
    """Return the payer of all examples, prepared once."""
    return prepare(members=[JANE], determinations=RULES, claims=[CLAIM])


def find_reference(clinic: PayerClinic, number: int) -> str:
    """Return the number of a request, or of the claim; some do not exist."""
    references = ["CLM1", *clinic.payer.current.authorizations]
    return references[number] if number < len(references) else "R0"


def call(clinic: PayerClinic, name: str, *arguments: Any) -> Any:
    """Make one call; return its answer, or None if it has none."""
    payer, action = clinic.payer, clinic.action
    if name == "wait":
        clinic.playground.advance(timedelta(hours=arguments[0]))
        return None
    asked = arguments[0]
    if name == "eligibility":
        return payer.check_eligibility(action, inquiry(**asked))
    if name == "request":
        return payer.request_authorization(action, request(arguments[1], answers=arguments[2], **asked))
    if name == "update":
        query = request(answers=arguments[2], **asked)
        return payer.update_authorization(action, find_reference(clinic, arguments[1]), query)
    if name == "cancel":
        return payer.cancel_authorization(action, find_reference(clinic, arguments[1]), party(**asked))
    if name == "inquire":
        return payer.find_authorizations(action, party(**asked))
    if name == "appeal":
        attachments = ("A1",) if arguments[2] else ()
        return payer.appeal(action, party(**asked), find_reference(clinic, arguments[1]), "Please.", attachments)
    return payer.find_claims(action, claim_query(**asked))


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(CALLS, max_size=12))
def test_the_same_calls_give_the_same_log_and_a_replay_gives_the_same_state(calls: list[Any]) -> None:
    first, second = PayerClinic(prepared=prepare_payer()), PayerClinic(prepared=prepare_payer())
    for each in calls:
        assert call(first, *each) == call(second, *each)
    assert first.playground.log.lines == second.playground.log.lines
    rebuilt = replay({NAME: first.prepared}, first.events)[NAME]
    assert to_bytes(rebuilt.dump()) == to_bytes(first.payer.dump())
    assert rebuilt.next_due() == first.payer.next_due()


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(CALLS, max_size=12))
def test_a_rejected_call_changes_nothing_and_reveals_no_member(calls: list[Any]) -> None:
    clinic = PayerClinic(prepared=prepare_payer())
    for each in calls:
        before, events = clinic.payer.dump(), len(clinic.events)
        answer = call(clinic, *each)
        if answer is None:
            continue
        rejection = answer if isinstance(answer, Rejection) else getattr(answer, "rejection", None)
        if rejection is not None:
            assert clinic.payer.dump() == before
            assert len(clinic.events) == events + 1
        if (
            rejection is not None
            and rejection.subject in ("subscriber", "payer")
            and rejection.reason != "not_eligible"
        ):
            assert getattr(answer, "member", None) is None


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(CALLS, max_size=12))
def test_only_approvals_have_numbers_and_claims_add_up(calls: list[Any]) -> None:
    clinic = PayerClinic(prepared=prepare_payer())
    for each in calls:
        call(clinic, *each)
    numbers = [each.number for each in clinic.payer.current.authorizations.values() if each.number]
    assert len(numbers) == len(set(numbers))
    for each in clinic.payer.current.authorizations.values():
        assert (each.number is not None) or each.status not in ("approved", "modified")
        assert (each.valid_to is not None) == (each.status in ("approved", "modified"))
        assert bool(each.questions) == (each.status == "need_more_info")
        assert each.decision_due is None or each.status == "pending"
    assert all(find_sum_mistake(claim) == "" for claim in clinic.payer.current.all_claims())
