"""Whole runs: an agent calls CDS services through the handle, and attackers do."""

from typing import Any

import pytest

from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.simulators.cds_service import SPEC
from clerkship.simulators.cds_service.handle import CdsServices
from tests.simulators.cds_service.calls import build_call
from tests.workbench import Workbench

ENVIRONMENT = """
environment:
  name: clinic
  simulators:
    advice:
      kind: cds_service
      config:
        services:
          - {id: order-safety, hook: order-sign, description: Checks orders., rules: [allergy, interaction]}
          - {id: select, hook: order-select, description: Checks orders., rules: [duplicate_order]}
          - {id: dispatch, hook: order-dispatch, description: Checks orders.}
          - {id: book, hook: appointment-book, description: Checks visits.}
          - {id: start, hook: encounter-start, description: Greets.}
          - {id: leave, hook: encounter-discharge, description: Says goodbye.}
          - id: greet
            hook: patient-view
            description: Reminds of the flu shot.
            cards:
              - {summary: Flu shot is due, indicator: info, source: {label: Prevention}}
              - summary: Book a visit
                indicator: warning
                source: {label: Prevention}
                selectionBehavior: any
                suggestions: [{label: Book}]
tasks:
  - name: Ask first
    environment: clinic
    task_item: {instruction: Ask the service.}
    criteria:
      - label: asked
        assertion: {event_occurred: {event: cds_service.called, where: {service: greet}}}
"""
VIEW = {"userId": "Practitioner/d1", "patientId": "p1"}
INSTANCE = "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea"


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    bench.write("clinic.yml", ENVIRONMENT)
    return bench


def test_an_agent_gets_the_cards_of_the_config_and_gives_feedback(bench: Workbench) -> None:
    cards: list[dict[str, Any]] = []

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        services = sandboxes.get_as(CdsServices)
        assert {each["id"]: each["hook"] for each in services.services()}["greet"] == "patient-view"
        cards.extend(services.call_service("greet", "patient-view", INSTANCE, VIEW, {}))
        accepted = [{"id": cards[1]["suggestions"][0]["uuid"]}]
        feedback = {"card": cards[1]["uuid"], "outcome": "accepted", "acceptedSuggestions": accepted}
        services.feedback("greet", {**feedback, "outcomeTimestamp": "2026-03-02T09:00:00Z"})

    run = bench.run_one(agent)
    assert (run.criteria[0].label, run.criteria[0].passed) == ("asked", True)
    assert [card["summary"] for card in cards] == ["Flu shot is due", "Book a visit"]


def test_the_handle_raises_a_refusal_with_the_reason(bench: Workbench) -> None:
    refusals: list[str] = []

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        services = sandboxes.get_as(CdsServices)
        for service in ("other", "order-safety", "../clients"):
            with pytest.raises(Refused) as caught:
                services.call_service(service, "order-sign", INSTANCE, build_call("aspirin")["context"], {})
            refusals.append(str(caught.value))

    bench.run_one(agent)
    assert refusals[0].startswith("404: unknown service `other` (known: order-safety, select")
    assert refusals[1].startswith("412: prefetch `allergies` is missing")
    assert refusals[2].startswith("404")


def test_attackers_call_every_service(bench: Workbench) -> None:
    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        services = sandboxes.get_as(CdsServices)
        assert SPEC.attack.read_everything(services, "")
        assert SPEC.attack.order_everything(services, "")
        assert not SPEC.attack.delete_everything(services, "")

    events = bench.events(bench.run_one(agent))
    calls = [event["payload"]["service"] for event in events if event["kind"] == "cds_service.called"]
    assert calls == ["order-safety", "select", "dispatch", "book", "start", "leave", "greet"]
    assert sum(event["kind"] == "cds_service.feedback.received" for event in events) == 2
