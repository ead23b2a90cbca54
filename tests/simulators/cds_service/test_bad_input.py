"""Bad input to a CDS service is refused with a clear error, in bounded time."""

import copy
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.cds_service import SPEC
from tests.simulators.cds_service.calls import (
    PATH,
    build_allergy,
    build_call,
    build_orders_call,
    build_prescription,
    list_cards,
    post,
)
from tests.waiting import processor_limit

TAKEN = [build_prescription("w", "warfarin", "active")]


@pytest.fixture
def rig() -> Iterator[SimulatorRig]:
    with SimulatorRig(SPEC) as rig:
        yield rig


def get_error(reply: Reply) -> tuple[str, str]:
    error = orjson.loads(reply.body)["error"]
    return error["code"], error["message"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "not_json"),
        (b"{", 400, "not_json"),
        (b"\xff\xfe", 400, "not_json"),
        (b"[" * 100_000, 400, "not_json"),
        (b"[]", 400, "malformed_request"),
        (b"null", 400, "malformed_request"),
        (b'"x"', 400, "malformed_request"),
        (b'{"prefetch":' + b'{"a":' * 400 + b"1" + b"}" * 401, 422, "invalid_input"),
    ],
    ids=["empty", "cut", "not UTF-8", "only brackets", "list", "null", "text", "deep"],
)
def test_a_body_that_is_no_request_is_refused(rig: SimulatorRig, body: bytes, status: int, code: str) -> None:
    for path in (PATH, f"{PATH}/feedback"):
        reply = rig.send(Request("POST", path, body=body))
        assert (reply.status, get_error(reply)[0]) == (status, code)
    assert rig.dump()["calls"]["in_order"] == []


@pytest.mark.parametrize("hook", ["patient-view", "order-unknown", "", 5, "x" * 100_000])
def test_another_hook_is_refused_in_a_short_message(rig: SimulatorRig, hook: Any) -> None:
    reply = post(rig, build_call("ibuprofen") | {"hook": hook})
    assert reply.status == 400
    assert len(reply.body) < 1000


def test_ten_megabytes_of_prefetch_are_answered(rig: SimulatorRig) -> None:
    medications = [build_prescription(f"m{number}", f"drug {number} {'x' * 1000}", "active") for number in range(9000)]
    call = build_orders_call(build_prescription("d1", "ibuprofen"), medications=[*medications, *TAKEN])
    assert len(orjson.dumps(call)) > 10_000_000
    with processor_limit():
        assert len(list_cards(rig, call)) == 1


def test_a_body_beyond_the_limit_is_refused(rig: SimulatorRig) -> None:
    reply = post(rig, build_call("ibuprofen") | {"extension": {"x": "y" * 21_000_000}})
    assert reply.status == 413


def test_many_draft_orders_are_refused(rig: SimulatorRig) -> None:
    reply = post(rig, build_orders_call(*(build_prescription(f"d{number}", "aspirin") for number in range(101))))
    assert (reply.status, get_error(reply)[0]) == (400, "malformed_request")
    assert "100" in get_error(reply)[1]


def test_cards_are_limited(rig: SimulatorRig) -> None:
    orders = [build_prescription(f"d{number}", "aspirin") for number in range(100)]
    taken = [build_prescription(f"m{number}", "warfarin", "active") for number in range(5000)]
    with processor_limit():
        cards = list_cards(rig, build_orders_call(*orders, medications=taken))
    assert len(cards) == 100


def test_a_long_text_is_searched_in_linear_time(rig: SimulatorRig) -> None:
    text = "penicillin v potassium " * 200_000
    call = build_orders_call(build_prescription("d1", text), allergies=[build_allergy("Penicillin")])
    with processor_limit():
        [card] = list_cards(rig, call)
    assert len(card["summary"]) < 140


ODD: list[Any] = [None, 5, "x", [], [None], {}, {"reference": 5}, {"coding": "x"}, {"coding": [None, {"code": {}}]}]


@pytest.mark.parametrize("field", ["medicationReference", "contained", "medicationCodeableConcept", "code", "status"])
@pytest.mark.parametrize("value", ODD, ids=str)
def test_elements_of_another_type_are_ignored(rig: SimulatorRig, field: str, value: Any) -> None:
    order = build_prescription("d1", "ibuprofen") | {field: value}
    call = build_orders_call(order, allergies=[build_allergy("x") | {field: value}], medications=[*TAKEN, order])
    assert post(rig, call).status == 200


def test_refusals_leave_an_event_and_no_call(rig: SimulatorRig) -> None:
    assert post(rig, {}).status == 400
    assert [event.kind for event in rig.playground.log.events][-1] == "sandbox.refused"
    assert rig.dump()["calls"]["in_order"] == []


FEEDBACK = {"outcome": "accepted", "outcomeTimestamp": "2026-03-02T09:00:00Z"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"acceptedSuggestions": []}, "acceptedSuggestions is required"),
        ({"acceptedSuggestions": [{"id": "other"}]}, "has no suggestion `other`"),
        ({"outcome": "ignored"}, "outcome"),
        ({"outcomeTimestamp": None}, "outcomeTimestamp"),
        ({"outcomeTimestamp": "yesterday"}, "outcomeTimestamp"),
        ({"overrideReason": {"userComment": "x"}}, "only for the outcome overridden"),
        ({"outcome": "overridden", "acceptedSuggestions": [], "overrideReason": {"reason": {"code": "mood"}}}, "mood"),
        ({"card": 5}, "card"),
    ],
    ids=["no suggestion", "other suggestion", "outcome", "no time", "time", "reason", "unknown reason", "card"],
)
def test_invalid_feedback_is_refused_with_the_reason(rig: SimulatorRig, changes: dict[str, Any], said: str) -> None:
    [card] = list_cards(rig, build_call("ibuprofen", "warfarin"))
    accepted = [{"id": card["suggestions"][0]["uuid"]}]
    feedback = {**FEEDBACK, "card": card["uuid"], "acceptedSuggestions": accepted}
    reply = post(rig, {"feedback": [copy.deepcopy(feedback), feedback | changes]}, f"{PATH}/feedback")
    assert reply.status == 400
    assert said in get_error(reply)[1]
    assert not any(call["feedback"] for call in rig.dump()["calls"]["in_order"]), "one invalid item refuses all"
    assert post(rig, {"feedback": [feedback]}, f"{PATH}/feedback").status == 200


def test_a_reason_of_the_card_is_accepted(rig: SimulatorRig) -> None:
    [card] = list_cards(rig, build_call("ibuprofen", "warfarin"))
    reason = {"reason": card["overrideReasons"][0], "userComment": "One dose only."}
    feedback = {**FEEDBACK, "card": card["uuid"], "outcome": "overridden", "overrideReason": reason}
    assert post(rig, {"feedback": [feedback]}, f"{PATH}/feedback").status == 200
    [call] = rig.dump()["calls"]["in_order"]
    [event] = call["feedback"].values()
    assert event["payload"]["feedback"]["overrideReason"] == reason


@pytest.mark.parametrize("type", ["other-searchset", "", 5, None, []])
def test_a_bundle_of_a_type_that_fhir_does_not_have_is_refused(rig: SimulatorRig, type: Any) -> None:
    call = build_call("ibuprofen")
    call["prefetch"]["medications"]["type"] = type
    code, message = get_error(post(rig, call))
    assert (code, message.partition(":")[0]) == ("malformed_request", "prefetch `medications`")
