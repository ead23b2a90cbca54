"""E2E test files, with an agent that honours slots, metadata and stubs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.contract import Message, Say, Start
from clerkship.actors.python import PythonSolver
from clerkship.cli.app import run as clerkship
from clerkship.events.agent import (
    ActionExecuted,
    ClarificationOffered,
    FlowCancelled,
    FlowCompleted,
    FlowStarted,
    SlotSet,
)
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench, written

MENU = ({"title": "Track", "payload": "/track"}, {"title": "Cancel", "payload": "/cancel"})


class OrderBot:
    """An agent for orders. It looks orders up unless that is stubbed, and knows premium members by their slots."""

    def on_start(self, start: Start) -> list[Any]:
        self.slots = dict(start.slots)
        self.stubs = start.stubs
        self.flow: str | None = None
        return [ActionExecuted(name="action_session_start"), Say("Welcome to the shop.", "utter_welcome")]

    def on_turn(self, message: Message) -> list[Any]:
        text = message.text
        if text == "hello":
            name = self.slots.get("name", "stranger")
            device = (message.metadata or {}).get("os", "nowhere")
            return [Say(f"Hello {name} on {device}!", "utter_hello", MENU)]
        if text == "where is my order":
            self.flow = "track_order"
            return [FlowStarted(flow_id=self.flow), Say("Which order?", "utter_ask_order")]
        if text == "something with my order":
            return [ClarificationOffered(flow_ids=("track_order", "cancel_order"), names=("track", "cancel"))]
        if text == "never mind" and self.flow:
            return [FlowCancelled(flow_id=self.flow, flow_step_id="ask_order"), Say("Alright.", "utter_alright")]
        if self.flow == "track_order" and text.isdecimal():
            return self._track(text)
        return []

    def _track(self, order: str) -> list[Any]:
        done = FlowCompleted(flow_id="track_order", flow_step_id="tell")
        return [SlotSet(name="order", value=order), ActionExecuted(name="action_find"), *self._find(order), done]

    def _find(self, order: str) -> list[Any]:
        stub: Any = self.stubs.get("action_find")
        if stub is not None:
            slots = [SlotSet(name=e["name"], value=e["value"]) for e in stub.get("events", ()) if e["event"] == "slot"]
            return [*slots, *(Say(said["text"]) for said in stub.get("responses", ()))]
        fast = self.slots.get("membership") == "premium"
        return [SlotSet(name="days", value=1 if fast else 5), Say(f"{order} comes {'tomorrow' if fast else 'soon'}.")]


CONFTEST = """
    fixtures:
      - premium: [{membership: premium}]
"""
GOOD = """
    fixtures:
      - known: [{name: Rosa}]
    metadata:
      - desk: {os: linux}
      - phone: {os: android}
    stub_custom_actions:
      lost_order::action_find: {events: [{event: slot, name: days, value: null}], responses: [{text: We lost it.}]}
    test_cases:
      - test_case: greeting
        fixtures: [known]
        metadata: desk
        steps:
          - user: hello
            assertions:
              - action_executed: action_session_start
              - slot_was_set: [{name: name, value: Rosa}]
              - bot_uttered: {utter_name: utter_welcome}
              - bot_uttered:
                  text_matches: "^Hello Rosa on linux!$"
                  buttons: [{title: Track, payload: /track}, {title: Cancel, payload: /cancel}]
          - user: hello
            metadata: phone
            assertions:
              - bot_uttered: {text_matches: on android}
              - bot_did_not_utter: {utter_name: utter_welcome}
              - slot_was_not_set: [{name: order}]
      - test_case: premium order
        fixtures: [premium, known]
        steps:
          - user: where is my order
            assertions:
              - flow_started: {flow_ids: [track_order], operator: all}
              - bot_uttered: {utter_name: utter_ask_order}
          - user: "17"
            assertion_order_enabled: true
            assertions:
              - slot_was_set: [{name: order, value: "17"}]
              - action_executed: action_find
              - slot_was_set: [{name: days, value: 1}]
              - bot_uttered: {text_matches: 17 comes tomorrow}
              - flow_completed: {flow_id: track_order, flow_step_id: tell}
              - bot_did_not_utter: {text_matches: soon}
      - test_case: unclear
        steps:
          - user: something with my order
            assertions: [{pattern_clarification_contains: {flow_ids: [track_order], operator: any}}]
          - user: where is my order
          - user: never mind
            assertions: [{flow_cancelled: {flow_id: track_order, flow_step_id: ask_order}}]
      - test_case: lost order
        steps:
          - utter: utter_welcome
          - user: where is my order
          - bot: Which order?
          - user: "17"
          - bot: We lost it.
          - slot_was_set: [order, {days: null}]
          - slot_was_not_set: [days, {order: "18"}]
      - test_case: a bot that says nothing
        steps:
          - user: mumble
          - user: hello
          - utter: utter_hello
"""


@pytest.fixture
def shop(bench: Workbench) -> Workbench:
    bench.write("conftest.yml", CONFTEST)
    bench.write("tests/orders.yml", GOOD)
    return bench


def outcome(task_run: TaskRun) -> dict[str, bool]:
    return {criterion.label: criterion.passed for criterion in written(task_run)}


def test_file_with_test_cases_runs_and_passes(shop: Workbench) -> None:
    task_runs = shop.run(OrderBot)
    results = {task_run.task: (task_run.verdict, task_run.ending) for task_run in task_runs}
    names = ["greeting", "premium order", "unclear", "lost order", "a bot that says nothing"]
    assert results == dict.fromkeys(names, ("pass", "person_done"))
    assert {len(written(task_run)) for task_run in task_runs} == {7, 9, 2, 5, 1}
    assert shop.exit_code() == 0


class ReorderingBot(OrderBot):
    """The same agent, but it answers before it acts, and ignores the slots and stubs of the test case."""

    def on_start(self, start: Start) -> list[Any]:
        return super().on_start(Start())

    def _track(self, order: str) -> list[Any]:
        first, *others = super()._track(order)
        return [*others, first]


def test_another_agent_fails_each_case_where_it_differs(shop: Workbench) -> None:
    results = {task_run.task: outcome(task_run) for task_run in shop.run(ReorderingBot)}
    assert [label for label, passed in results["premium order"].items() if not passed] == [
        "turn 2: slot_was_set(days=1)",
        "turn 2: bot_uttered(17 comes tomorrow)",
        "turn 2: bot_did_not_utter(soon)",
        "turn 2: in order",
    ]
    assert results["greeting"]["turn 1: slot_was_set(name='Rosa')"]  # the fixture set it, whatever the agent made of it
    assert not results["greeting"]["turn 1: bot_uttered(^Hello Rosa on linux!$)"]
    assert not results["lost order"]["turn 2: bot(We lost it.)"]
    assert results["lost order"]["turn 2: slot_was_not_set(days, order='18')"] is False
    assert results["unclear"] == dict.fromkeys(results["unclear"], True)


def test_events_in_the_wrong_order_fail(bench: Workbench) -> None:
    bench.write(
        "order.yml",
        """
        test_cases:
          - test_case: order
            steps:
              - user: where is my order
              - user: "17"
                assertion_order_enabled: true
                assertions:
                  - slot_was_set: [{name: order}]
                  - action_executed: action_find
        """,
    )
    assert outcome(bench.run_one(OrderBot)) == {
        "turn 2: slot_was_set(order)": True,
        "turn 2: action_executed(action_find)": True,
        "turn 2: in order": True,
    }
    task_run = bench.run_one(ReorderingBot)
    assert outcome(task_run)["turn 2: slot_was_set(order)"]
    assert not outcome(task_run)["turn 2: in order"]
    assert task_run.verdict == "fail"


def test_repeated_message_is_two_turns(bench: Workbench) -> None:
    bench.write(
        "twice.yml",
        """
        test_cases:
          - test_case: twice
            steps:
              - {user: again, assertions: [{bot_uttered: {text_matches: "^1$"}}]}
              - {user: again, assertions: [{bot_uttered: {text_matches: "^2$"}}]}
              - {user: again, assertions: [{bot_uttered: {text_matches: "^2$"}}]}
        """,
    )

    def counts(message: Message) -> str:
        return str(message.turn)

    assert list(outcome(bench.run_one(counts)).values()) == [True, True, False]


def agent_without_on_start(message: Message) -> str:
    return "hello"


def test_stubs_for_an_agent_without_on_start_are_refused_before_anything_runs(shop: Workbench) -> None:
    with pytest.raises(InputError) as caught:
        shop.run(agent_without_on_start)
    [problem] = caught.value.problems
    assert (Path(problem.file).name, problem.line) == ("orders.yml", 51)
    assert problem.message == "'lost order' stubs `action_find`, but agent does not support stubs"
    assert len(shop.run(agent_without_on_start, tasks=("greeting", "unclear"))) == 2


def test_tasks_with_stubs_are_skipped_if_asked_and_validate_names_them(
    shop: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    agent = ["-a", f"python:{__name__}:agent_without_on_start"]
    assert clerkship(["run", "suite", *agent, "--skip-stubbed"]) == 1
    messages = " ".join(capsys.readouterr().out.split())
    assert "! 1 task with stubs is skipped: 'lost order';" in messages
    assert "[1/1]" not in messages
    assert "lost order" not in messages.partition("skipped: 'lost order'")[2]
    assert clerkship(["run", "suite/tests/orders.yml::lost order", *agent, "--skip-stubbed"]) == 2
    assert "every selected task stubs actions, and" in " ".join(capsys.readouterr().err.split())
    assert clerkship(["validate", "suite"]) == 0
    assert ": 1 task stubs actions: 'lost order'; `run` refuses them" in " ".join(capsys.readouterr().out.split())
    assert clerkship(["validate", "suite", *agent]) == 0
    assert "agent_without_on_start does not support stubs; use" in " ".join(capsys.readouterr().out.split())
    assert clerkship(["validate", "suite", "-a", f"python:{__name__}:OrderBot"]) == 0
    assert "stub" not in capsys.readouterr().out


def test_stubs_are_refused_for_an_agent_that_cannot_honour_them(shop: Workbench) -> None:
    request = RunRequest(path=shop.folder, agent=PythonSolver("bot", OrderBot), tasks=("lost order",))
    plan = replace(
        plan_run(request, Settings(), CATALOG), solver=PythonSolver("agent without on_start", agent_without_on_start)
    )
    execute(plan, shop.store, CATALOG)
    [task_run] = shop.store.task_runs(plan.run.id)
    assert (task_run.status, task_run.verdict) == ("errored", None)
    assert task_run.error == "agent without on_start has no on_start, which is needed to pass the stubs of actions"


def test_one_case_of_a_file_can_be_run_alone(
    shop: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shop.write("tests/again.yml", "test_cases: [{test_case: unclear, steps: [{user: hello}]}]")
    agent = f"python:{__name__}:OrderBot"
    assert clerkship(["run", "suite/tests/orders.yml::lost order", "-a", agent]) == 0
    assert clerkship(["run", "suite/tests/orders.yml::unclear", "-a", agent]) == 0
    messages = capsys.readouterr().out
    assert "1 task  agent" in messages
    assert "[1/1] pass: unclear (orders)" in messages  # the other of this name is in another file
    assert clerkship(["run", "suite/tests/orders.yml::unclar", "-a", agent]) == 2
    assert "no task `unclar`; did you mean `unclear`?" in " ".join(capsys.readouterr().err.split())
    assert clerkship(["run", "suite/tests/orders.yml::order", "-a", agent]) == 2
    assert "2 tasks match `order`; use one of: premium order; lost order" in " ".join(capsys.readouterr().err.split())


def test_unused_parts_of_a_file_are_warnings(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    bench.write(
        "a.yml",
        "test_cases: [{test_case: a, steps: [{user: x, assertions: [{bot_uttered: {text_matches: h}}]}, {bot: y}]}]",
    )
    note = (
        "! suite/a.yml:1:96: test_cases.0.steps.1: 1 step is not checked: 'a' has assertions, so only these are checked"
    )
    assert clerkship(["validate", "suite"]) == 0
    assert note in " ".join(capsys.readouterr().out.split())
    assert clerkship(["run", "suite", "-a", f"python:{__name__}:agent_without_on_start"]) == 0
    assert note in " ".join(capsys.readouterr().out.split())
