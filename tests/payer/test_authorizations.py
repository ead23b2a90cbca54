"""Authorization requests: decisions by rules, delays, questions, duplicates, updates, cancellations."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from clerkship.payer.answer import Authorization, AuthorizationAnswer
from clerkship.payer.events import AuthorizationDetermined
from clerkship.payer.inquiry import PersonQuery, RequestedService
from tests.payer.clinic import CLINIC, DOCTOR, HOSPITAL, JANE, PayerClinic, party, request

NOW = datetime(2026, 3, 2, 14, tzinfo=UTC)
TODAY = date(2026, 3, 2)
ASK_FIRST = {
    "match": {"procedure_code": "721*"},
    "status": "need_more_info",
    "questions": [
        {"id": "weeks", "text": "How many weeks of therapy?", "type": "number"},
        {"id": "urgent_signs", "text": "Warning signs?", "type": "boolean"},
    ],
    "then": [
        {"match": {"answers": {"weeks": {"gte": 6}}}, "status": "approved"},
        {"match": {"answers": {"urgent_signs": True}}, "status": "approved", "units": 2},
        {"status": "denied", "reason": "not_medically_necessary"},
    ],
}


def send(clinic: PayerClinic, *codes: str, **fields: Any) -> Authorization:
    answer = clinic.payer.request_authorization(clinic.action, request(*codes, **fields))
    assert answer.rejection is None
    [authorization] = answer.authorizations
    return authorization


def reason_of(answer: AuthorizationAnswer) -> tuple[str, str] | None:
    return (answer.rejection.reason, answer.rejection.subject) if answer.rejection else None


def clinic_with(*determinations: dict[str, Any], **config: Any) -> PayerClinic:
    return PayerClinic(determinations=list(determinations), **config)


def test_the_first_determination_that_matches_decides() -> None:
    clinic = clinic_with(
        {"match": {"procedure_code": "70553"}, "status": "denied", "reason": "wrong_test"},
        {"match": {"procedure_code": "705*"}, "status": "approved", "units": 3, "validity": "30d"},
        default_determination={"status": "denied", "reason": "unknown"},
    )
    assert (send(clinic, "70553").status, send(clinic, "70551").status) == ("denied", "approved")
    assert send(clinic, "71250").reason == "unknown"


@pytest.mark.parametrize(
    ("match", "fields", "is_match"),
    [
        ({"procedure_code": ["70551", "70553"]}, {}, True),
        ({"procedure_code": "70552-70559"}, {}, False),
        ({"procedure_code": 70551}, {}, True),
        ({"service_type": "mri_ct"}, {}, True),
        ({"service_type": ["physical_therapy"]}, {}, False),
        ({"diagnosis": "G43*"}, {"diagnoses": ("R51.9", "g43.909")}, True),
        ({"diagnosis": "G43.909"}, {"diagnoses": ("G43909",)}, True),
        ({"diagnosis": "G43*"}, {"diagnoses": ("R519",)}, False),
        ({"diagnosis": "G43*"}, {}, False),
        ({"member_id": "CM-555*"}, {}, True),
        ({"member_id": "HL*"}, {}, False),
        ({"payer": "CM002", "plan": "cedar-*"}, {}, True),
        ({"place": ["22", "21"]}, {"place": "22"}, True),
        ({"place": "22"}, {"place": "11"}, False),
        ({"place": "22"}, {}, False),
        ({"performer": HOSPITAL}, {}, False),
        ({"performer": CLINIC}, {}, True),
        ({"urgent": True}, {"is_urgent": True}, True),
        ({"urgent": True}, {}, False),
        ({"review": "referral"}, {}, False),
        ({"units_over": 3}, {"quantity": 4}, True),
        ({"units_over": 3}, {"quantity": 3}, False),
        ({"attachments": True}, {"attachments": ("A1",)}, True),
        ({"attachments": False}, {"attachments": ("A1",)}, False),
        ({"answers": {"weeks": {"gte": 6}}}, {"answers": {"weeks": 6.0}}, True),
        ({"answers": {"weeks": {"gte": 6}}}, {}, False),
    ],
)
def test_determinations_match_on_the_request(match: dict[str, Any], fields: dict[str, Any], is_match: bool) -> None:
    clinic = clinic_with({"match": match, "status": "denied"})
    assert send(clinic, "70551", **fields).status == ("denied" if is_match else "approved")


def test_a_service_has_its_own_performer_and_place() -> None:
    clinic = clinic_with(
        {"match": {"performer": HOSPITAL, "place": "22"}, "status": "denied", "reason": "site_of_service"}
    )
    service = RequestedService(procedure_code="70551", performer_id=HOSPITAL, place="22")
    other = RequestedService(procedure_code="70553", performer_id=HOSPITAL, place="11")
    authorization = send(clinic, services=(service, other), place="11")
    assert authorization.status == "modified"
    assert [each.status for each in authorization.services] == ["denied", "approved"]
    assert [each.quantity for each in authorization.services] == [0, 1]


def test_an_approval_has_a_number_units_and_validity() -> None:
    clinic = clinic_with({"status": "approved", "units": 6, "validity": "30d"})
    authorization = send(clinic, "97110", quantity=8, start=date(2026, 3, 10))
    assert authorization.number is not None
    assert authorization.number.startswith("A")
    assert (authorization.valid_from, authorization.valid_to) == (date(2026, 3, 10), date(2026, 4, 9))
    [service] = authorization.services
    assert (service.quantity, service.start, service.end) == (6, date(2026, 3, 10), date(2026, 4, 9))
    assert authorization.decided == clinic.playground.now


@pytest.mark.parametrize("status", ["denied", "pending", "need_more_info"])
def test_only_approvals_have_a_number(status: str) -> None:
    authorization = send(clinic_with({"status": status, "text": "More is needed."}), "70551")
    assert (authorization.status, authorization.number, authorization.valid_to) == (status, None, None)


def test_numbers_begin_with_the_prefixes_of_the_config() -> None:
    clinic = clinic_with(numbers={"reference": "REF", "authorization": "CMA"})
    authorization = send(clinic, "70551")
    assert authorization.id.startswith("REF")
    assert (authorization.number or "").startswith("CMA")


def test_services_that_need_no_authorization_are_answered_without_a_record() -> None:
    clinic = PayerClinic()
    answer = clinic.payer.request_authorization(clinic.action, request("99213"))
    assert (answer.is_required, answer.rejection, answer.authorizations) == (False, None, ())
    assert answer.text == "No authorization is needed for 99213."
    assert clinic.kinds == ["payer.authorization.not_required"]
    assert clinic.payer.current.authorizations == {}


def test_a_request_with_one_service_that_needs_an_authorization_is_decided_as_a_whole() -> None:
    authorization = send(clinic_with(), "99213", "70551")
    assert authorization.status == "approved"
    assert [each.reason for each in authorization.services] == ["not_required", ""]


def test_the_plan_decides_what_needs_an_authorization() -> None:
    rules = [{"plans": "cedar-*", "procedure_codes": "99213"}, {"service_types": ["mri_ct"], "required": False}]
    clinic = PayerClinic(authorization_required=rules)
    assert send(clinic, "99213").status == "approved"
    answer = clinic.payer.request_authorization(clinic.action, request("70551"))
    assert not answer.is_required


def test_a_service_that_the_plan_does_not_cover_is_denied() -> None:
    clinic = PayerClinic(
        authorization_required=[{"service_types": ["chiropractic"]}],
        plans={"cedar-select-epo": {"not_covered": ["chiropractic"]}},
    )
    authorization = send(clinic, "98940")
    assert (authorization.status, authorization.reason) == ("denied", "not_covered")


def test_a_delayed_decision_is_made_when_it_is_due() -> None:
    clinic = clinic_with({"status": "approved", "delay": "2h"})
    authorization = send(clinic, "70551")
    assert (authorization.status, authorization.number) == ("pending", None)
    assert authorization.decision_due == clinic.playground.now + timedelta(hours=2)
    assert clinic.kinds == ["payer.authorization.requested"]
    clinic.advance(hours=1, minutes=59)
    assert clinic.kinds == ["payer.authorization.requested"]
    clinic.advance(minutes=1)
    decided = clinic.events[-1]
    assert isinstance(decided.payload, AuthorizationDetermined)
    assert (decided.actor, decided.cause, decided.at) == ("system", 1, NOW + timedelta(hours=2))
    assert decided.payload.status == "approved"
    assert clinic.payer.next_due() is None


def test_a_pending_request_is_decided_by_what_follows_when_it_is_due() -> None:
    rule = {"status": "pending", "delay": "1d", "text": "In review.", "then": [{"status": "denied", "reason": "late"}]}
    clinic = clinic_with(rule)
    authorization = send(clinic, "70551")
    assert authorization.status == "pending"
    clinic.advance(days=1)
    assert clinic.payer.current.authorizations[authorization.id].reason == "late"


def test_several_decisions_due_at_one_time_are_all_made() -> None:
    clinic = clinic_with({"status": "approved", "delay": "1h"})
    for code in ("70551", "70553", "71250"):
        send(clinic, code)
    clinic.advance(hours=1)
    assert {each.status for each in clinic.payer.current.authorizations.values()} == {"approved"}
    assert len({each.number for each in clinic.payer.current.authorizations.values()}) == 3


def update(clinic: PayerClinic, reference: str, **fields: Any) -> AuthorizationAnswer:
    return clinic.payer.update_authorization(clinic.action, reference, request(**{"services": (), **fields}))


def test_a_request_with_open_questions_is_decided_by_the_answers() -> None:
    clinic = clinic_with(ASK_FIRST)
    authorization = send(clinic, "72148")
    assert authorization.status == "need_more_info"
    assert [each.id for each in authorization.questions] == ["weeks", "urgent_signs"]
    [partly] = update(clinic, authorization.id, answers={"weeks": "8"}).authorizations
    assert (partly.status, [each.id for each in partly.questions]) == ("need_more_info", ["urgent_signs"])
    [decided] = update(clinic, authorization.id, answers={"urgent_signs": "No"}).authorizations
    assert (decided.id, decided.status, decided.questions) == (authorization.id, "approved", ())
    assert decided.query.answers == {"weeks": 8.0, "urgent_signs": False}


def test_an_answer_that_does_not_fit_its_question_is_kept_as_sent() -> None:
    clinic = clinic_with(ASK_FIRST)
    [asked] = update(clinic, send(clinic, "72148").id, answers={"weeks": "some"}).authorizations
    assert (asked.status, asked.query.answers) == ("need_more_info", {"weeks": "some"})


@pytest.mark.parametrize(
    ("answers", "status", "units"),
    [
        ({"weeks": 6.0, "urgent_signs": False}, "approved", 1),
        ({"weeks": "2", "urgent_signs": "yes"}, "approved", 2),
        ({"weeks": 2.0, "urgent_signs": False}, "denied", 0),
        ({"weeks": "some", "urgent_signs": False}, "need_more_info", 1),
        ({"weeks": True, "urgent_signs": False}, "need_more_info", 1),
        ({"weeks": 2.0, "urgent_signs": "perhaps"}, "need_more_info", 1),
    ],
)
def test_answers_in_the_first_request_are_used(answers: dict[str, Any], status: str, units: float) -> None:
    authorization = send(clinic_with(ASK_FIRST), "72148", answers=answers)
    assert (authorization.status, authorization.services[0].quantity) == (status, units)


def test_a_document_answers_a_question_of_type_attachment() -> None:
    question = {"id": "notes", "text": "Send the notes.", "type": "attachment"}
    clinic = clinic_with({"status": "need_more_info", "questions": [question], "then": [{"status": "approved"}]})
    authorization = send(clinic, "72148")
    [decided] = update(clinic, authorization.id, attachments=("ATT-1",)).authorizations
    assert decided.status == "approved"
    assert decided.query.attachments == ("ATT-1",)


def test_the_same_request_is_rejected_with_the_number_of_the_earlier_one() -> None:
    clinic = clinic_with()
    first = send(clinic, "70551", start=date(2026, 3, 9))
    answer = clinic.payer.request_authorization(clinic.action, request("70551", start=date(2026, 3, 9)))
    assert reason_of(answer) == ("duplicate_request", "request")
    assert first.id in (answer.rejection.text if answer.rejection else "")
    assert send(clinic, "70551", start=date(2026, 3, 10)).status == "approved"
    assert send(clinic, "70551", "70553", start=date(2026, 3, 9)).status == "approved"


def test_the_number_of_another_providers_request_is_not_told() -> None:
    clinic = clinic_with()
    first = send(clinic, "70551")
    answer = clinic.payer.request_authorization(clinic.action, request("70551", provider_id=HOSPITAL))
    assert answer.rejection is not None
    assert answer.rejection.reason == "duplicate_request"
    assert first.id not in answer.rejection.text
    assert first.status not in answer.rejection.text


def test_a_request_can_be_repeated_after_a_denial_a_cancellation_and_the_end_of_its_validity() -> None:
    clinic = clinic_with(
        {"match": {"procedure_code": "70553"}, "status": "denied"}, {"status": "approved", "validity": "10d"}
    )
    send(clinic, "70553")
    assert send(clinic, "70553").status == "denied"
    cancelled = send(clinic, "70551")
    clinic.payer.cancel_authorization(clinic.action, cancelled.id, party())
    send(clinic, "70551")
    clinic.advance(days=11)
    assert send(clinic, "70551").status == "approved"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"services": ()}, ("missing_request_data", "request")),
        ({"services": (RequestedService(procedure_code=" "),)}, ("missing_request_data", "request")),
        ({"start": date(2026, 3, 9), "end": date(2026, 3, 8)}, ("invalid_service", "request")),
        (
            {"services": (RequestedService(procedure_code="70551", start=date(2026, 3, 9), end=date(2026, 3, 8)),)},
            ("invalid_service", "request"),
        ),
        ({"start": date(2020, 1, 1)}, ("service_date_too_early", "request")),
        (
            {"services": (RequestedService(procedure_code="70551", start=date(2028, 1, 1)),)},
            ("service_date_too_late", "request"),
        ),
        ({"start": date(2026, 7, 1)}, ("not_eligible", "subscriber")),
        ({"provider_id": "1"}, ("unknown_provider", "provider")),
        ({"payer_id": "X"}, ("unknown_payer", "payer")),
        ({"subscriber": PersonQuery(member_id="CM9", birth_date=date(1980, 5, 17))}, ("unknown_member", "subscriber")),
        (
            {"start": date(2026, 7, 1), "dependent": PersonQuery(given="Tim", birth_date=date(2015, 3, 1))},
            ("not_eligible", "dependent"),
        ),
    ],
)  # fmt: skip
def test_a_rejected_request_changes_nothing(fields: dict[str, Any], reason: tuple[str, str]) -> None:
    clinic = PayerClinic(
        members=[{**JANE, "coverages": [{"plan": "cedar-select-epo", "start": "2024-01-01", "end": "2026-06-30"}]}]
    )
    before = clinic.payer.dump()
    answer = clinic.payer.request_authorization(clinic.action, request("70551", **fields))
    assert reason_of(answer) == reason
    assert clinic.kinds == ["payer.authorization.rejected"]
    assert clinic.payer.dump() == before


def test_an_admission_needs_no_procedure() -> None:
    clinic = PayerClinic()
    answer = clinic.payer.request_authorization(
        clinic.action, request(review="admission", services=(), is_urgent=True, start=date(2026, 3, 3))
    )
    [authorization] = answer.authorizations
    assert (authorization.status, authorization.services) == ("approved", ())


def test_an_approval_is_revised_under_the_same_numbers() -> None:
    clinic = clinic_with({"match": {"units_over": 12}, "status": "modified", "units": 12}, {"status": "approved"})
    first = send(clinic, "97110", quantity=6)
    more = RequestedService(procedure_code="97110", quantity=20)
    [revised] = update(clinic, first.number or "", services=(more,)).authorizations
    assert (revised.id, revised.number) == (first.id, first.number)
    assert (revised.status, revised.services[0].quantity) == ("modified", 12)
    assert clinic.kinds[-2:] == ["payer.authorization.updated", "payer.authorization.determined"]


def test_updates_that_cannot_be_processed_are_rejected() -> None:
    clinic = clinic_with(
        {"match": {"procedure_code": "70553"}, "status": "denied"}, {"status": "approved", "validity": "5d"}
    )
    denied, approved = send(clinic, "70553"), send(clinic, "70551")
    assert reason_of(update(clinic, "R1", note="x")) == ("unknown_authorization", "request")
    assert reason_of(update(clinic, denied.id, note="x")) == ("authorization_closed", "request")
    assert reason_of(update(clinic, approved.id)) == ("missing_request_data", "request")
    assert reason_of(update(clinic, approved.id, note="x", provider_id=HOSPITAL)) == (
        "provider_not_allowed",
        "provider",
    )
    child = PersonQuery(given="Tim", birth_date=date(2015, 3, 1))
    assert reason_of(update(clinic, approved.id, note="x", dependent=child)) == ("unknown_authorization", "request")
    clinic.advance(days=6)
    assert reason_of(update(clinic, approved.id, note="x")) == ("authorization_closed", "request")


def test_an_update_with_nothing_but_other_traces_is_rejected() -> None:
    clinic = clinic_with({"status": "approved", "delay": "2h"})
    sent = RequestedService(procedure_code="70551", trace="T1S")
    first = send(clinic, services=(sent,), trace="T1")
    clinic.advance(hours=1)
    again = sent.model_copy(update={"trace": "T2S"})
    answer = update(clinic, first.id, services=(again,), trace="T2")
    assert reason_of(answer) == ("missing_request_data", "request")
    clinic.advance(hours=1)
    assert clinic.payer.current.authorizations[first.id].status == "approved"


def test_an_update_can_make_a_request_urgent() -> None:
    clinic = clinic_with({"match": {"urgent": True}, "status": "approved"}, {"status": "denied", "delay": "2d"})
    first = send(clinic, "70551")
    [urgent] = update(clinic, first.id, is_urgent=True).authorizations
    assert urgent.status == "approved"


def test_an_update_does_not_wait_for_a_decision_that_was_due() -> None:
    clinic = clinic_with({"match": {"attachments": True}, "status": "approved"}, {"status": "denied", "delay": "1d"})
    first = send(clinic, "70551")
    update(clinic, first.id, attachments=("A1",))
    clinic.advance(days=2)
    assert clinic.payer.current.authorizations[first.id].status == "approved"


def test_a_request_is_cancelled_once_and_only_by_its_provider() -> None:
    clinic = clinic_with({"status": "approved", "delay": "1d"})
    first = send(clinic, "70551")
    cancel = clinic.payer.cancel_authorization
    assert reason_of(cancel(clinic.action, first.id, party(provider_id=HOSPITAL))) == (
        "provider_not_allowed",
        "provider",
    )
    [cancelled] = cancel(clinic.action, first.id, party(provider_id=DOCTOR)).authorizations
    assert cancelled.status == "cancelled"
    assert [each.status for each in cancelled.services] == ["cancelled"]
    assert reason_of(cancel(clinic.action, first.id, party())) == ("authorization_closed", "request")
    clinic.advance(days=2)
    assert clinic.payer.current.authorizations[first.id].status == "cancelled"


def test_an_inquiry_returns_what_the_provider_may_read() -> None:
    clinic = clinic_with()
    first = send(clinic, "70551")
    elsewhere = RequestedService(procedure_code="70553", performer_id=HOSPITAL)
    second = send(clinic, services=(elsewhere,))
    find = clinic.payer.find_authorizations
    assert [each.id for each in find(clinic.action, party()).authorizations] == [first.id, second.id]
    assert [each.id for each in find(clinic.action, party(provider_id=HOSPITAL)).authorizations] == [second.id]
    assert [each.id for each in find(clinic.action, party(), first.number).authorizations] == [first.id]
    assert find(clinic.action, party(), "A0").authorizations == ()
    child = PersonQuery(given="Tim", birth_date=date(2015, 3, 1))
    assert find(clinic.action, party(dependent=child)).authorizations == ()


def test_the_shipped_rules_ask_before_imaging_of_the_spine_and_reduce_long_therapy() -> None:
    clinic = PayerClinic()
    assert send(clinic, "72148").status == "need_more_info"
    therapy = send(clinic, "97110", quantity=20)
    assert (therapy.status, therapy.services[0].quantity) == ("modified", 12)
    assert send(clinic, "70450").status == "approved"


DENIED_UNLESS_TREATED: list[dict[str, Any]] = [
    {"match": {"answers": {"weeks": {"gte": 6}}}, "status": "approved"},
    {"status": "denied", "reason": "not_medically_necessary"},
]


def test_a_physician_of_the_payer_reviews_a_denial_with_new_answers() -> None:
    clinic = clinic_with(*DENIED_UNLESS_TREATED)
    denied = send(clinic, "72148")
    answer = clinic.payer.review_denial(clinic.action, denied.id, request(answers={"weeks": 8.0}))
    [reviewed] = answer.authorizations
    assert (denied.status, reviewed.status, reviewed.id) == ("denied", "approved", denied.id)
    again = clinic.payer.review_denial(clinic.action, denied.id, request(answers={"weeks": 9.0}))
    assert reason_of(again) == ("authorization_closed", "request")


def test_a_review_without_anything_new_or_too_late_is_rejected() -> None:
    clinic = clinic_with(*DENIED_UNLESS_TREATED, peer_review_period="14d")
    denied = send(clinic, "72148")
    nothing_new = clinic.payer.review_denial(clinic.action, denied.id, request())
    assert reason_of(nothing_new) == ("missing_request_data", "request")
    clinic.advance(days=15)
    late = clinic.payer.review_denial(clinic.action, denied.id, request(answers={"weeks": 8.0}))
    assert reason_of(late) == ("authorization_closed", "request")
    assert late.rejection is not None
    assert "is over" in late.rejection.text
