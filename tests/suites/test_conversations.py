"""The suite of conversations: which assertions it has, and what its example agent and other honest agents do in it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import yaml

from clerkship.actors.contract import Message, ReplyPart, Say, Start
from suites.conversations.agent import DESKS, READERS, RESPONSES, Agent
from tests.suites.suite_checks import check_all_pass, load_suite
from tests.suites.test_shipped import ROOT
from tests.workbench import Workbench

SUITE = ROOT / "suites" / "conversations"
JUDGED = {"generative_response_is_relevant", "generative_response_is_grounded"}
ORIGINAL = {
    *("flow_started", "flow_completed", "flow_cancelled", "action_executed", "slot_was_set", "slot_was_not_set"),
    *("bot_uttered", "bot_did_not_utter", "pattern_clarification_contains", "sequencing"),
    *JUDGED,
}
STEPS = {
    *("flow_started", "flow_completed", "flow_cancelled", "flow_interrupted", "action_executed", "slot_was_set"),
}
OWN_STEPS = {"bot_uttered", "event", "until"}
"""Keys of steps that are additions of Clerkship."""


class InCapitals(Agent):
    """Writes everything in capitals."""

    def on_turn(self, message: Message) -> list[ReplyPart]:
        parts = super().on_turn(message)
        return [replace(part, text=part.text.upper()) if isinstance(part, Say) else part for part in parts]


class WithoutButtons(Agent):
    """Shows no buttons, and does not name its responses."""

    def on_turn(self, message: Message) -> list[ReplyPart]:
        parts = super().on_turn(message)
        return [replace(part, buttons=(), utter_name=None) if isinstance(part, Say) else part for part in parts]


class Talkative(Agent):
    """Greets, and says something before and after each reply."""

    def on_start(self, start: Start) -> list[ReplyPart]:
        return [*super().on_start(start), Say("Hello, what can I do for you?")]

    def on_turn(self, message: Message) -> list[ReplyPart]:
        last = Say("I am here if you need anything else today.")
        return [Say("Certainly, thank you for telling me."), *super().on_turn(message), last]


class TalksAtTheEnd(Agent):
    """Does everything first, and then says all in one message."""

    def on_turn(self, message: Message) -> list[ReplyPart]:
        parts = super().on_turn(message)
        words = [part for part in parts if isinstance(part, Say)]
        joined = replace(words[-1], text=" ".join(part.text for part in words), utter_name=None)
        return [*(part for part in parts if not isinstance(part, Say)), joined]


class TalksFirst(Agent):
    """Says what it does before it does it."""

    def on_turn(self, message: Message) -> list[ReplyPart]:
        return sorted(super().on_turn(message), key=lambda part: not isinstance(part, Say))


def list_calls() -> dict[str, list[Any]]:
    """Return the assertions of each scenario."""
    return {name: list(loaded.task.assertions()) for name, loaded in load_suite(SUITE).tasks.items()}


def test_there_are_five_scenarios_for_each_desk() -> None:
    slots = [loaded.task.scenario.initial_slots for loaded in load_suite(SUITE).tasks.values() if loaded.task.scenario]
    assert sorted(str(each["desk"]) for each in slots) == sorted([*DESKS] * 5)


def test_all_assertions_and_steps_of_the_original_format_are_used() -> None:
    calls = [call for each in list_calls().values() for call in each]
    assert {call.name for call in calls} >= ORIGINAL
    steps = {key for call in calls if call.name == "sequencing" for step in call.args for key in step}
    assert steps == STEPS | OWN_STEPS


def test_replies_are_scored_by_a_model_only_in_scenarios_of_one_turn() -> None:
    scored = {name for name, calls in list_calls().items() if JUDGED & {call.name for call in calls}}
    scenarios = {name: loaded.task.scenario for name, loaded in load_suite(SUITE).tasks.items()}
    assert scored == {name for name, scenario in scenarios.items() if scenario is not None and scenario.has_one_turn}
    assert len(scored) == 3


def test_domain_has_the_names_of_the_agent() -> None:
    domain = yaml.safe_load((SUITE / "domain.yml").read_text(encoding="utf-8"))
    flows = yaml.safe_load((SUITE / "data" / "flows.yml").read_text(encoding="utf-8"))["flows"]
    assert domain["responses"].keys() == RESPONSES.keys()
    assert domain["slots"].keys() >= READERS.keys()
    assert flows.keys() == {"emergency", "pattern_search", *(flow for desk in DESKS.values() for flow in desk)}
    assert {step["action"] for flow in flows.values() for step in flow["steps"] if "action" in step} == {
        *domain["actions"]
    }


def run_suite(bench: Workbench, agent: type[Agent], **options: Any) -> Sequence[Any]:
    bench.folder = SUITE
    return bench.run(agent, **options)


def test_example_agent_passes_with_recorded_verdicts(bench: Workbench) -> None:
    check_all_pass(run_suite(bench, Agent, tape="replay"))


@pytest.mark.parametrize(
    "agent",
    [
        Talkative,
        *(pytest.param(agent, marks=pytest.mark.slow) for agent in (InCapitals, WithoutButtons, TalksFirst)),
        pytest.param(TalksAtTheEnd, marks=pytest.mark.slow),
    ],
)
def test_other_honest_agents_pass(bench: Workbench, agent: type[Agent]) -> None:
    check_all_pass(run_suite(bench, agent, judge="none"))
