"""What run coverage counts in each kind of sandbox: what is possible, and what an event exercises of it."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from clerkship.by_name import load
from clerkship.formats.fhir.chart import Chart
from clerkship.sandbox.run_coverage import CoveredItem
from clerkship.simulators.registry import KINDS

CHART = Chart([b'{"resourceType":"Patient","id":"p1"}'])
Exercised = Mapping[str, set[CoveredItem]]


def read(kind: str, event: Mapping[str, Any], **config: Any) -> tuple[Exercised, Exercised]:
    """Return what a sandbox of a kind can do, and what an event exercised, by dimension."""
    [spec] = [entry.spec for entry in KINDS if entry.kind == kind]
    possible: dict[str, set[CoveredItem]] = {}
    exercised: dict[str, set[CoveredItem]] = {}
    for dimension in load(spec.run_coverage):
        possible[dimension.name] = set(dimension.list_possible(spec.config.model_validate(config), CHART))
        exercised[dimension.name] = set()
        with suppress(KeyError):
            exercised[dimension.name] = set(dimension.find_exercised({"actor": "agent", **event}))
    return possible, exercised


EVENTS: tuple[tuple[str, str, dict[str, Any], CoveredItem], ...] = (
    ("fhir", "fhir.resource.read", {"type": "Patient", "operation": "vread"}, ("Patient", "vread")),
    ("fhir", "fhir.history.read", {"type": "Patient"}, ("Patient", "history")),
    ("hl7", "hl7.adt.sent", {"trigger": "A08"}, ("ADT sent", "A08")),
    ("hl7", "hl7.oru.arrived", {"trigger": "R01"}, ("ORU arrived", "R01")),
    ("messages", "messages.message.sent", {"header": {"channel": "sms"}}, ("sms", "sent")),
    ("portal", "portal.page.viewed", {"page": "member"}, ("pages", "member")),
    ("portal", "portal.page.viewed", {"page": "draft", "shown": {"step": "services"}}, ("draft", "services")),
    ("x12", "x12.authorization.requested", {}, ("requested", "278")),
    ("voice", "voice.node.entered", {"tree": "example", "node": "welcome"}, ("example", "welcome")),
)


@pytest.mark.parametrize(("kind", "event", "payload", "item"), EVENTS, ids=lambda value: str(value)[:30])
def test_an_event_exercises_an_item_that_is_listed_as_possible(
    kind: str, event: str, payload: dict[str, Any], item: CoveredItem
) -> None:
    possible, exercised = read(kind, {"kind": event, "payload": payload})
    assert list(exercised.values()) == [{item}]
    assert item in next(iter(possible.values()))


@pytest.mark.parametrize("kind", [entry.kind for entry in KINDS if entry.spec.run_coverage])
def test_other_events_exercise_nothing(kind: str) -> None:
    _, exercised = read(kind, {"kind": "sandbox.answered", "payload": {"operation": "read"}})
    assert not any(exercised.values())


def test_reads_of_reactions_and_steps_are_not_those_of_the_agent() -> None:
    event = {"kind": "fhir.resource.read", "payload": {"type": "Patient", "operation": "read"}, "actor": "reaction"}
    assert read("fhir", event)[1] == {"FHIR interactions": set()}


def test_a_chart_that_is_read_only_cannot_be_written() -> None:
    possible, _ = read("fhir", {}, read_only=True)
    assert {name for _, name in possible["FHIR interactions"]} == {"read", "vread", "search", "history"}


def test_pages_of_a_portal_depend_on_its_friction() -> None:
    plain, _ = read("portal", {})
    hard, _ = read("portal", {}, friction={"one_time_code": "text", "human_check": "submit", "password_expired": True})
    added = {("pages", "sign_in_code"), ("pages", "human_check"), ("pages", "password_expired")}
    assert hard["portal pages"] - plain["portal pages"] == added
