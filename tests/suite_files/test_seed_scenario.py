"""The example in the documentation of the format loads, matches the schema, and is checked against a domain."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from clerkship.cli.app import run
from clerkship.engine.catalog import RegisteredCatalog, build_catalog_without_plugins
from clerkship.model.agent_domain import AgentDomain
from clerkship.rasa.domain import read_domain
from clerkship.service.schemas import build_schema
from clerkship.suite_files.load import load_library
from clerkship.suite_files.yaml import parse_yaml
from tests.suite_files.library_folder import LibraryFolder
from tests.suite_files.seed import DOMAIN, ORDER_DELAY, PLACE

TWELVE = [
    "flow_started",
    "flow_completed",
    "flow_cancelled",
    "action_executed",
    "slot_was_set",
    "slot_was_not_set",
    "bot_uttered",
    "bot_did_not_utter",
    "pattern_clarification_contains",
    "generative_response_is_relevant",
    "generative_response_is_grounded",
    "sequencing",
]


def test_example_loads_into_a_task(folder: LibraryFolder) -> None:
    folder.write(PLACE, ORDER_DELAY)
    library = load_library(folder.root / "eval", RegisteredCatalog())
    [loaded] = library.select(names=["order_delay"])
    task = loaded.task
    assert task.name == "Agent handles delayed order gracefully"
    assert task.scenario is not None
    assert task.scenario.person is not None
    context = task.scenario.person.simulation_context or ""
    assert context.startswith("You are an impatient customer who escalates quickly")
    assert context.endswith("get a clear resolution.\n")
    assert task.scenario.initial_slots == {"authenticated": True, "account_id": "12345", "order_id": "ORD-9981"}
    assert [criterion.assertion.name for criterion in task.criteria] == [*TWELVE, "judged", "judged"]
    assert all(criterion.gate for criterion in task.criteria)
    assert task.criteria[0].label == "flow_started(check_order_status)"
    assert task.criteria[-1].label == "Agent does not ask the user to repeat information already provided"


def test_example_matches_its_domain(
    folder: LibraryFolder, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write(PLACE, ORDER_DELAY)
    folder.write("domain.yml", DOMAIN)
    monkeypatch.chdir(folder.root)
    for place in ("eval", "eval/scenarios", PLACE):
        assert run(["validate", place, "--json"]) == 0
        found = json.loads(capsysbinary.readouterr().out)
        assert found["tasks"] == ["Agent handles delayed order gracefully"]
        assert found["domain"] == "domain.yml"
        names = ["generative_response_is_relevant", "generative_response_is_grounded"]
        assert [name in warning for name, warning in zip(names, found["warnings"], strict=True)] == [True, True]
        assert all("assesses a single turn" in warning for warning in found["warnings"])


def test_schema_accepts_the_example_and_rejects_unknown_keys() -> None:
    found = build_schema("scenario", build_catalog_without_plugins())
    jsonschema.Draft202012Validator.check_schema(found)
    validator = jsonschema.Draft202012Validator(found)
    data = parse_yaml(ORDER_DELAY, PLACE).data
    validator.validate(data)
    spoilt: list[Callable[[dict[str, object]], object]] = [
        lambda scenario: scenario.update(nmae="x"),
        lambda scenario: scenario.update(goals={"criteria": [1]}),
        lambda scenario: scenario.update(goals={"assertions": [{"flow_strated": {"flow_ids": ["a"]}}]}),
        lambda scenario: scenario.update(goals={"assertions": [{}]}),
        lambda scenario: scenario.update(setup=None),
        lambda scenario: scenario.pop("simulation_context"),
    ]
    for spoil in spoilt:
        other = parse_yaml(ORDER_DELAY, PLACE).data
        spoil(other["scenario"])
        assert not validator.is_valid(other)


def test_every_assertion_of_the_example_is_supported() -> None:
    catalog = build_catalog_without_plugins()
    assert [name for name in (*TWELVE, "judged") if name not in catalog.assertions] == []


def test_domain_beside_the_example_is_read(tmp_path: Path) -> None:
    path = tmp_path / "domain.yml"
    path.write_text(DOMAIN, encoding="utf-8")
    domain = read_domain(path)
    assert domain.slots["transfer_amount"] == "float"
    assert domain.flows == frozenset({"check_order_status", "track_shipment", "verify_identity"})


def test_asserted_values_must_match_slot_types_but_matchers_may_not(folder: LibraryFolder) -> None:
    folder.scenario("""\
        goals:
          assertions:
            - slot_was_set: [{name: amount, value: 3}, {name: amount, value: "3"}, {name: amount, value: true}]
            - slot_was_not_set: [{name: amuont}, {name: amount, value: null}, {name: order_id, value: 3}]
            - slot_was_set: [{name: amount, value: {gt: 2}}, {name: amount}]
        """)
    domain = AgentDomain(source="domain.yml", slots={"amount": "float", "order_id": "text"})
    at = "eval/scenarios/one.yml:"
    assert folder.lines(domain) == [
        f"{at}6:72: scenario.goals.assertions.0.slot_was_set.1.value: the slot `amount` is of type float: expected a "
        "number, not '3'; write it without quotes",
        f"{at}6:100: scenario.goals.assertions.0.slot_was_set.2.value: the slot `amount` is of type float: expected a "
        "number, not true",
        f"{at}7:35: scenario.goals.assertions.1.slot_was_not_set.0.name: no slot `amuont` in domain.yml; "
        "did you mean `amount`?",
        f"{at}7:97: scenario.goals.assertions.1.slot_was_not_set.2.value: the slot `order_id` is of type text: "
        "expected text, not 3; quote it",
    ]


def test_engine_without_flows_is_a_warning(folder: LibraryFolder) -> None:
    folder.scenario("goals: {assertions: [{flow_started: {flow_ids: [a], operator: any}}]}")
    [line] = folder.warnings(None, engine="Rasa 3.6 (open source)", emits={"agent.slot.set"})
    assert line.endswith("flow_started: `flow_started`: Rasa 3.6 (open source) reports no flows")
