"""Every assertion takes time linear in the number of events."""

from typing import Any

import pytest

from clerkship.assertions.registry import load_assertions
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.events.evidence import Evidence
from clerkship.sandbox.assertion import Assertion
from tests.assertions.log_builder import LogBuilder
from tests.waiting import processor_limit

BY_NAME = {assertion.name: assertion for assertion in load_assertions()}
# Each as it passes, and as it fails after having looked at everything.
ASKED: dict[str, tuple[Any, Any]] = {
    "flow_started": ({"flow_ids": ["last"]}, {"flow_ids": ["last", "none"]}),
    "flow_completed": ({"flow_id": "last", "flow_step_id": "end"}, {"flow_id": "f", "flow_step_id": "end"}),
    "flow_cancelled": ({"flow_id": "last"}, {"flow_id": "none"}),
    "flow_not_completed": ("none", "last"),
    "action_executed": ("last_action", {"name": "a", "arguments": {"x": {"matches": "^z"}}}),
    "slot_was_set": ([{"name": "last", "value": 1}], [{"name": "s", "value": "none"}, {"name": "none"}]),
    "slot_was_not_set": ([{"name": "none"}], [{"name": "s", "value": {"not": "none"}}]),
    "bot_uttered": ({"text_matches": "last w[o]rd"}, {"text_matches": "no w[o]rd", "utter_name": "none"}),
    "bot_did_not_utter": ({"text_matches": "n[o]ne"}, {"text_matches": "last w[o]rd"}),
    "pattern_clarification_contains": ({"flow_ids": ["last"]}, {"flow_ids": ["f", "none"]}),
    "sequencing": (
        [{"flow_started": "f"}, {"action_executed": "a"}, {"slot_was_set": "s"}] * 3 + [{"flow_completed": "last"}],
        [{"flow_started": "f"}, {"action_executed": "a"}, {"slot_was_set": "s"}] * 3 + [{"flow_completed": "none"}],
    ),
    "tool_executed": ("last", {"tool_name": "t", "arguments": {"x": 2}}),
    "tool_called": ("last", {"tool_name": "t", "arguments": {"x": 2}}),
    "tool_group": ({"calls": [{"tool_name": "last"}]}, {"calls": [{"tool_name": "t"}, {"tool_name": "none"}]}),
}


def build_history(rounds: int) -> Evidence:
    """Return a log with ten events per round, and one event of each kind at the end."""
    log_builder = LogBuilder()
    events: list[Payload] = [
        agent.FlowStarted(flow_id="f"),
        agent.ActionExecuted(name="a"),
        agent.SlotSet(name="s", value="v"),
        agent.FlowCompleted(flow_id="f", flow_step_id="s"),
        agent.FlowCancelled(flow_id="f"),
        agent.ClarificationOffered(flow_ids=("f", "g")),
        agent.ToolExecuted(tool_name="t", arguments={"x": 1}),
        agent.MemorySet(name="m", value=1),
    ]
    last: list[Payload] = [
        agent.FlowStarted(flow_id="last"),
        agent.FlowCancelled(flow_id="last"),
        agent.FlowCompleted(flow_id="last", flow_step_id="end"),
        agent.ActionExecuted(name="last_action"),
        agent.SlotSet(name="last", value=1),
        agent.ClarificationOffered(flow_ids=("last",)),
        agent.ToolExecuted(tool_name="last"),
    ]
    for number in range(rounds):
        log_builder.add_message(f"What about number {number}?", actor="person")
        for event in events:
            log_builder.add_event(event)
        log_builder.add_message(
            f"That is answer {number}, with some more words to be searched.", utter_name="utter_answer"
        )
    log_builder.add_message("And then?", actor="person")
    for event in last:
        log_builder.add_event(event)
    log_builder.add_message("My last word.")
    return log_builder.evidence()


def list_assertions(index: int) -> list[Assertion]:
    """Return all assertions that pass, or all that fail."""
    return [BY_NAME[name].model_validate(args[index]) for name, args in ASKED.items()]


@pytest.mark.parametrize("passes", [True, False])
def test_time_of_all_assertions_on_ten_thousand_events_is_limited(passes: bool) -> None:
    evidence, assertions = build_history(1000), list_assertions(0 if passes else 1)
    assert len(evidence.events) > 10_000
    with processor_limit(10):  # all together take a tenth of a second
        checks = [assertion.check(evidence) for assertion in assertions]
    assert [check.passed for check in checks] == [passes] * len(checks)
