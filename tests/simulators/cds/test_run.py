"""Whole runs: the EHR calls services that the agent serves, and the clinician deals with the cards."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.cds.handle import Cds, describe_service
from clerkship.simulators.cds.serving import AnswerHook, PreconditionFailed
from tests.workbench import Workbench

ENVIRONMENT = """
environment:
  name: clinic
  now: 2026-03-02T09:00:00-05:00
  datasets: [chart]
  simulators:
    ehr: {kind: fhir}
    emr: {kind: cds, config: {time_limit: 1s, CONFIG}}
  reactions: [emr.* -> ehr]
dataset:
  name: chart
  type: fhir
  records:
    - {resourceType: Practitioner, id: doc}
    - {resourceType: Patient, id: ana, birthDate: "1965-03-15"}
    - {resourceType: Patient, id: eva, birthDate: "1971-07-01"}
    - {resourceType: ServiceRequest, id: lab-ana, status: active, intent: order, subject: {reference: Patient/ana}}
    - {resourceType: ServiceRequest, id: lab-eva, status: active, intent: order, subject: {reference: Patient/eva}}
tasks:
  - name: Answer the hook
    environment: clinic
    task_item: {instruction: Serve.}
    scenario:
      steps:
        - cds.fire: {hook: patient-view, patient: ana, user: Practitioner/doc, STEP}
    criteria:
      - {label: chart, assertion: {fhir_no_other_changes: {}}}
"""
SOURCE = {"label": "Greeter"}
EVA, VERSION_OF_EVA = {"reference": "Patient/eva"}, {"reference": "Patient/eva/_history/1"}
INFO = {"summary": "Hello", "indicator": "info", "source": SOURCE}


def suggest(*actions: dict[str, Any], **suggestion: Any) -> dict[str, Any]:
    """Return a card with one suggestion."""
    card = {"uuid": "c-1", "summary": "Change it", "indicator": "warning", "source": SOURCE}
    item = {"label": "Do it", "uuid": "s-1", "actions": [{"description": "x", **each} for each in actions]}
    return {**card, "selectionBehavior": "at-most-one", "suggestions": [{**item, **suggestion}]}


class Clinic:
    """Runs a task in which a hook fires at one service."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench

    def fire(
        self,
        answer: AnswerHook,
        step: str = "",
        config: str = "",
        prefetch: dict[str, str] | None = None,
        feedback: list[Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the events of the cds and fhir sandboxes."""
        heard = [] if feedback is None else feedback

        def agent(task_item: Any, sandboxes: Sandboxes) -> None:
            service = describe_service("patient-view", answer, id="svc", description="A service", prefetch=prefetch)
            with sandboxes.get_as(Cds).serve([service], lambda id, entries: heard.extend(entries)):
                sandboxes.wait("1m")

        self.bench.write("clinic.yml", ENVIRONMENT.replace("CONFIG", config).replace("STEP", step))
        run = self.bench.run_one(agent)
        assert run.verdict in ("pass", "fail"), run
        return self.bench.events(run)


@pytest.fixture
def clinic(bench: Workbench) -> Clinic:
    """A clinic with two patients."""
    return Clinic(bench)


def payloads(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the payloads of the events of one kind."""
    return [event["payload"] for event in events if event["kind"] == kind]


def test_cards_of_a_service_are_recorded(clinic: Clinic) -> None:
    events = clinic.fire(lambda request: [INFO])
    [answered] = payloads(events, "cds.hook.answered")
    assert answered["cards"] == [INFO]
    assert (answered["service"], answered["hook"], answered["problems"]) == ("svc", "patient-view", [])
    assert [payload["outcome"] for payload in payloads(events, "cds.card.decided")] == ["ignored"]


def test_request_has_the_context_and_the_prefetch(clinic: Clinic) -> None:
    requests: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        requests.append(request)
        return []

    templates = {
        "patient": "Patient/{{context.patientId}}",
        "orders": "ServiceRequest?subject=Patient/{{context.patientId}}",
        "user": "{{context.userId}}",
        "none": "Condition?patient={{context.patientId}}",
        "gone": "Patient/nobody",
        "refused": "Patient?nonsense=1",
        "encounter": "Encounter/{{context.encounterId}}",
        "role": "PractitionerRole?_id={{userPractitionerRoleId}}",
    }
    events = clinic.fire(answer, prefetch=templates)
    [request] = requests
    assert request["context"] == {"userId": "Practitioner/doc", "patientId": "ana"}
    prefetch = request["prefetch"]
    assert sorted(prefetch) == ["gone", "none", "orders", "patient", "user"]
    assert prefetch["patient"]["birthDate"] == "1965-03-15"
    assert [entry["resource"]["id"] for entry in prefetch["orders"]["entry"]] == ["lab-ana"]
    assert prefetch["user"]["id"] == "doc"
    assert (prefetch["none"], prefetch["gone"]) == (None, None)
    assert payloads(events, "cds.hook.fired")[0]["request"]["prefetch"]["patient"]["id"] == "ana"


def test_accepted_suggestion_changes_the_chart(clinic: Clinic) -> None:
    feedback: list[Any] = []
    order = {"resourceType": "ServiceRequest", "id": "lab-ana", "status": "revoked", "intent": "order"}
    order["subject"] = {"reference": "Patient/ana"}  # type: ignore[assignment]
    card = suggest({"type": "update", "resource": order})
    events = clinic.fire(lambda request: [card], "accept: recommended", feedback=feedback)
    [updated] = payloads(events, "fhir.resource.updated")
    assert (updated["id"], updated["resource"]["status"]) == ("lab-ana", "revoked")
    assert [(each["card"], each["outcome"], each["acceptedSuggestions"]) for each in feedback] == [
        ("c-1", "accepted", [{"id": "s-1"}])
    ]
    assert payloads(events, "cds.feedback.sent")[0]["delivered"] is True


def test_override_is_reported_with_its_reason(clinic: Clinic) -> None:
    feedback: list[Any] = []
    card = {**INFO, "uuid": "c-1", "overrideReasons": [{"code": "no", "display": "Patient refused"}]}
    events = clinic.fire(lambda request: [card], "override: {reason: no, comment: later}", feedback=feedback)
    assert payloads(events, "cds.card.decided")[0]["outcome"] == "overridden"
    [entry] = feedback
    expected = {"reason": {"code": "no", "display": "Patient refused"}, "userComment": "later"}
    assert entry["overrideReason"] == expected


def test_one_refused_action_leaves_the_chart_unchanged(clinic: Clinic) -> None:
    new = {"resourceType": "ServiceRequest", "status": "active", "intent": "order"}
    new["subject"] = {"reference": "Patient/ana"}  # type: ignore[assignment]
    card = suggest({"type": "create", "resource": new}, {"type": "delete", "resourceId": "ServiceRequest/none"})
    events = clinic.fire(lambda request: [card], "accept: first")
    [refused] = payloads(events, "cds.action.refused")
    assert "there is no ServiceRequest/none" in refused["reason"]
    assert payloads(events, "fhir.resource.created") == []


def test_delete_of_another_patients_order_is_refused(clinic: Clinic) -> None:
    card = suggest({"type": "delete", "resourceId": "ServiceRequest/lab-eva"})
    events = clinic.fire(lambda request: [card], "accept: first")
    [refused] = payloads(events, "cds.action.refused")
    assert "belongs to Patient/eva" in refused["reason"]
    assert payloads(events, "fhir.resource.deleted") == []


def test_card_that_changes_another_patient_is_a_problem(clinic: Clinic) -> None:
    order = {"resourceType": "ServiceRequest", "id": "lab-eva", "status": "revoked", "intent": "order"}
    order["subject"] = {"reference": "Patient/eva"}  # type: ignore[assignment]
    card = suggest({"type": "update", "resource": order})
    events = clinic.fire(lambda request: [card, INFO], "accept: first")
    [answered] = payloads(events, "cds.hook.answered")
    assert [problem["rule"] for problem in answered["problems"]] == ["action-patient"]
    assert answered["cards"] == [INFO]
    assert payloads(events, "fhir.resource.updated") == []


@pytest.mark.parametrize(
    "resource",
    [
        {"resourceType": "ServiceRequest", "status": "active", "intent": "order", "subject": VERSION_OF_EVA},
        {"resourceType": "Account", "status": "active", "subject": [EVA]},
        {"resourceType": "Communication", "status": "completed", "recipient": [EVA]},
    ],
    ids=["version", "list", "recipient"],
)
def test_other_ways_to_refer_to_another_patient_are_a_problem(clinic: Clinic, resource: dict[str, Any]) -> None:
    card = suggest({"type": "create", "resource": resource})
    events = clinic.fire(lambda request: [card], config="decisions: [{do: accept}]")
    [answered] = payloads(events, "cds.hook.answered")
    assert [problem["rule"] for problem in answered["problems"]] == ["action-patient"]
    assert not payloads(events, "fhir.resource.created")


def test_prefetch_has_only_the_record_of_the_patient(clinic: Clinic) -> None:
    requests: list[dict[str, Any]] = []
    templates = {
        "all": "ServiceRequest?_include=*",
        "patients": "Patient?_count=50",
        "other": "Patient/eva",
        "chain": "ServiceRequest?subject:Patient.birthdate=1971-07-01",
    }

    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        requests.append(request)
        return []

    clinic.fire(answer, prefetch=templates)
    prefetch = requests[0]["prefetch"]
    assert prefetch.keys() == {"all", "patients"}
    assert {each["resource"]["id"] for each in prefetch["all"]["entry"]} == {"lab-ana", "ana"}
    assert [each["resource"]["id"] for each in prefetch["patients"]["entry"]] == ["ana"]


def test_system_actions_are_applied_without_a_clinician(clinic: Clinic) -> None:
    delete = {"type": "delete", "resourceId": "ServiceRequest/lab-ana"}
    events = clinic.fire(lambda request: {"cards": [], "systemActions": [delete]})
    assert [payload["id"] for payload in payloads(events, "fhir.resource.deleted")] == ["lab-ana"]


def test_system_actions_can_be_switched_off(clinic: Clinic) -> None:
    delete = {"type": "delete", "resourceId": "ServiceRequest/lab-ana"}
    events = clinic.fire(lambda request: {"cards": [], "systemActions": [delete]}, config="apply_system_actions: false")
    assert payloads(events, "fhir.resource.deleted") == []


def test_missing_prefetch_is_a_failure_of_its_own(clinic: Clinic) -> None:
    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        raise PreconditionFailed("no patient")

    [failed] = payloads(clinic.fire(answer), "cds.hook.failed")
    assert (failed["reason"], failed["status"]) == ("missing_prefetch", 412)


def test_same_answers_give_the_same_log(bench: Workbench) -> None:
    bench.write("clinic.yml", ENVIRONMENT.replace("CONFIG", "").replace("STEP", "accept: first"))

    def build_agent(seconds: float) -> Callable[[Any, Sandboxes], None]:
        def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
            wait(seconds)
            return [INFO]

        def agent(task_item: Any, sandboxes: Sandboxes) -> None:
            with sandboxes.get_as(Cds).serve({"patient-view": answer}):
                sandboxes.wait("1m")

        return agent

    first, second = bench.run_one(build_agent(0)), bench.run_one(build_agent(0.4))
    assert first.head == second.head


def wait(seconds: float) -> None:
    """Block this thread, as a slow service does."""
    threading.Event().wait(seconds)


def test_accepted_change_of_a_draft_order_stays_out_of_the_chart(bench: Workbench) -> None:
    draft = "{resourceType: ServiceRequest, id: d1, status: draft, intent: order, subject: {reference: Patient/ana}}"
    text = ENVIRONMENT.replace("CONFIG", "").replace("patient-view", "order-sign")
    bench.write("clinic.yml", text.replace("STEP", f"accept: first, orders: [{draft}]"))
    shown: list[Any] = []

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        emr = sandboxes.get_as(Cds)
        with emr.serve(
            {"order-sign": lambda request: [suggest({"type": "delete", "resourceId": "ServiceRequest/d1"})]}
        ):
            sandboxes.wait("1m")
            shown.extend(emr.hooks())

    run = bench.run_one(agent)
    events = bench.events(run)
    [accepted] = payloads(events, "cds.suggestion.accepted")
    assert (accepted["actions"], len(accepted["draft_actions"])) == ([], 1)
    assert payloads(events, "cds.action.refused") == []
    assert shown[0]["calls"][0]["decisions"] == [{"card": 0, "outcome": "accepted", "suggestions": [0]}]


def test_services_are_not_called_after_they_were_removed(bench: Workbench) -> None:
    text = (
        ENVIRONMENT.replace("CONFIG", "").replace("STEP", "").replace("- cds.fire:", "- at: +10m\n          cds.fire:")
    )
    bench.write("clinic.yml", text)
    requests: list[Any] = []

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
            requests.append(request)
            return []

        with sandboxes.get_as(Cds).serve({"patient-view": answer}):
            sandboxes.wait("5m")
        sandboxes.wait("10m")

    events = bench.events(bench.run_one(agent))
    assert len(payloads(events, "cds.hook.triggered")) == 1
    assert requests == []
