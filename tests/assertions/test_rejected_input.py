"""Mistakes in assertions are reported at load, with location."""

from pathlib import Path

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.suite_files.load import load_library

CATALOG = RegisteredCatalog()
SCENARIO = "scenario:\n  name: x\n  simulation_context: y\n  goals:\n    assertions:\n      - "
NOTHING = "an empty list checks nothing"

REFUSED = [
    ("flow_started:", "flow_started: `flow_ids` is missing"),
    ("flow_started: {}", "flow_started: `flow_ids` is missing"),
    ("flow_started: 5", "flow_started: expected text, not 5; quote it if it is text"),
    ("flow_started: ' '", "flow_started: expected a name, not blank text"),
    ("flow_started: {flow_ids: []}", f"flow_started.flow_ids: {NOTHING}"),
    ("flow_started: {flow_ids: [a, 7]}", "flow_started.flow_ids.1: expected text, not 7; quote it if it is text"),
    ("flow_started: {flow_ids: ['']}", "flow_started.flow_ids.0: expected a name, not blank text"),
    ("flow_started: {flow_ids: [a], operator: some}", "flow_started.operator: expected any or all, not 'some'"),
    ("flow_started: {flow_id: a}", "flow_started.flow_id: unknown key `flow_id`; did you mean `flow_ids`?"),
    ("flow_started: {flow_ids: [a], count: -1}", "flow_started.count: expected a whole number from 0, or a matcher"),
    ("flow_started: {flow_ids: [a], count: true}", "flow_started.count: expected a whole number from 0, or a matcher"),
    ("flow_started: {flow_ids: [a], turn: two}", "flow_started.turn: expected a whole number from 0, or a matcher"),
    ("flow_started: {flow_ids: [a], turn: {matches: x}}", "flow_started.turn: `matches` matches no number"),
    ("flow_started: {flow_ids: [a], turn: {gt: 2026-01-01}}", "flow_started.turn: expected a whole number from 0"),
    ("flow_started: {flow_ids: [a], turn: {get: 1}}", "flow_started.turn: unknown matcher `get`; did you mean `gt`?"),
    ("flow_completed: {}", "flow_completed: `flow_id` is missing"),
    ("flow_completed: [a]", "flow_completed: expected text, not a list"),
    ("flow_completed: {flow_id: a, step_id: b}", "flow_completed.step_id: unknown key `step_id`; did you mean"),
    ("flow_completed: {flow_id: 3}", "flow_completed.flow_id: expected text, not 3; quote it if it is text"),
    ("flow_cancelled: {flow_id: a, flow_step_id: ''}", "flow_cancelled.flow_step_id: expected a name, not blank text"),
    ("flow_not_completed: {flow_id: a, count: 0}", "flow_not_completed.count: unknown key `count`"),
    ("flow_not_started: {flow_ids: []}", f"flow_not_started.flow_ids: {NOTHING}"),
    ("action_executed: 5", "action_executed: expected text, not 5; quote it if it is text"),
    ("action_executed:", "action_executed: `name` is missing"),
    ("action_executed: {nam: x}", "action_executed.nam: unknown key `nam`; did you mean `name`?"),
    ("slot_was_set: []", f"slot_was_set: {NOTHING}"),
    ("slot_was_set: {name: s}", "slot_was_set: expected a list: put a `-` before `name`"),
    ("slot_was_set: s", "slot_was_set: expected a list, not 's'"),
    ("slot_was_set: [s]", "slot_was_set.0: expected a map such as {name: s}"),
    ("slot_was_set: [{value: 1}]", "slot_was_set.0: `name` is missing"),
    ("slot_was_set: [{name: 4}]", "slot_was_set.0.name: expected text, not 4; quote it if it is text"),
    ("slot_was_set: [{name: s, val: 1}]", "slot_was_set.0.val: unknown key `val`; did you mean `value`?"),
    ("slot_was_set: [{name: s, value: {matches: '['}}]", "slot_was_set.0.value: not a regular expression"),
    (
        "slot_was_set: [{name: s, at: end, count: 1}]",
        "slot_was_set.0: `count` counts the whole history, and `at: end` checks the last value only; leave one out",
    ),
    ("slot_was_set: [{name: s, at: start}]", "slot_was_set.0.at: expected end, not 'start'"),
    ("slot_was_not_set: []", f"slot_was_not_set: {NOTHING}"),
    ("slot_was_not_set: [{name: s, count: 1}]", "slot_was_not_set.0.count: unknown key `count`"),
    ("bot_uttered: {}", "bot_uttered: expected `utter_name`, `text_matches` or `buttons`"),
    ("bot_uttered: hello", "bot_uttered: expected a map, not 'hello'"),
    ("bot_uttered: {utter_name: ''}", "bot_uttered.utter_name: expected a name, not blank text"),
    ("bot_uttered: {text_matches: '('}", "bot_uttered.text_matches: not a regular expression"),
    ("bot_uttered: {text_match: x}", "bot_uttered.text_match: unknown key `text_match`; did you mean `text_matches`?"),
    ("bot_uttered: {buttons: []}", f"bot_uttered.buttons: {NOTHING}"),
    ("bot_uttered: {buttons: null}", f"bot_uttered.buttons: {NOTHING}"),
    ("bot_uttered: {buttons: [{payload: x}]}", "bot_uttered.buttons.0: `title` is missing"),
    ("bot_uttered: {buttons: [Yes]}", "bot_uttered.buttons.0: expected a map, not 'Yes'"),
    ("bot_uttered: {buttons: [{title: 1}]}", "bot_uttered.buttons.0.title: expected text, not 1"),
    ("bot_did_not_utter: {}", "bot_did_not_utter: expected `utter_name`, `text_matches` or `buttons`"),
    ("bot_did_not_utter: {utter_name: u, count: 1}", "bot_did_not_utter.count: unknown key `count`"),
    ("pattern_clarification_contains: []", f"pattern_clarification_contains: {NOTHING}"),
    ("pattern_clarification_contains: {}", "pattern_clarification_contains: expected `flow_ids`, or a list of names"),
    ("pattern_clarification_contains: [' ']", "pattern_clarification_contains.0: expected a name, not blank text"),
    ("pattern_clarification_contains: a", "pattern_clarification_contains: expected a list, not 'a'"),
    ("sequencing: []", f"sequencing: {NOTHING}"),
    ("sequencing: [{flow_startd: a}]", "sequencing.0: did you mean `flow_started`? expected {event: kind, …}"),
    ("sequencing: [{flow_started: 5}]", "sequencing.0: `flow_started` in a sequence takes a name, as text"),
    ("sequencing: [{flow_started: {flow_ids: [a]}}]", "sequencing.0: `flow_started` in a sequence takes a name"),
    ("sequencing: [{memory_was_not_set: a}]", "sequencing.0: `memory_was_not_set` cannot be a step: it says that"),
    (
        "sequencing: [{flow_started: a, flow_completed: a}]",
        "sequencing.0: a step has one key, not 2 (flow_started, flow_completed); put `-` before each step",
    ),
    (
        "sequencing: [{flow_started: a, within: 5 min}]",
        "sequencing.0: a step has one key, not 2 (flow_started, within); `within` can only stand beside `event: …`",
    ),
    ("sequencing: [{}]", "sequencing.0: expected {event: kind, …}, or one of"),
    ("sequencing: [{sequencing: [{flow_started: a}]}]", "sequencing.0: a sequence cannot contain another: write all"),
    ("sequencing: [[{flow_started: a}]]", "sequencing.0: a sequence cannot contain another: write all steps in one"),
    (
        "sequencing: [{bot_did_not_utter: {utter_name: a}}]",
        "sequencing.0: `bot_did_not_utter` cannot be a step: it says that",
    ),
    (
        "sequencing: [{slot_was_set: [{name: a, value: 1}]}]",
        "sequencing.0: `slot_was_set` in a sequence takes a name, as text: write `slot_was_set: a`",
    ),
    (
        "sequencing: [{flow_started: {flow_ids: [a]}}]",
        "sequencing.0: `flow_started` in a sequence takes a name, as text: write `flow_started: a`",
    ),
    (
        "sequencing: [{bot_uttered: {}}]",
        "sequencing.0: bot_uttered: expected `utter_name`, `text_matches` or `buttons`",
    ),
    (
        "sequencing: [{bot_uttered: {text_match: x}}]",
        "sequencing.0: bot_uttered: unknown key `text_match`; did you mean",
    ),
    (
        "sequencing: [{bot_uttered: {utter_name: x, turn: 1}}]",
        "sequencing.0: `bot_uttered` in a sequence takes no `count`",
    ),
    (
        "sequencing: [{skill_activated: {skil_id: a}}]",
        "sequencing.0: skill_activated: unknown key `skil_id`; did you",
    ),
    ("sequencing: [{tool_executed: {tool_name: t, count: 2}}]", "sequencing.0: `tool_executed` in a sequence takes no"),
    ("sequencing: [{tool_executed: {tool_name: t, arguments: {a.b: 1}}}]", "sequencing.0: tool_executed: an argument"),
    ("skill_completed: {skill_id: a, step_id: b}", "skill_completed.step_id: unknown key `step_id`"),
    ("ordered_block_entered: {skill_id: a, block_id: b, step_id: c}", "ordered_block_entered.step_id: unknown key"),
    ("ordered_block_completed: {skill_id: a}", "ordered_block_completed: `block_id` is missing"),
    ("memory_was_set: []", f"memory_was_set: {NOTHING}"),
    ("memory_was_set: [{name: m, value: null}]", "memory_was_set.0: `value` is null: leave it out to mean any"),
    ("memory_was_cleared: [{name: m, value: 1}]", "memory_was_cleared.0.value: unknown key `value`"),
    (
        "tool_executed: {tool_name: t, source: mcp}",
        "tool_executed: `source: mcp` and `mcp_server` must be given together",
    ),
    ("tool_executed: {tool_name: t, source: web}", "tool_executed.source: expected local or mcp, not 'web'"),
    (
        "tools_within_one_turn: {calls: [a], allow_extra_calls: true}",
        "tools_within_one_turn.calls: expected a list with",
    ),
    ("flow_startd: a", "flow_startd: unknown assertion `flow_startd`; did you mean `flow_started`?"),
]


@pytest.mark.parametrize(("written", "line"), REFUSED, ids=[written for written, _ in REFUSED])
def test_invalid_assertions_are_rejected_with_message(written: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "one.yml").write_text(SCENARIO + written + "\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_library(tmp_path, CATALOG)
    [problem] = caught.value.problems
    assert f"goals.assertions.0.{line}" in str(problem)
    assert "one.yml:6:" in str(problem)


ACCEPTED = [
    "flow_started: {flow_ids: [check_order_status], operator: Any}",
    "flow_completed: {flow_id: a, flow_step_id: null}",
    "slot_was_set: [{name: s, value: {event: unknown.kind, sandbox: nowhere}}]",
    "tool_executed: {tool_name: t, arguments: {event: unknown.kind}}",
    "bot_uttered: {buttons: [{title: Yes, sandbox: nowhere}]}",
    "pattern_clarification_contains: [Check the order]",
    "sequencing: [{tool_executed: {tool_name: t, arguments: {x: 1}}}, {skill_completed: s}]",
]


@pytest.mark.parametrize("written", ACCEPTED)
def test_unusual_but_valid_assertions_are_accepted(written: str, tmp_path: Path) -> None:
    (tmp_path / "one.yml").write_text(SCENARIO + written + "\n", encoding="utf-8")
    assert len(load_library(tmp_path, CATALOG).tasks) == 1
