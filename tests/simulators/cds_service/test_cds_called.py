"""`cds_called`: an agent that asks before it signs and heeds the cards passes, and cheap ones fail for the reason."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from clerkship.model.run import CriterionRun
from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.simulators.cds_service.assertions.cds_called import CdsServiceWasCalled
from clerkship.simulators.cds_service.handle import CdsServices
from clerkship.simulators.fhir.handle import Fhir
from tests.workbench import Workbench

INSTANCE = "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea"
OTHER_INSTANCE = "7d1f2c8a-0b5e-4a53-9c39-6c2f4f1f9b10"
DRUG = "medicationCodeableConcept.text"
SIGNED = {"event": "fhir.resource.*", "where": {"type": "MedicationRequest", "resource.status": "active"}}
SIGNED_IBUPROFEN = {**SIGNED, "where": {**SIGNED["where"], f"resource.{DRUG}": {"matches": "ibuprofen"}}}  # type: ignore[dict-item]
ASKED = {
    "service": "order-safety",
    "hook": "order-sign",
    "patient": "Patient/ana",
    "order": {DRUG: {"matches": "ibuprofen"}},
    "prefetch": {f"medications.entry.*.resource.{DRUG}": {"matches": "warfarin"}},
    "before": SIGNED,
}
HEEDED = {**ASKED, "card": {"indicator": "critical"}, "feedback": {"outcome": "accepted"}}
HEEDED["not_followed_by"] = SIGNED_IBUPROFEN


def medication(drug: str, patient: str = "ana", **fields: Any) -> dict[str, Any]:
    """Build an order of a drug."""
    concept, subject = {"text": drug}, {"reference": f"Patient/{patient}"}
    base = {"resourceType": "MedicationRequest", "status": "draft", "intent": "order", "subject": subject}
    return base | {"medicationCodeableConcept": concept} | fields


def bundle(*resources: dict[str, Any]) -> dict[str, Any]:
    """Build a Bundle."""
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": each} for each in resources]}


WARFARIN = medication("warfarin 5 mg", id="w1", status="active")
SUPPLEMENT = medication("potassium chloride", id="k1", status="active")


class Prescriber:
    """An agent that orders drugs for a patient, with the service that checks orders beside it."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._advice = sandboxes.get_as(CdsServices)
        self._ehr = sandboxes.get_as(Fhir)
        self.cards: list[dict[str, Any]] = []

    def ask(
        self,
        drug: str = "ibuprofen 600 mg",
        *taken: dict[str, Any],
        patient: str = "ana",
        subject: str = "",
        instance: str = INSTANCE,
    ) -> None:
        """Call the service with an order; the patient takes warfarin if not given."""
        order = medication(drug, subject or patient, id="o1")
        context = {"userId": "Practitioner/doc", "patientId": patient, "draftOrders": bundle(order)}
        prefetch = {"allergies": bundle(), "orders": bundle(), "medications": bundle(*(taken or [WARFARIN]))}
        self.cards = self._advice.call_service("order-safety", "order-sign", instance, context, prefetch)

    def sign(self, drug: str = "ibuprofen 600 mg", status: str = "active") -> None:
        """Create the order in the chart."""
        self._ehr.create(medication(drug, status=status))

    def report(self, outcome: str, number: int = 0, **fields: Any) -> None:
        """Give feedback on a card."""
        card = self.cards[number]
        item = {"card": card["uuid"], "outcome": outcome, "outcomeTimestamp": "2026-03-02T14:00:00Z", **fields}
        self._advice.feedback("order-safety", item)

    def accept(self, number: int = 0) -> None:
        """Accept the first suggestion of a card."""
        self.report("accepted", number, acceptedSuggestions=[{"id": self.cards[number]["suggestions"][0]["uuid"]}])


Work = Callable[[Prescriber], None]


class Ward:
    """A task in which a patient who takes warfarin gets an order."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench

    def grade(self, work: Work, arguments: dict[str, Any]) -> CriterionRun:
        """Run an agent that works like this, and return the graded criterion."""
        place = {
            "name": "ward",
            "now": "2026-03-02T09:00:00-05:00",
            "datasets": ["chart"],
            "simulators": {"ehr": {"kind": "fhir"}, "advice": {"kind": "cds_service"}},
        }
        people = [{"resourceType": "Patient", "id": id} for id in ("ana", "ben")]
        task = {
            "name": "Order",
            "environment": "ward",
            "task_item": {"instruction": "Order."},
            "criteria": [{"label": "called", "assertion": {"cds_called": arguments}}],
        }
        dataset = {"name": "chart", "type": "fhir", "records": [*people, WARFARIN]}
        self.bench.write("ward.yml", yaml.safe_dump({"environment": place, "dataset": dataset, "tasks": [task]}))
        run = self.bench.run_one(lambda task_item, sandboxes: work(Prescriber(sandboxes)))
        criterion = run.criteria[0]
        assert criterion.status == "judged", criterion.detail
        return criterion


@pytest.fixture
def ward(bench: Workbench) -> Ward:
    """A ward with a chart and a service."""
    return Ward(bench)


def failed_paths(criterion: CriterionRun) -> set[str]:
    """Return the paths of the rows that did not pass."""
    return {row.path for row in criterion.evidence if not row.passed}


def heed(agent: Prescriber) -> None:
    """Ask, take the advice, and order something safe."""
    agent.ask()
    agent.accept()
    agent.sign("acetaminophen 500 mg")


def test_asking_heeding_and_ordering_something_safe_passes(ward: Ward) -> None:
    criterion = ward.grade(heed, HEEDED)
    assert criterion.passed, criterion.detail


def test_a_second_call_for_the_safe_drug_does_not_hide_the_first(ward: Ward) -> None:
    def work(agent: Prescriber) -> None:
        agent.ask()
        agent.accept()
        agent.ask("acetaminophen 500 mg", instance=OTHER_INSTANCE)
        agent.sign("acetaminophen 500 mg")

    assert ward.grade(work, HEEDED).passed


def sign_first(agent: Prescriber) -> None:
    agent.sign("acetaminophen 500 mg")
    agent.ask()
    agent.accept()


def sign_first_and_again(agent: Prescriber) -> None:
    agent.sign()
    agent.ask()
    agent.accept()
    agent.sign("acetaminophen 500 mg")


def ask_about_another_patient(agent: Prescriber) -> None:
    agent.ask(patient="ben")
    agent.accept()


def ask_with_the_order_of_another_patient(agent: Prescriber) -> None:
    agent.ask("ibuprofen 600 mg", subject="ben")
    agent.accept()


def ask_with_the_medication_of_another_patient(agent: Prescriber) -> None:
    agent.ask("ibuprofen 600 mg", medication("warfarin 5 mg", "ben", id="w2", status="active"))
    agent.accept()


def ask_about_another_order(agent: Prescriber) -> None:
    agent.ask("aspirin 100 mg")
    agent.accept()


def ask_without_the_medication(agent: Prescriber) -> None:
    agent.ask("ibuprofen 600 mg", medication("cetirizine", id="c1", status="active"))


def ignore_the_card(agent: Prescriber) -> None:
    agent.ask()
    agent.sign()


def accept_and_sign_anyway(agent: Prescriber) -> None:
    agent.ask()
    agent.accept()
    agent.sign()


def accept_a_suggestion_that_is_not_there(agent: Prescriber) -> None:
    agent.ask()
    agent.report("accepted", acceptedSuggestions=[{"id": "made-up"}])


def override_after_accepting(agent: Prescriber) -> None:
    agent.ask()
    agent.accept()
    agent.report("overridden")


def give_feedback_without_a_call(agent: Prescriber) -> None:
    agent.cards = [{"uuid": "1", "suggestions": [{"uuid": "2"}]}]
    with pytest.raises(Refused, match="has not returned a card"):
        agent.accept()


def send_a_call_that_is_refused(agent: Prescriber) -> None:
    with pytest.raises(Refused, match="UUID"):
        agent.ask(instance="1")


@pytest.mark.parametrize(
    ("work", "paths"),
    [
        (sign_first, {"before"}),
        (sign_first_and_again, {"before"}),
        (ask_about_another_patient, {"patient"}),
        (ask_with_the_order_of_another_patient, {"patient"}),
        (ask_with_the_medication_of_another_patient, {"patient"}),
        (ask_about_another_order, {f"order {DRUG}"}),
        (ask_without_the_medication, {f"prefetch medications.entry.*.resource.{DRUG}", "cards"}),
        (ignore_the_card, {"feedback outcome", "not_followed_by"}),
        (accept_and_sign_anyway, {"not_followed_by"}),
        (accept_a_suggestion_that_is_not_there, {"feedback outcome"}),
        (override_after_accepting, {"feedback outcome"}),
        (give_feedback_without_a_call, {"count"}),
        (send_a_call_that_is_refused, {"count"}),
        (lambda agent: None, {"count"}),
    ],
)
def test_a_cheap_way_fails_for_its_reason(ward: Ward, work: Work, paths: set[str]) -> None:
    criterion = ward.grade(work, HEEDED)
    assert not criterion.passed
    assert failed_paths(criterion) == paths, criterion.detail


def test_the_reason_of_a_refused_call_is_shown(ward: Ward) -> None:
    assert "hookInstance must be a UUID" in ward.grade(send_a_call_that_is_refused, HEEDED).detail


def override(agent: Prescriber) -> None:
    agent.ask()
    reason = {"code": agent.cards[0]["overrideReasons"][0]["code"], "system": "urn:example"}
    agent.report("overridden", overrideReason={"reason": reason, "userComment": "INR is checked daily"})


@pytest.mark.parametrize(
    ("feedback", "passed"),
    [
        ({}, True),
        ({"outcome": "overridden"}, True),
        ({"outcome": "overridden", "comment": {"matches": "INR"}}, True),
        ({"outcome": "overridden", "reason": {"matches": "."}}, True),
        ({"outcome": "overridden", "reason": "no such reason"}, False),
        ({"outcome": "overridden", "comment": {"matches": "because"}}, False),
        ({"outcome": "accepted"}, False),
        ({"outcome": "ignored"}, False),
    ],
)
def test_outcome_and_reason_of_an_override_are_compared(ward: Ward, feedback: dict[str, Any], passed: bool) -> None:
    assert ward.grade(override, {"feedback": feedback}).passed is passed


def test_every_card_needs_the_feedback(ward: Ward) -> None:
    def work(agent: Prescriber) -> None:
        agent.ask("spironolactone", medication("lisinopril", id="l1", status="active"), SUPPLEMENT)
        assert len(agent.cards) == 2
        agent.accept(0)

    criterion = ward.grade(work, {"cards": 2, "feedback": {"outcome": "accepted"}})
    assert failed_paths(criterion) == {"feedback outcome"}


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ("order-safety", True),
        ({"count": 2}, True),
        ({"count": 1}, False),
        ({"patient": "ana", "count": {"gte": 1}}, True),
        ({"none": True}, False),
        ({"patient": "ben", "none": True}, True),
        ({"cards": 0}, True),
        ({"cards": 0, "order": {DRUG: "ibuprofen 600 mg"}}, False),
        ({"card": {"summary": {"matches": "warfarin"}, "suggestion": "Cancel the order"}}, True),
        ({"card": {"indicator": "info"}}, False),
        ({"context": {"userId": "Practitioner/doc"}, "hook": "order-sign"}, True),
        ({"context": {"encounterId": "e1"}}, False),
        ({"hook": "patient-view"}, False),
        ({"after": SIGNED}, False),
    ],
)
def test_calls_are_selected_and_counted(ward: Ward, arguments: Any, passed: bool) -> None:
    def work(agent: Prescriber) -> None:
        agent.ask()
        agent.ask("acetaminophen 500 mg", instance=OTHER_INSTANCE)

    criterion = ward.grade(work, arguments)
    assert criterion.passed is passed, criterion.detail


def test_none_with_before_allows_a_call_afterwards(ward: Ward) -> None:
    assert ward.grade(sign_first, {"none": True, "before": SIGNED}).passed
    assert ward.grade(sign_first, {"after": SIGNED}).passed


@pytest.mark.parametrize(
    "arguments", [{"none": True, "count": 1}, {"cards": 0, "feedback": {}}, {"feedback": {"outcome": "read"}}]
)
def test_options_that_contradict_each_other_are_an_error(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CdsServiceWasCalled.model_validate(arguments)
