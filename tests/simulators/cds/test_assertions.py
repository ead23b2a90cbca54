"""Criteria on cards and on the time that services take: correct services pass, and cheap ones fail for the reason."""

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from clerkship.model.run import CriterionRun, TaskRun
from clerkship.sandbox.handle import Sandboxes
from clerkship.service.rescore import rescore
from clerkship.simulators.cds.handle import Cds, describe_service
from clerkship.store.sqlite import SqliteStore
from tests.workbench import CATALOG, Workbench

Answer = Callable[[dict[str, Any]], Any]
CODE = "medicationCodeableConcept.coding.*.code"
SOURCE = {"label": "Interaction checker"}


def order(id: str, code: str, patient: str = "ana") -> dict[str, Any]:
    """Build a draft order of a drug."""
    concept = {"coding": [{"system": "urn:example:drugs", "code": code}]}
    return {
        "resourceType": "MedicationRequest",
        "id": id,
        "status": "draft",
        "intent": "order",
        "subject": {"reference": f"Patient/{patient}"},
        "medicationCodeableConcept": concept,
    }


RISKY, SAFE = order("o1", "sildenafil"), order("o2", "paracetamol")
WARNING = {
    "uuid": "c-1",
    "summary": "Sildenafil with a nitrate can cause severe hypotension",
    "detail": "The patient takes isosorbide mononitrate.",
    "indicator": "critical",
    "source": SOURCE,
    "selectionBehavior": "at-most-one",
    "suggestions": [
        {
            "label": "Cancel the order of sildenafil",
            "uuid": "s-1",
            "actions": [
                {"type": "update", "description": "Cancel", "resource": {**order("m1", "nitrate"), "status": "stopped"}}
            ],
        }
    ],
}
WARNS = {
    "order": {CODE: "sildenafil"},
    "indicator": {"in": ["warning", "critical"]},
    "summary": {"matches": "(?i)nitrate"},
}
SILENT = {"order": {CODE: "paracetamol"}, "none": True}


def drugs_of(request: dict[str, Any]) -> list[str]:
    """Return the codes of the draft orders."""
    entries = request["context"]["draftOrders"]["entry"]
    return [entry["resource"]["medicationCodeableConcept"]["coding"][0]["code"] for entry in entries]


def warn(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Answer as a correct service does."""
    return [WARNING] if "sildenafil" in drugs_of(request) else []


class OrderDesk:
    """A task in which a risky and a safe order are signed."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench

    def grade(
        self, answer: Answer | None, *criteria: dict[str, Any], accept: str | None = None, time_limit: str = "15s"
    ) -> list[CriterionRun]:
        """Run an agent that serves this answer, and return the graded criteria."""
        step = {"hook": "order-sign", "patient": "ana", "user": "Practitioner/doc"}
        step |= {"accept": accept} if accept else {}
        records = [
            {"resourceType": "Practitioner", "id": "doc"},
            {"resourceType": "Patient", "id": "ana", "birthDate": "1965-03-15"},
            {**order("m1", "nitrate"), "status": "active"},
        ]
        simulators = {"ehr": {"kind": "fhir"}, "emr": {"kind": "cds", "config": {"time_limit": time_limit}}}
        place = {"name": "clinic", "now": "2026-03-02T09:00:00-05:00", "datasets": ["chart"], "simulators": simulators}
        task = {
            "name": "Check orders",
            "environment": "clinic",
            "task_item": {"instruction": "Serve."},
            "scenario": {"steps": [{"cds.fire": {**step, "orders": [each]}} for each in (RISKY, SAFE)]},
            "criteria": [{"label": str(number), "assertion": each} for number, each in enumerate(criteria)],
        }
        data = {
            "environment": place | {"reactions": ["emr.* -> ehr"]},
            "dataset": {"name": "chart", "type": "fhir", "records": records},
            "tasks": [task],
        }
        self.bench.write("clinic.yml", yaml.safe_dump(data))

        def agent(task_item: Any, sandboxes: Sandboxes) -> None:
            if answer is None:
                sandboxes.wait("1m")
                return
            service = describe_service("order-sign", answer, id="check", description="Checks orders")
            with sandboxes.get_as(Cds).serve([service]):
                sandboxes.wait("1m")

        return list(self.bench.run_one(agent).criteria)[: len(criteria)]

    def passed(self, answer: Answer | None, *criteria: dict[str, Any], accept: str | None = None) -> list[bool]:
        """Return which criteria passed."""
        return [bool(each.passed) for each in self.grade(answer, *criteria, accept=accept)]


@pytest.fixture
def desk(bench: Workbench) -> OrderDesk:
    """A desk at which two orders are signed."""
    return OrderDesk(bench)


def test_warning_for_the_risky_order_and_silence_for_the_safe_one_pass(desk: OrderDesk) -> None:
    assert desk.passed(warn, {"cds_card": WARNS}, {"cds_card": SILENT}, {"cds_card": {"max_cards": 1}}) == [True] * 3


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (lambda request: [WARNING], [True, False]),
        (lambda request: [], [False, True]),
        (lambda request: [] if warn(request) else [WARNING], [False, False]),
        (lambda request: [{"summary": "Please check", "indicator": "warning", "source": SOURCE}], [False, False]),
        (lambda request: [{**card, "indicator": "info"} for card in warn(request)], [False, True]),
        (lambda request: [{**card, "indicator": "urgent"} for card in warn(request)], [False, True]),
        (lambda request: [*warn(request), {"summary": "no indicator"}], [False, False]),
        (lambda request: "no cards", [False, False]),
        (None, [False, False]),
    ],
    ids=[
        "card for every order",
        "never a card",
        "card for the wrong order",
        "card without content",
        "card that plays the danger down",
        "card with an invalid indicator",
        "valid card beside an invalid one",
        "answer that is not valid",
        "no service",
    ],
)
def test_cheap_services_fail(desk: OrderDesk, answer: Answer | None, outcome: list[bool]) -> None:
    assert desk.passed(answer, {"cds_card": WARNS}, {"cds_card": SILENT}) == outcome


def test_answer_after_the_time_limit_is_neither_a_card_nor_silence(desk: OrderDesk) -> None:
    released = threading.Event()

    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        released.wait(3)
        return warn(request)

    results = desk.grade(answer, {"cds_card": WARNS}, {"cds_card": SILENT}, time_limit="1s")
    released.set()
    assert [result.passed for result in results] == [False, False]
    assert "timed_out" in results[1].detail


def test_flood_of_cards_exceeds_max_cards(desk: OrderDesk) -> None:
    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        hints = [{"summary": f"Hint {number}", "indicator": "info", "source": SOURCE} for number in range(5)]
        return [*warn(request), *hints]

    flooded = {"cds_card": {**WARNS, "max_cards": 2}}
    assert desk.passed(answer, {"cds_card": WARNS}, flooded) == [True, False]
    assert desk.passed(warn, flooded) == [True]


def test_resource_of_an_accepted_suggestion_is_compared(desk: OrderDesk) -> None:
    resource = {"type": "MedicationRequest", "action": "update", "fields": {"status": "stopped"}}
    accepted = {**WARNS, "resource": resource, "outcome": "accepted"}
    other = {**WARNS, "resource": {**resource, "fields": {"status": "active"}}}
    chart = {"fhir_resource_state": {"resource_type": "MedicationRequest", "search": {"status": "stopped"}, "count": 1}}
    criteria = ({"cds_card": accepted}, {"cds_card": other}, chart)
    assert desk.passed(warn, *criteria, accept="first") == [True, False, True]
    assert desk.passed(warn, *criteria) == [False, False, False]


def test_refused_action_of_an_accepted_card_fails(desk: OrderDesk) -> None:
    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        actions = [{"type": "delete", "description": "Remove", "resourceId": "MedicationRequest/none"}]
        return [{**card, "suggestions": [{"label": "Remove", "actions": actions}]} for card in warn(request)]

    expected = {**WARNS, "resource": {"type": "MedicationRequest", "action": "delete"}}
    results = desk.passed(
        answer, {"cds_card": expected}, {"cds_card": {**expected, "outcome": "accepted"}}, accept="first"
    )
    assert results == [True, False]


def test_count_of_cards_is_compared(desk: OrderDesk) -> None:
    counts = [{"cds_card": {"indicator": "critical", "count": count}} for count in (1, 2, {"gte": 1})]
    assert desk.passed(warn, *counts) == [True, False, True]


def test_criterion_about_a_hook_that_never_fired_fails(desk: OrderDesk) -> None:
    criteria = [{"cds_card": {"hook": "patient-view", "none": True}}, {"cds_card": {"patient": "eva", "none": True}}]
    assert desk.passed(warn, *criteria) == [False, False]


def test_latency_is_compared_with_the_measured_time(desk: OrderDesk) -> None:
    limits = [{"max": "1s"}, {"max": "1s", "p95": "900ms", "count": 2}, {"max": "1s", "count": 3}]
    assert desk.passed(warn, *({"cds_latency": each} for each in limits)) == [True, True, False]
    pause = threading.Event()

    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        pause.wait(0.3)
        return warn(request)

    slow = desk.grade(answer, {"cds_latency": {"max": "200ms"}}, {"cds_latency": {"max": "10s"}})
    assert [each.passed for each in slow] == [False, True]
    row = next(row for row in slow[0].evidence if row.path == "max, ms")
    assert 250 < float(str(row.actual)) < 10_000


def test_latency_fails_without_a_call(desk: OrderDesk) -> None:
    assert desk.passed(None, {"cds_latency": {"max": "10s"}}) == [False]


def find_slowest(criterion: CriterionRun) -> object:
    """Return the time of the slowest call, from the evidence."""
    return next(row.actual for row in criterion.evidence if row.path == "max, ms")


def test_rescoring_compares_the_stored_times(desk: OrderDesk) -> None:
    pause = threading.Event()

    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        pause.wait(0.3)
        return warn(request)

    [before] = desk.grade(answer, {"cds_latency": {"max": "10s"}})
    assert before.passed
    path = desk.bench.folder / "clinic.yml"
    path.write_text(path.read_text().replace("10s", "200ms"))
    [task_run] = desk.bench.store.task_runs(rescore(desk.bench.store, "latest", CATALOG, desk.bench.folder).run.id)
    assert task_run.criteria[0].passed is False
    assert find_slowest(task_run.criteria[0]) == find_slowest(before)


class UntimedStore(SqliteStore):
    """A store whose sidecars have no durations of calls, as those of a replay."""

    def sidecar(self, task_run: TaskRun) -> bytes:
        data = orjson.loads(super().sidecar(task_run))
        assert data.pop("calls")
        return orjson.dumps(data)


def test_calls_without_a_measurement_are_an_error_and_no_verdict(desk: OrderDesk, tmp_path: Path) -> None:
    desk.grade(warn, {"cds_latency": {"max": "10s"}}, {"cds_card": WARNS})
    with closing(UntimedStore(tmp_path / "store.db")) as store:
        [task_run] = store.task_runs(rescore(store, "latest", CATALOG).run.id)
    latency, card = task_run.criteria[:2]
    assert (task_run.verdict, latency.status) == ("inconclusive", "error")
    assert "2 of 2 calls have no measured duration" in latency.detail
    assert card.passed
