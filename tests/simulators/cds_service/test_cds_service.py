"""CDS services that the agent calls: discovery, cards, refusals and feedback."""

import uuid
from typing import Any

import orjson
import pytest

from clerkship.checks.conformance.checks import CHECKS, Check
from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.formats.cds_hooks.validation import validate_discovery
from clerkship.sandbox.request import Request
from clerkship.simulators.cds_service import SPEC
from clerkship.simulators.cds_service.exercise import CALL
from tests.simulators.cds_service.calls import PATH, build_call, list_summaries, post


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_cds_service_conforms(check: Check) -> None:
    check(SPEC)


def test_discovery_is_valid_and_lists_the_prefetch_of_the_rules() -> None:
    with SimulatorRig(SPEC) as rig:
        found = validate_discovery(rig.send(Request("GET", "/cds-services")).body)
        assert not found.problems
        assert found.services[0].prefetch.keys() == {"allergies", "medications", "orders"}


@pytest.mark.parametrize(
    ("drug", "taken", "allergy", "start"),
    [
        ("ibuprofen 600 mg", "warfarin sodium 5 MG", "", "Interaction"),
        ("sildenafil", "nitroglycerin", "", "Interaction"),
        ("clarithromycin", "simvastatin 20 MG", "", "Interaction"),
        ("spironolactone", "lisinopril 10 MG", "", "Interaction"),
        ("amoxicillin 500 MG", "", "Penicillin allergy", "Allergy"),
        ("ibuprofen", "", "Ibuprofen", "Allergy"),
        ("lisinopril 20 MG", "lisinopril 10 MG", "", "Duplicate"),
    ],
)
def test_an_unsafe_order_gets_a_card(drug: str, taken: str, allergy: str, start: str) -> None:
    with SimulatorRig(SPEC) as rig:
        summaries = list_summaries(rig, build_call(drug, taken, allergy))
    assert [summary.split()[0].rstrip(":") for summary in summaries] == [start]


@pytest.mark.parametrize(("drug", "taken", "allergy"), [("acetaminophen", "warfarin", "Peanut"), ("metformin", "", "")])
def test_a_safe_order_gets_no_card(drug: str, taken: str, allergy: str) -> None:
    with SimulatorRig(SPEC) as rig:
        assert list_summaries(rig, build_call(drug, taken, allergy)) == []


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"hookInstance": "1"}, 400),
        ({"hook": "patient-view"}, 400),
        ({"context": {"patientId": "p1"}}, 400),
        ({"prefetch": {"allergies": None}}, 412),
        ({"prefetch": "x"}, 400),
    ],
)
def test_a_malformed_call_is_refused_with_an_event(changes: dict[str, Any], status: int) -> None:
    with SimulatorRig(SPEC) as rig:
        assert post(rig, CALL | changes).status == status
        assert "sandbox.refused" in [event.kind for event in rig.playground.log.events]
        assert post(rig, CALL, "/cds-services/unknown").status == 404


def test_a_hook_instance_is_of_one_context() -> None:
    with SimulatorRig(SPEC) as rig:
        assert [post(rig, CALL).status for _ in range(2)] == [200, 200]
        context: dict[str, Any] = dict(CALL["context"])  # type: ignore[arg-type]
        other = CALL | {"context": context | {"userId": "Practitioner/other"}}
        answer = post(rig, other)
        assert answer.status == 400
        assert b"another context" in answer.body
        assert post(rig, other | {"hookInstance": str(uuid.UUID(int=9))}).status == 200


def test_feedback_is_recorded_for_returned_cards_only() -> None:
    with SimulatorRig(SPEC) as rig:
        card = orjson.loads(post(rig, CALL).body)["cards"][0]["uuid"]
        item = {"card": card, "outcome": "overridden", "outcomeTimestamp": "2026-03-02T09:00:00Z"}
        assert post(rig, {"feedback": [item]}, f"{PATH}/feedback").status == 200
        assert post(rig, {"feedback": [item | {"card": "other"}]}, f"{PATH}/feedback").status == 400
        kinds = [event.kind for event in rig.playground.log.events]
        assert kinds.count("cds_service.feedback.received") == 1


@pytest.mark.parametrize("id", [5, "a b", "", None, ["x"]])
def test_an_order_without_a_valid_id_gets_a_card_without_suggestions(id: Any) -> None:
    call = build_call("ibuprofen", "warfarin")
    call["context"]["draftOrders"]["entry"][0]["resource"]["id"] = id
    with SimulatorRig(SPEC) as rig:
        reply = post(rig, call)
        assert reply.status == 200
        assert "suggestions" not in orjson.loads(reply.body)["cards"][0]


@pytest.mark.parametrize("value", [None, 5, [], {"x": 1}, {"resourceType": "Bundle", "entry": [None, {"resource": 3}]}])
def test_prefetch_that_is_not_a_resource_is_ignored(value: Any) -> None:
    call = build_call("ibuprofen", "warfarin")
    call["prefetch"] = dict.fromkeys(call["prefetch"], value)
    with SimulatorRig(SPEC) as rig:
        assert list_summaries(rig, call) == []


@pytest.mark.parametrize("field", ["status", "medicationCodeableConcept", "id", "code", "authoredOn"])
def test_elements_of_the_wrong_type_do_not_break_the_rules(field: str) -> None:
    call = build_call("ibuprofen", "warfarin")
    call["prefetch"]["medications"]["entry"][0]["resource"][field] = [{"coding": [5, {"code": ["x"]}]}]
    call["prefetch"]["orders"] = call["prefetch"]["medications"]
    with SimulatorRig(SPEC) as rig:
        assert post(rig, call).status == 200
