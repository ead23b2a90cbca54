"""Labelled sets: valid content, and mistakes with their places."""

from pathlib import Path
from textwrap import dedent

import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.engine.labelled import EVENTS, build_events
from clerkship.events.agent import ActionExecuted, FlowStarted, SlotSet, ToolExecuted
from clerkship.model.errors import InputError
from clerkship.suite_files.calibration import LabelledSet, load_labelled
from clerkship.suite_files.load import load_library

GOOD = """
labelled:
  - name: Late
    simulation_context: You are in a hurry.
    turns:
      - agent: Hello.
      - user: Why?
        events:
          - flow_started: check_order
          - agent.action.executed: {name: look_up, arguments: {id: 7}}
          - slot_was_set: [{name: order, value: 7}, {name: late, value: true}]
          - tool-executed: {tool_name: parcels, is_error: true, error_message: down}
        agent: [It snows., It comes on Friday.]
      - user: Thanks.
    labels:
      - {criterion: It says why, passed: true, note: snow}
      - {criterion: It says when, passed: false}
"""


def read(folder: Path, text: str) -> LabelledSet:
    """Load a file with this text."""
    path = folder / "labelled.yml"
    path.write_text(dedent(text), encoding="utf-8")
    return load_labelled(path, EVENTS)


def problems(folder: Path, text: str) -> list[str]:
    """Return the problems of a text: line, key and message."""
    with pytest.raises(InputError) as caught:
        read(folder, text)
    assert {Path(problem.file).name for problem in caught.value.problems} == {"labelled.yml"}
    return [f"{problem.line}: {problem.key}: {problem.message}" for problem in caught.value.problems]


def test_turns_become_events_in_order(tmp_path: Path) -> None:
    [item] = read(tmp_path, GOOD).items
    found = build_events(item)
    told = [(event.actor, event.kind, getattr(event.payload, "text", None)) for event in found]
    assert told == [
        ("agent", "chat.message.sent", "Hello."),
        ("person", "chat.message.sent", "Why?"),
        ("agent", "agent.flow.started", None),
        ("agent", "agent.action.executed", None),
        ("agent", "agent.slot.set", None),
        ("agent", "agent.slot.set", None),
        ("agent", "agent.tool.executed", None),
        ("agent", "chat.message.sent", "It snows."),
        ("agent", "chat.message.sent", "It comes on Friday."),
        ("person", "chat.message.sent", "Thanks."),
    ]
    assert [event.payload for event in found[2:7]] == [
        FlowStarted(flow_id="check_order"),
        ActionExecuted(name="look_up", arguments={"id": 7}),
        SlotSet(name="order", value=7),
        SlotSet(name="late", value=True),
        ToolExecuted(tool_name="parcels", is_error=True, error_message="down"),
    ]
    assert [label.passed for label in item.conversation.labels] == [True, False]


def test_digest_changes_with_the_text(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD).digest != read(tmp_path, GOOD.replace("Friday", "Monday")).digest


ONE = """
labelled:
  - name: Late
    turns:
      - user: Why?
        agent: It snows.
    labels:
      - {criterion: It says why, passed: true}
"""


TURN = "      - user: Why?\n        agent: It snows."
TURNS, LABEL, EVENT = "labelled.0.turns.0", "labelled.0.labels.0", "labelled.0.turns.0.events.0"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("labelled:", "labeled:", "2: : expected a map with `labelled`"),
        ("passed: true", "passed: yes", f"8: {LABEL}.passed: expected true or false, not 'yes'"),
        ("passed: true", "pased: true", f"8: {LABEL}.pased: unknown key `pased`"),
        ("It says why", "' '", f"8: {LABEL}.criterion: expected text that is not blank, not ' '"),
        (TURN, "      - user: 7", f"5: {TURNS}.user: expected text"),
        (TURN, "      - {}", f"5: {TURNS}: the turn is empty"),
        (f"    turns:\n{TURN}\n", "", "3: labelled.0: give either `turns`, or `run` and `task`"),
        ("    turns:", "    run: latest\n    turns:", "3: labelled.0: give either `turns`, or `run` and `task`"),
        ("    turns:", "    trial: 2\n    turns:", "3: labelled.0: `trial` needs `run` and `task`"),
        ("agent: It snows.", "events: [{flow_startd: x}]", f"6: {EVENT}.flow_startd: unknown event"),
        ("agent: It snows.", "events: [flow_started]", f"6: {EVENT}: expected a map"),
        ("agent: It snows.", "events: [{flow_started: a, x: b}]", f"6: {EVENT}: expected a map with one key"),
        ("agent: It snows.", "events: [{flow_started: {flow: a}}]", f"6: {EVENT}.flow_started"),
        ("agent: It snows.", "events: [{slot_was_set: {name: [1]}}]", f"6: {EVENT}.slot_was_set.name"),
    ],
)
def test_mistake_is_reported_with_its_place(tmp_path: Path, before: str, after: str, told: str) -> None:
    assert before in ONE
    [found] = problems(tmp_path, ONE.replace(before, after))
    assert found.startswith(told)


def test_duplicate_names_and_criteria_are_rejected(tmp_path: Path) -> None:
    twice = ONE + ONE.removeprefix("\nlabelled:\n") + "      - {criterion: 'It says why ', passed: false}\n"
    assert problems(tmp_path, twice) == [
        "9: labelled.1.name: two conversations have the name 'Late'",
        "15: labelled.1.labels.1.criterion: this criterion has two labels",
    ]


def test_all_mistakes_are_reported_together(tmp_path: Path) -> None:
    text = ONE.replace("agent: It snows.", "events: [{nope: 1}, {flow_started: {}}]").replace("Why?", "Why?\n")
    assert len(problems(tmp_path, text)) == 2


def test_missing_or_invalid_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.yml: it is not a file"):
        load_labelled(tmp_path / "none.yml", EVENTS)
    assert "not YAML" in problems(tmp_path, "labelled: [")[0]


def test_labelled_set_beside_scenarios_is_validated(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("scenario: {name: A, simulation_context: B, setup: {person: {opening: Hi}}}")
    (tmp_path / "labelled.yml").write_text(GOOD)
    assert list(load_library(tmp_path, build_catalog_without_plugins()).tasks) == ["A"]
    (tmp_path / "labelled.yml").write_text(GOOD.replace("passed: true", "passed: 1"))
    with pytest.raises(InputError, match=r"labelled.yml:\d+:\d+: labelled.0.labels.0.passed: expected true or false"):
        load_library(tmp_path, build_catalog_without_plugins())
