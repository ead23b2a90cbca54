"""What an EHR keeps of an answer, and the problems it reports."""

from typing import Any

import orjson
import pytest

from clerkship.formats.cds_hooks.validation import (
    MAX_CARDS,
    MAX_PROBLEMS,
    MAX_SERVICES,
    RULES,
    CdsProblem,
    validate_discovery,
    validate_response,
)

SOURCE = {"label": "Check"}
CARD: dict[str, Any] = {"summary": "Hello", "indicator": "info", "source": SOURCE}
ACTION = {"type": "delete", "description": "x", "resourceId": "ServiceRequest/1"}
SUGGESTION = {"label": "Do", "actions": [ACTION]}
OTHERS = {"resourceType": "ServiceRequest", "id": "1", "subject": {"reference": "Patient/eva"}}


def check(*cards: Any) -> list[tuple[str, str]]:
    """Return path and rule of each problem of an answer."""
    response = validate_response(orjson.dumps({"cards": list(cards)}), "ana")
    return [(problem.path, problem.rule) for problem in response.problems]


def with_action(**action: Any) -> dict[str, Any]:
    """Return a card with one action."""
    suggestion = {"label": "Do", "actions": [{"description": "x", **action}]}
    return {**CARD, "selectionBehavior": "any", "suggestions": [suggestion]}


def test_valid_card_has_no_problems() -> None:
    response = validate_response({"cards": [CARD]})
    assert (len(response.cards), response.problems) == (1, ())


@pytest.mark.parametrize(
    ("card", "path", "rule"),
    [
        (5, "cards[0]", "type"),
        ({**CARD, "summary": "x" * 140}, "cards[0].summary", "summary-length"),
        ({**CARD, "summary": ""}, "cards[0].summary", "required"),
        ({**CARD, "summary": 5}, "cards[0].summary", "type"),
        ({**CARD, "indicator": "fatal"}, "cards[0].indicator", "value"),
        ({**CARD, "source": {"url": "https://a.example"}}, "cards[0].source.label", "required"),
        ({**CARD, "source": "me"}, "cards[0].source", "type"),
        ({**CARD, "source": {"label": "x", "url": "/x"}}, "cards[0].source.url", "url"),
        ({**CARD, "suggestions": [SUGGESTION]}, "cards[0]", "selection-behavior"),
        ({**CARD, "selectionBehavior": "some"}, "cards[0].selectionBehavior", "value"),
        ({**CARD, "overrideReasons": [{"code": "a"}]}, "cards[0]", "override-reasons"),
        (
            {**CARD, "links": [{"label": "a", "url": "https://a.example", "type": "app"}]},
            "cards[0].links[0].type",
            "value",
        ),
        (with_action(type="create"), "cards[0].suggestions[0].actions[0]", "action-resource"),
        (
            with_action(type="update", resource={"resourceType": "Task"}),
            "cards[0].suggestions[0].actions[0]",
            "action-resource",
        ),
        (with_action(type="delete", resourceId="1"), "cards[0].suggestions[0].actions[0]", "action-resource"),
        (
            with_action(type="create", description=None, resource={"resourceType": "Task"}),
            "cards[0].suggestions[0]",
            "action-description",
        ),
        (with_action(type="update", resource=OTHERS), "cards[0].suggestions[0].actions[0].resource", "action-patient"),
    ],
)
def test_broken_card_is_dropped_and_the_other_kept(card: Any, path: str, rule: str) -> None:
    response = validate_response({"cards": [card, CARD]}, "ana")
    assert [shown.summary for shown in response.cards] == ["Hello"]
    dropped = [(problem.path, problem.rule) for problem in response.problems if problem.dropped]
    assert (path, rule) in dropped


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"colour": "red"}, ("cards[0].colour", "unknown-field")),
        ({"detail": None}, ("cards[0].detail", "empty-value")),
        ({"links": []}, ("cards[0].links", "empty-value")),
        ({"detail": "<script>alert(1)</script>"}, ("cards[0].detail", "detail-html")),
    ],
)
def test_small_mistake_is_reported_and_the_card_kept(change: dict[str, Any], problem: tuple[str, str]) -> None:
    response = validate_response({"cards": [{**CARD, **change}]})
    assert len(response.cards) == 1
    assert [(each.path, each.rule, each.dropped) for each in response.problems] == [(*problem, False)]


def test_uuid_that_occurs_twice_drops_the_second_card() -> None:
    assert check({**CARD, "uuid": "1"}, {**CARD, "uuid": "1"}) == [("cards[1].uuid", "unique-uuid")]


def test_two_recommended_suggestions_are_reported_where_one_can_be_chosen() -> None:
    suggestions = [{"label": "a", "isRecommended": True}, {"label": "b", "isRecommended": True}]
    card = {**CARD, "selectionBehavior": "at-most-one", "suggestions": suggestions}
    assert check(card) == [("cards[0].suggestions", "recommended")]


def test_thousands_of_cards_are_cut() -> None:
    response = validate_response({"cards": [CARD] * 5_000})
    assert len(response.cards) == MAX_CARDS
    assert [problem.rule for problem in response.problems] == ["count"]


def test_number_of_problems_is_limited() -> None:
    response = validate_response({"cards": [{str(n): 1 for n in range(50)}] * 100})
    assert (len(response.cards), len(response.problems)) == (0, 2 * MAX_PROBLEMS)


def test_harmless_problems_do_not_hide_that_a_card_is_dropped() -> None:
    response = validate_response({**{f"x{number}": 1 for number in range(2 * MAX_PROBLEMS)}, "cards": [{}]})
    assert any(problem.dropped for problem in response.problems)


def test_long_summary_is_not_quoted() -> None:
    [problem] = validate_response({"cards": [{**CARD, "summary": "x" * 10_000_000}]}).problems
    assert len(problem.message) < 200


def test_system_action_for_another_patient_is_dropped() -> None:
    response = validate_response({"cards": [], "systemActions": [{"type": "update", "resource": OTHERS}]}, "ana")
    assert response.system_actions == ()
    assert [problem.rule for problem in response.problems] == ["action-patient"]


def test_system_action_needs_no_description() -> None:
    response = validate_response({"cards": [], "systemActions": [{"type": "delete", "resourceId": "Task/1"}]}, "ana")
    assert len(response.system_actions) == 1


def test_discovery_with_ten_thousand_services_is_cut() -> None:
    services = [{"hook": "patient-view", "id": f"s{n}", "description": "x"} for n in range(10_000)]
    found = validate_discovery(orjson.dumps({"services": services}))
    assert (len(found.services), [problem.rule for problem in found.problems]) == (MAX_SERVICES, ["count"])


def test_service_with_an_unknown_token_is_kept_and_reported() -> None:
    service = {"hook": "patient-view", "id": "a", "description": "x"}
    service["prefetch"] = {"p": "Patient/{{context.medication.id}}"}  # type: ignore[assignment]
    found = validate_discovery({"services": [service]})
    assert len(found.services) == 1
    assert [(problem.path, problem.rule) for problem in found.problems] == [("services[0].prefetch.p", "prefetch")]


def test_every_reported_rule_is_documented() -> None:
    problems: list[CdsProblem] = [*validate_response(b"{").problems, *validate_discovery({"services": [{}]}).problems]
    assert {problem.rule for problem in problems} <= RULES.keys()
