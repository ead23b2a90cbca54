"""Hooks of phone trees: what they find at the payer and in the chart, and what they change."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import cache
from typing import Any

import pytest

from clerkship.formats.fhir.chart import Chart, load_chart
from clerkship.payer.answer import Member
from clerkship.payer.inquiry import ClaimQuery, PersonQuery, RequestedService
from clerkship.payer.steps import PayerSetAuthorization, PayerSetEligibility
from clerkship.simulators.voice.hooks.contract import CaseTable, HookContext, HookResult
from clerkship.simulators.voice.hooks.registry import HOOKS
from clerkship.simulators.voice.records import PhoneCall
from tests.payer.office import CLINIC_NPI, Office, build_inquiry, load_clinic_100

HOSPITAL_NPI = "9999900027"
DENIED_CLAIM = {
    "number": "CLM770318254",
    "payer": "CM002",
    "member_id": "CM232420990",
    "provider_id": CLINIC_NPI,
    "status": "denied",
    "reason": "missing_authorization",
    "charge": 1240,
    "start": "2026-02-10",
    "received": "2026-02-12",
    "status_date": "2026-02-24",
    "lines": [{"procedure_code": "72148", "charge": 1240, "status": "denied"}],
}


@cache
def chart_of_clinic() -> Chart:
    return load_chart([load_clinic_100()])


class Line:
    """A phone line of an office, in a call."""

    def __init__(self, **config: Any) -> None:
        self.office = Office(**config)
        self.cases = CaseTable()
        now = datetime(2026, 3, 2, tzinfo=UTC)
        self.call = PhoneCall("call_1", "outbound", "+15550100100", "+15550100200", now, now, "phone", seq=1)

    def run(self, hook_name: str, values: Mapping[str, str] | None = None, /, **arguments: str) -> HookResult:
        hook = HOOKS.get(hook_name)
        assert hook is not None
        action = self.office.playground.context_for("phone", "agent")
        context = HookContext(action, self.call, chart_of_clinic(), self.cases)
        result = hook.run(context, hook.complete(arguments, values or {}))
        assert result.outcome in hook.outcomes
        assert result.values.keys() <= set(hook.outputs)
        return result

    def ask(self, hook_name: str, member: Member, /, **arguments: str) -> HookResult:
        """Run a hook of the payer as the clinic, about a member."""
        return self.run(hook_name, describe(member), **arguments)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.office.playground.log.events]

    def find_active(self, payer_id: str = "CM002") -> Member:
        members = sorted(self.office.members.values(), key=lambda each: each.key)
        return next(
            each
            for each in members
            if each.payer_id == payer_id and each.key.endswith("/0") and each.coverages[0].end is None
        )


def describe(member: Member) -> dict[str, str]:
    return {
        "payer_id": member.payer_id,
        "npi": CLINIC_NPI,
        "member_id": member.member_id,
        "birth_date": member.birth_date.isoformat(),
    }


def test_member_is_found_by_member_id_and_birth_date() -> None:
    line = Line()
    member = line.find_active()
    result = line.ask("payer.find_member", member)
    assert result == ("found", {"member_name": " ".join((*member.given, member.family)), "member_id": member.member_id})
    assert line.kinds == []  # to identify a caller is no inquiry about eligibility


@pytest.mark.parametrize(
    "wrong",
    [
        {"birth_date": "1901-01-01"},
        {"birth_date": "13/45/2020"},
        {"birth_date": ""},
        {"member_id": "CM000000000"},
        {"member_id": ""},
        {"npi": "0000000000"},
        {"payer_id": "NONE"},
    ],
)
def test_member_is_not_found_if_any_entry_is_wrong(wrong: dict[str, str]) -> None:
    line = Line()
    for name in ("payer.find_member", "payer.check_eligibility", "payer.find_authorization"):
        assert line.ask(name, line.find_active(), **wrong) == ("not_found", {})


def test_birth_date_is_accepted_as_eight_digits_with_the_month_first() -> None:
    line = Line()
    member = line.find_active()
    assert line.ask("payer.find_member", member, birth_date=f"{member.birth_date:%m%d%Y}").outcome == "found"


def test_eligibility_is_that_which_the_payer_answers_over_other_interfaces() -> None:
    line = Line()
    for member in sorted(line.office.members.values(), key=lambda each: each.key)[:40]:
        if not member.key.endswith("/0"):
            continue
        payer, action = line.office.payer
        answer = payer.check_eligibility(action, build_inquiry(member))
        result = line.ask("payer.check_eligibility", member)
        assert result.outcome == ("active" if answer.status == "active" else "inactive")
        assert answer.coverage is not None
        assert result.values["plan_name"] == answer.coverage.plan_name
    assert "payer.eligibility.checked" in line.kinds


def test_member_whose_policy_has_ended_is_inactive() -> None:
    line = Line()
    member = line.find_active()
    assert line.ask("payer.check_eligibility", member).values["copay"] == "25.00"
    line.office.playground.steps.run(
        PayerSetEligibility.model_validate({"member_id": member.member_id, "payer": "CM002", "end": "2026-01-31"})
    )
    assert line.office.playground.steps.errors == []
    assert line.ask("payer.find_member", member).outcome == "inactive"
    result = line.ask("payer.check_eligibility", member)
    assert (result.outcome, result.values["coverage_end"]) == ("inactive", "2026-01-31")


def record_authorization(line: Line, member: Member, reference: str, **fields: Any) -> None:
    step = PayerSetAuthorization(
        **{
            "reference": reference,
            "payer": member.payer_id,
            "member_id": member.member_id,
            "provider_id": CLINIC_NPI,
            "services": (RequestedService(procedure_code="72148"),),
            **fields,
        }
    )
    line.office.playground.steps.run(step)
    assert line.office.playground.steps.errors == []


def test_authorization_is_found_by_its_number_or_its_digits() -> None:
    line = Line()
    member = line.find_active()
    assert line.ask("payer.find_authorization", member) == ("not_found", {})
    approved = {"status": "approved", "number": "AU-881-204", "valid_to": date(2026, 5, 31)}
    record_authorization(line, member, "REF000111222", requested=date(2026, 2, 1), **approved)
    denial = {"status": "denied", "reason": "not_medically_necessary", "requested": date(2026, 2, 20)}
    record_authorization(line, member, "REF000333444", **denial)
    for reference in ("AU-881-204", "au 881 204", "881204", "REF000111222", "000111222"):
        result = line.ask("payer.find_authorization", member, reference=reference)
        assert (result.outcome, result.values["reference"]) == ("approved", "AU-881-204")
    assert (result.values["service"], result.values["valid_until"]) == ("72148", "2026-05-31")
    assert line.ask("payer.find_authorization", member, reference="999") == ("not_found", {})
    newest = line.ask("payer.find_authorization", member)
    assert (newest.outcome, newest.values["reason"]) == ("denied", "not medically necessary")


def test_cancelled_authorization_is_found_only_by_its_number() -> None:
    line = Line()
    member = line.find_active()
    record_authorization(line, member, "REF5", status="cancelled")
    assert line.ask("payer.find_authorization", member) == ("not_found", {})
    result = line.ask("payer.find_authorization", member, reference="REF5")
    assert (result.outcome, result.values["status"]) == ("denied", "cancelled")


def test_authorization_of_another_provider_is_not_found() -> None:
    line = Line()
    member = line.find_active()
    record_authorization(line, member, "REF7", status="pending", provider_id=HOSPITAL_NPI)
    assert line.ask("payer.find_authorization", member, reference="REF7") == ("not_found", {})
    assert line.ask("payer.find_authorization", member, reference="REF7", npi=HOSPITAL_NPI).outcome == "pending"


def test_authorization_number_of_another_member_is_not_found() -> None:
    line = Line()
    first, second = [
        each for _, each in sorted(line.office.members.items()) if each.payer_id == "CM002" and each.key.endswith("/0")
    ][:2]
    record_authorization(line, first, "REF8", status="pending")
    assert line.ask("payer.find_authorization", second, reference="REF8") == ("not_found", {})


ASKED_BY_PHONE = {"procedure_code": "72148", "diagnosis": "M54.16", "service_date": "2026-03-16"}


def test_request_is_taken_by_phone_once() -> None:
    line = Line(determinations=[{"status": "pending"}])
    member = line.find_active()
    taken = line.ask("payer.request_authorization", member, **ASKED_BY_PHONE, place="22", urgent="yes")
    assert taken.outcome == "pending"
    [request] = line.office.payer[0].current.authorizations.values()
    assert (request.id, request.query.diagnoses, request.query.place) == (taken.values["reference"], ("M5416",), "22")
    assert (request.query.is_urgent, request.query.services[0].start) == (True, date(2026, 3, 16))
    assert line.ask("payer.request_authorization", member, **ASKED_BY_PHONE).outcome == "duplicate"


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({"procedure_code": "99213"}, "not_required"),
        ({"service_date": "2031-01-01"}, "rejected"),
        ({"service_date": ""}, "not_found"),
        ({"diagnosis": ""}, "not_found"),
        ({"birth_date": "1901-01-01"}, "not_found"),
    ],
)
def test_request_by_phone_that_is_not_taken_has_an_outcome_of_its_own(changed: dict[str, str], outcome: str) -> None:
    line = Line()
    result = line.ask("payer.request_authorization", line.find_active(), **{**ASKED_BY_PHONE, **changed})
    assert result.outcome == outcome
    assert line.office.payer[0].current.authorizations == {}


def test_denial_is_reviewed_with_answers_that_are_told_by_phone() -> None:
    rules = [{"match": {"answers": {"weeks": {"gte": 6}}}, "status": "approved"}, {"status": "denied"}]
    line = Line(determinations=rules)
    member = line.find_active()
    denied = line.ask("payer.request_authorization", member, **ASKED_BY_PHONE)
    digits = "".join(each for each in denied.values["reference"] if each.isdigit())
    assert line.ask("payer.review_denial", member, reference="R1", answers="weeks: 8").outcome == "not_found"
    assert line.ask("payer.review_denial", member, reference=digits, answers="weeks: 3").outcome == "denied"
    reviewed = line.ask("payer.review_denial", member, reference=digits, answers="weeks: 8; kind: therapy")
    assert (denied.outcome, reviewed.outcome) == ("denied", "approved")


def test_claim_is_that_which_the_payer_has() -> None:
    line = Line(claims=[DENIED_CLAIM])
    payer, action = line.office.payer
    checked: set[str] = set()
    for member in sorted(line.office.members.values(), key=lambda each: each.key):
        if not member.key.endswith("/0"):
            continue
        person = PersonQuery(member_id=member.member_id, birth_date=member.birth_date)
        query = ClaimQuery(payer_id=member.payer_id, provider_id=CLINIC_NPI, subscriber=person)
        for claim in payer.find_claims(action, query).claims:
            result = line.ask("payer.find_claim", member, claim_number=claim.number)
            expected = {"received": "pending", "pended": "pending"}.get(claim.status, claim.status)
            assert (result.outcome, result.values["claim_number"]) == (expected, claim.number)
            by_day = line.ask("payer.find_claim", member, service_date=claim.start.isoformat())
            assert by_day.values["service_date"] == claim.start.isoformat()
            checked.add(result.outcome)
    assert checked == {"paid", "pending", "denied"}


def test_claim_needs_a_number_or_a_day_of_service() -> None:
    line = Line()
    assert line.ask("payer.find_claim", line.find_active()) == ("not_found", {})
    assert line.ask("payer.find_claim", line.find_active(), claim_number="1") == ("not_found", {})


def test_provider_is_found_by_npi() -> None:
    line = Line()
    assert line.run("payer.find_provider", npi=CLINIC_NPI) == (
        "found",
        {"provider_name": "Riverbend Family Health Center"},
    )
    assert line.run("payer.find_provider", npi="123") == ("not_found", {})


def test_patient_is_found_by_name_birth_date_or_phone() -> None:
    line = Line()
    found = ("found", {"patient": "Patient/pat-0001", "patient_name": "Benjamin Northcott"})
    assert line.run("chart.find_patient", name="benjamin northcott", birth_date="1962-01-02") == found
    assert line.run("chart.find_patient", birth_date="01021962") == found
    assert line.run("chart.find_patient", mrn="8525024") == found
    assert line.run("chart.find_patient", name="Benjamin Northcott", birth_date="1962-01-03") == ("not_found", {})
    assert line.run("chart.find_patient", name="Alice Northcott", birth_date="1962-01-02") == ("not_found", {})
    assert line.run("chart.find_patient", name="") == ("not_found", {})


def test_several_patients_with_one_name_are_not_told_apart() -> None:
    line = Line()
    families = [
        chart_of_clinic()[key].split(b'"family":"')[-1].split(b'"')[0].decode()
        for key in chart_of_clinic().list_keys("Patient")
    ]
    shared = next(each for each in families if families.count(each) > 1)
    assert line.run("chart.find_patient", name=shared) == ("several", {})


def test_prescription_has_refills_while_it_is_active() -> None:
    line = Line()
    result = line.run("chart.find_prescription", prescription_number="med-0001-allopurinol")
    assert (result.outcome, result.values["medication"]) == ("refillable", "allopurinol 100 mg")
    assert (result.values["refills"], result.values["patient"]) == ("3", "Patient/pat-0001")
    stopped = line.run("chart.find_prescription", prescription_number="med-0001-amlodipine")
    assert stopped.outcome == "no_refills"
    assert line.run("chart.find_prescription", prescription_number="7") == ("not_found", {})
    number = "med-0001-allopurinol"
    other = line.run("chart.find_prescription", prescription_number=number, patient="Patient/pat-0002")
    assert other == ("not_found", {})


def test_next_appointment_is_found_and_past_ones_are_not() -> None:
    line = Line()
    results = {
        key: line.run("chart.find_appointment", patient=key) for key in chart_of_clinic().list_keys("Patient")[:60]
    }
    dates = [each.values["appointment_date"] for each in results.values() if each.outcome == "found"]
    assert dates
    assert min(dates) >= "2026-03-02"
    assert any(each.outcome == "not_found" for each in results.values())
    assert line.run("chart.find_appointment", patient="") == ("not_found", {})


def test_values_of_earlier_hooks_serve_required_arguments_only() -> None:
    line = Line()
    number, other = "med-0001-allopurinol", {"patient": "Patient/pat-0002"}
    assert line.run("chart.find_prescription", other, prescription_number=number).outcome == "refillable"
    keys = chart_of_clinic().list_keys("Patient")[:60]
    results = {key: line.run("chart.find_appointment", {"patient": key}) for key in keys}
    assert any(each.outcome == "found" for each in results.values())
    assert results == {key: line.run("chart.find_appointment", patient=key) for key in keys}


def test_practitioner_is_found_by_npi() -> None:
    line = Line()
    found = line.run("chart.find_practitioner", npi="9999910000")
    assert found == ("found", {"practitioner": "Solange Toussaint, MD"})
    for npi in ("9999999999", "", "99999,10000"):
        assert line.run("chart.find_practitioner", npi=npi) == ("not_found", {})


def test_case_has_a_new_number_each_time_and_is_logged() -> None:
    line = Line()
    numbers = [line.run("office.open_case", subject="Late claim").values["case_number"] for _ in range(2)]
    assert len(set(numbers)) == 2
    assert all(len(each) == 8 and each.isdigit() for each in numbers)
    logged = [event.payload for event in line.office.playground.log.events if event.kind == "voice.case.opened"]
    assert [getattr(each, "reference", "") for each in logged] == numbers
    again = Line()
    assert again.run("office.open_case", subject="Late claim").values["case_number"] == numbers[0]


def test_newest_case_of_a_member_is_found() -> None:
    line = Line()
    numbers = [
        line.run("office.open_case", subject="Review", member_id=member).values["case_number"]
        for member in ("CM1", "CM2", "CM1", "")
    ]
    for event in line.office.playground.log.events:
        line.cases.apply(event)
    assert line.run("office.find_case", member_id="CM1") == ("found", {"case_number": numbers[2]})
    assert line.run("office.find_case", member_id="CM2") == ("found", {"case_number": numbers[1]})
    assert line.run("office.find_case", member_id="CM3") == ("not_found", {})
    assert line.run("office.find_case", member_id="") == ("not_found", {})


def test_callback_needs_a_phone_number() -> None:
    line = Line()
    assert line.run("office.book_callback", phone="call me") == ("invalid", {})
    assert line.kinds == []
    assert line.run("office.book_callback", phone="(555) 010-0123", at="tomorrow") == (
        "booked",
        {"callback_number": "+15550100123"},
    )
    assert line.kinds == ["voice.callback.booked"]


def test_argument_that_is_not_given_is_the_value_of_its_name() -> None:
    line = Line()
    member = line.find_active()
    assert line.run("payer.find_member", describe(member)).outcome == "found"
    assert line.run("payer.find_member", describe(member), member_id="").outcome == "not_found"


def test_hooks_have_unique_inputs_and_outcomes() -> None:
    for name, hook in HOOKS.items():
        assert hook.name == name
        assert name.count(".") == 1
        assert hook.outcomes
        assert len(set(hook.outcomes)) == len(hook.outcomes)
        assert not set(hook.inputs) & set(hook.optional)
        assert hook.summary.endswith(".")
