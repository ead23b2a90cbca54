"""Calls to lines that ask the payer and look into the chart."""

from typing import Any

from clerkship.payer.steps import PayerSetAuthorization
from clerkship.simulators.voice.events import FarEndSpoke, HookRun
from clerkship.simulators.voice.handle import Voice
from tests.payer.office import CLINIC_NPI, Office

PAYER_LINE = "+15550100201"
PHARMACY_LINE = "+15550100202"
MAILBOXES = ("provider_services", "prescribers", "pharmacy")
PHONE = {
    "kind": "voice",
    "config": {
        "mailboxes": [{"name": name} for name in MAILBOXES],
        "lines": [
            {
                "number": PAYER_LINE,
                "name": "Cedar Mutual",
                "tree": "provider_line",
                "representatives": {"representative": "provider_representative"},
            },
            {
                "number": PHARMACY_LINE,
                "name": "Pharmacy",
                "tree": "pharmacy",
                "representatives": {"pharmacist": "pharmacist"},
            },
        ],
    },
}
MEMBER = "CM232420990"
READS_CHART = "phone.chart.asked -> ehr"


class CallingOffice(Office):
    """An office with a telephone, in a call."""

    def __init__(self, *reactions: str) -> None:
        super().__init__(simulators={"phone": PHONE}, reactions=reactions)
        self.phone = self.sandboxes.get_as(Voice)
        self.member = self.members[f"CM002/{MEMBER}/0"]

    def answer(self, call: Any, *replies: str) -> str:
        """Listen before each reply, press keys or say words, and return what is heard at the end."""
        for reply in replies:
            self.phone.listen(call)
            if set(reply) <= set("0123456789*#"):
                self.phone.press(call, reply)
            else:
                self.phone.say(call, reply)
        return self.phone.listen(call)

    def list_hooks(self) -> list[tuple[str, str]]:
        payloads = [event.payload for event in self.playground.log.events]
        return [(each.hook, each.outcome) for each in payloads if isinstance(each, HookRun)]

    def record_authorization(self, **fields: Any) -> None:
        step = PayerSetAuthorization.model_validate(
            {
                "reference": "REF000111222",
                "payer": "CM002",
                "member_id": MEMBER,
                "provider_id": CLINIC_NPI,
                "status": "approved",
                "number": "AU881204",
                "valid_to": "2026-05-31",
                "services": [{"procedure_code": "72148"}],
                **fields,
            }
        )
        self.playground.steps.run(step)
        assert self.playground.steps.errors == []


def test_line_reads_out_an_authorization_after_a_wrong_birth_date() -> None:
    office = CallingOffice()
    office.record_authorization()
    call = office.phone.dial(PAYER_LINE)
    spelled = " ".join(MEMBER)
    wrong, right = "01011901", f"{office.member.birth_date:%m%d%Y}"
    heard = office.answer(call, CLINIC_NPI, "2", spelled, wrong, spelled, right, "1")
    assert office.list_hooks() == [
        ("payer.find_provider", "found"),
        ("payer.find_member", "not_found"),
        ("payer.find_member", "found"),
        ("payer.find_authorization", "approved"),
    ]
    assert office.member.family in heard
    assert "May 31" in heard
    verified = [event for event in office.playground.log.events if event.kind == "voice.identity.verified"]
    assert [getattr(event.payload, "member_id", "") for event in verified] == [MEMBER]


def test_representative_does_not_ask_for_the_npi_that_the_line_collected() -> None:
    office = CallingOffice()
    office.record_authorization()
    call = office.phone.dial(PAYER_LINE)
    office.answer(call, CLINIC_NPI, "0")
    office.phone.wait(call, 3600)
    heard = " ".join(
        each.payload.text for each in office.playground.log.events if isinstance(each.payload, FarEndSpoke)
    )
    assert "my name is Dana. What is the member ID?" in heard
    assert "May I have your NPI" not in heard


def test_representative_looks_up_the_authorization_whose_number_is_stated() -> None:
    office = CallingOffice()
    office.record_authorization()
    call = office.phone.dial(PAYER_LINE)
    office.answer(call, CLINIC_NPI, "0")
    while "Dana" not in office.phone.listen(call):
        pass
    born = f"{office.member.birth_date:%B %d, %Y}"
    office.phone.say(call, f"The member ID is {' '.join(MEMBER)}, born {born}.")
    unknown = office.answer(call, "What is the status of authorization number A U 9 9 9 9 9 9?")
    office.phone.say(call, "And what is the status of authorization number A U 8 8 1 2 0 4?")
    known = office.phone.listen(call)
    found = [outcome for hook, outcome in office.list_hooks() if hook == "payer.find_authorization"]
    assert found == ["not_found", "approved"]
    assert "I don't see that authorization" in unknown
    assert "May 31" in known


def reach_representative(office: CallingOffice) -> Any:
    """Return a call in which the representative has verified the member."""
    call = office.phone.dial(PAYER_LINE)
    office.answer(call, CLINIC_NPI, "0")
    while "Dana" not in office.phone.listen(call):
        pass
    office.phone.say(call, f"The member ID is {MEMBER}, born {office.member.birth_date:%B %d, %Y}.")
    assert "How can I help you" in office.phone.listen(call)
    return call


def test_representative_speaks_of_the_procedure_that_is_asked_about() -> None:
    office = CallingOffice()
    pending = {"status": "pending", "number": None, "valid_to": None}
    office.record_authorization(reference="REF000000001", **pending)
    office.record_authorization(reference="REF000000002", services=[{"procedure_code": "97110"}])
    call = reach_representative(office)
    required = office.answer(call, "Does an MRI of the lumbar spine, 72148, need prior authorization?")
    assert "procedure code 7, 2, 1, 4, 8. It is pending" in required
    by_code = office.answer(call, "What is the status of the authorization for 72148?")
    assert "That request is pending. It is for procedure code 7, 2, 1, 4, 8" in by_code
    by_words = office.answer(call, "And is the authorization for the lumbar MRI approved?")
    assert "7, 2, 1, 4, 8" in by_words
    assert "don't see that authorization" in office.answer(call, "What is the status of the authorization for 70551?")
    assert "Yes, procedure code 7, 0, 5, 5, 1 needs" in office.answer(call, "Does 70551 need prior authorization?")
    assert "No, procedure code 9, 9, 2, 1, 3 does not" in office.answer(call, "Is an auth required for 99213?")


def test_representative_says_what_is_left_of_the_deductible() -> None:
    office = CallingOffice()
    call = reach_representative(office)
    heard = office.answer(call, "How much of the deductible is left?")
    [run] = [
        each.payload
        for each in office.playground.log.events
        if isinstance(each.payload, HookRun) and each.payload.hook == "payer.check_eligibility"
    ]
    assert f"${float(run.values['deductible_left']):,.2f} left of the individual deductible" in heard


def test_payer_logs_what_a_call_asks_with_the_call_as_its_cause() -> None:
    office = CallingOffice()
    call = office.phone.dial(PAYER_LINE)
    office.answer(call, CLINIC_NPI, "1", " ".join(MEMBER), f"{office.member.birth_date:%m%d%Y}")
    events = {event.seq: event for event in office.playground.log.events}
    [checked] = [event for event in events.values() if event.kind == "payer.eligibility.checked"]
    assert checked.cause is not None
    assert events[checked.cause].source == "phone"


def dial_for_refill(office: CallingOffice, number: str) -> str:
    call = office.phone.dial(PHARMACY_LINE)
    return office.answer(call, "1", number)


def add_prescription(office: CallingOffice) -> None:
    [prescription] = office.ehr.search("MedicationRequest", _id="med-0001-allopurinol")
    prescription["identifier"] = [{"system": "https://pharmacy.example/rx", "value": "7001234"}]
    office.ehr.update(prescription)


def test_line_sees_changes_of_the_chart_through_a_reaction() -> None:
    office = CallingOffice(READS_CHART)
    assert "could not find" in dial_for_refill(office, "7001234#")
    add_prescription(office)
    dial_for_refill(office, "7001234#")
    found = [each for each in office.list_hooks() if each[0] == "chart.find_prescription"]
    assert found[0] == ("chart.find_prescription", "not_found")
    assert found[-1] == ("chart.find_prescription", "refillable")


def test_line_reads_the_datasets_without_a_reaction() -> None:
    office = CallingOffice()
    add_prescription(office)
    dial_for_refill(office, "7001234#")
    assert ("chart.find_prescription", "refillable") not in office.list_hooks()
