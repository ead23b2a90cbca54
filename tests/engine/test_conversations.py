"""Conversations of scenario files: slots, actions, messages and endings."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from clerkship.actors.contract import Message, ReplyPart, Say, Start
from clerkship.events.agent import ActionExecuted, FlowCompleted, FlowStarted, SlotSet
from clerkship.model.errors import InputError
from clerkship.service.task_view import EventFilter, load_task_view
from tests.workbench import Workbench

TALK = """\
scenario:
  name: Talk
  simulation_context: You want to know where your order is.
  setup:
    initial_slots: {authenticated: true, order_id: "ORD-1"}
    person: {lines: [Hello, Where is it?, "Thanks"]}
"""


class Bot:
    """An agent that greets, acts and replies."""

    def on_start(self, start: Start) -> Sequence[ReplyPart]:
        return [ActionExecuted(name="action_session_start"), SlotSet(name="authenticated", value=False), Say("Hi!")]

    def on_turn(self, message: Message) -> Sequence[ReplyPart]:
        return [
            FlowStarted(flow_id=f"flow_{message.turn}"),
            Say(f"About {message.slots['order_id']}", utter_name="utter_about"),
            FlowCompleted(flow_id=f"flow_{message.turn}"),
        ]


def test_slots_of_the_scenario_override_what_the_agent_does_on_start(bench: Workbench) -> None:
    bench.write("eval/scenarios/talk.yml", TALK)
    task_run = bench.run_one(Bot)
    received = [(event["kind"], event["actor"]) for event in bench.events(task_run)[3:9]]
    assert received == [
        ("agent.action.executed", "agent"),
        ("agent.slot.set", "agent"),
        ("chat.message.sent", "agent"),
        ("agent.slot.set", "scenario"),
        ("agent.slot.set", "scenario"),
        ("chat.message.sent", "person"),
    ]
    assert (task_run.verdict, task_run.ending) == ("ungraded", "person_done")


def test_actions_and_messages_keep_their_order_within_a_turn(bench: Workbench) -> None:
    bench.write("talk.yml", TALK)
    events = bench.events(bench.run_one(Bot))
    first = next(n for n, event in enumerate(events) if event["payload"].get("text") == "Hello")
    kinds = [event["kind"] for event in events[first : first + 5]]
    assert kinds == [
        "chat.message.sent",
        "agent.flow.started",
        "chat.message.sent",
        "agent.flow.completed",
        "chat.message.sent",
    ]
    assert events[first]["payload"]["turn"] == 1
    assert [event["payload"]["turn"] for event in events if event["payload"].get("text") == "Hi!"] == [0]


def test_agent_without_on_start_gets_the_slots_in_every_message(bench: Workbench) -> None:
    bench.write("talk.yml", TALK)
    seen: list[dict[str, Any]] = []

    def agent(message: Message) -> str:
        seen.append(dict(message.slots))
        return "yes"

    bench.run_one(agent)
    assert seen == [{"authenticated": True, "order_id": "ORD-1"}] * 3


def test_only_person_with_lines_left_continues_after_silence(bench: Workbench) -> None:
    bench.write("talk.yml", TALK)
    messages: list[str] = []

    def silent(message: Message) -> None:
        messages.append(message.text)

    assert bench.run_one(silent).ending == "agent_silent"
    assert messages == ["Hello", "Where is it?", "Thanks"]
    assert bench.run_one(lambda message: "yes" if message.turn == 1 else "  ").ending == "person_done"
    bench.write("talk.yml", TALK.replace('{lines: [Hello, Where is it?, "Thanks"]}', "{opening: Hello}"))
    task_run = bench.run_one(silent)
    assert (task_run.status, task_run.ending) == ("completed", "agent_silent")


def test_actions_without_a_message_count_as_silence_and_are_logged(bench: Workbench) -> None:
    bench.write("talk.yml", TALK.replace('{lines: [Hello, Where is it?, "Thanks"]}', "{opening: Hello}"))
    task_run = bench.run_one(lambda message: [ActionExecuted(name="action_listen")])
    assert task_run.ending == "agent_silent"
    assert "agent.action.executed" in bench.kinds(task_run)


def test_metadata_of_a_line_reaches_the_agent_and_the_log(bench: Workbench) -> None:
    bench.write("talk.yml", TALK.replace('"Thanks"]', "{say: Thanks, metadata: {device: linux}}]"))
    seen: list[Any] = []

    def agent(message: Message) -> str:
        seen.append(message.metadata)
        return "yes"

    bench.run_one(agent)
    assert seen == [None, None, {"device": "linux"}]


BUTTONS = """\
    scenario:
      name: Buttons
      simulation_context: You press buttons.
      setup:
        person:
          opening: Hello
          script:
            - {when: Which, press: "^Track"}
            - {when: Which, say: neither}
          end: {when: Done}
    """


@pytest.mark.parametrize(
    ("buttons", "text"),
    [
        (({"title": "Cancel"}, {"title": "Track it", "payload": "/track"}), "/track"),
        (({"title": "Track"},), "Track"),
        ((), "neither"),
    ],
)
def test_person_presses_a_matching_button(bench: Workbench, buttons: tuple[Any, ...], text: str) -> None:
    bench.write("buttons.yml", BUTTONS)
    messages: list[str] = []

    def agent(message: Message) -> list[Say]:
        messages.append(message.text)
        return [Say("Which?", buttons=buttons)] if message.turn == 1 else [Say("Done")]

    assert bench.run_one(agent).ending == "person_done"
    assert messages == ["Hello", text]


def test_missing_button_is_reported_when_the_person_gives_up(bench: Workbench) -> None:
    bench.write("buttons.yml", BUTTONS.replace("            - {when: Which, say: neither}\n", ""))
    task_run = bench.run_one(lambda message: Say("Which?", buttons=({"title": "track it"}, {"title": "No"})))
    assert task_run.ending == "nothing_left"
    [ended] = [e["payload"] for e in bench.events(task_run) if e["kind"] == "chat.session.ended"]
    assert ended["detail"] == "rule 1 fits, but no button matches '^Track'; buttons: track it, No"
    messages = load_task_view(bench.store, task_run, EventFilter(limit=0)).utterances
    assert messages[-1] == ("person", f"({ended['detail']})")


def test_custom_payloads_reach_the_person(bench: Workbench) -> None:
    bench.write(
        "custom.yml",
        """\
        scenario:
          name: Custom
          simulation_context: x
          setup:
            person:
              opening: Where is my parcel?
              script: [{when: {event: chat.message.sent, where: {custom.map.zoom: 3}}, say: I see it}]
              end: {when: Done}
        """,
    )

    def agent(message: Message) -> list[Say]:
        return [Say("", custom={"map": {"zoom": 3}})] if message.turn == 1 else [Say("Done")]

    task_run = bench.run_one(agent)
    assert task_run.ending == "person_done"
    assert [e["payload"]["text"] for e in bench.events(task_run) if e["actor"] == "person" and "text" in e["payload"]][
        -1
    ] == "I see it"


def test_turn_limit_ends_the_conversation_and_is_reported(bench: Workbench) -> None:
    bench.write("talk.yml", TALK)
    assert bench.run_one(Bot, max_turns=2).ending == "turn_limit"
    bench.write("talk.yml", TALK + "  max_turns: 1\n")
    with pytest.raises(InputError, match="max_turns"):
        bench.run_one(Bot)
    bench.write("talk.yml", TALK.replace("person:", "max_turns: 1\n    person:"))
    assert bench.run_one(Bot, max_turns=2).ending == "turn_limit"


def slow(message: Message) -> str:
    while message.turn == 2:
        pass
    return "yes"


async def waits(message: Message) -> str:
    if message.turn == 2:
        await asyncio.Event().wait()
    return "yes"


def late(message: Message) -> str:
    if message.turn == 2:
        time.sleep(0.15)  # longer than the turn timeout
    return "yes"


@pytest.mark.parametrize("agent", [slow, waits, late])
def test_reply_after_the_turn_timeout_fails_and_is_not_requested_again(bench: Workbench, agent: Any) -> None:
    bench.write("talk.yml", TALK + "  goals: {assertions: [bot_uttered: {text_matches: yes}]}\n")
    task_run = bench.run_one(agent, turn_timeout=0.1)
    assert (task_run.status, task_run.ending, task_run.verdict) == ("timed_out", "turn_timed_out", "fail")
    assert task_run.criteria[0].passed  # checked and shown as it stood
    lines = [e["payload"]["text"] for e in bench.events(task_run) if e["actor"] == "person" and "text" in e["payload"]]
    assert lines == ["Hello", "Where is it?"]
    assert bench.exit_code() == 1


def test_timeout_of_the_run_is_not_reported_as_turn_timeout(bench: Workbench) -> None:
    bench.write("talk.yml", TALK)
    task_run = bench.run_one(waits, timeout=0.3, turn_timeout=30)
    assert (task_run.status, task_run.ending) == ("timed_out", "timed_out")


def test_error_in_on_start_is_the_agents_failure(bench: Workbench) -> None:
    bench.write("talk.yml", TALK)

    class Broken(Bot):
        def on_start(self, start: Start) -> Sequence[ReplyPart]:
            raise RuntimeError("no database")

    task_run = bench.run_one(Broken)
    assert (task_run.status, task_run.ending) == ("completed", "agent_failed")
    assert "no database" in task_run.agent_error


def test_agent_cannot_report_events_of_others(bench: Workbench) -> None:
    bench.write("talk.yml", TALK)
    task_run = bench.run_one(lambda message: [{"kind": "run.ended", "ending": "agent_done"}])
    assert "unknown kind `run.ended` in a report" in task_run.agent_error


def test_person_without_a_model_is_refused_before_anything_runs(bench: Workbench) -> None:
    bench.write("eval/a.yml", "scenario: {name: A, simulation_context: x}\n")
    bench.write("eval/b.yml", "scenario: {name: B, simulation_context: x, setup: {initial_slots: {a: 1}}}\n")
    with pytest.raises(InputError, match="some people must be played by a model") as refused:
        bench.run("nop")
    files = [str(bench.folder / name) for name in ("eval/a.yml", "eval/b.yml")]
    assert [problem.file for problem in refused.value.problems] == files


def test_person_without_a_model_among_others_is_errored_and_the_others_run(bench: Workbench) -> None:
    bench.write("eval/a.yml", "scenario: {name: A, simulation_context: x}\n")
    bench.write("eval/talk.yml", TALK)
    results = {task_run.task: task_run for task_run in bench.run(Bot)}
    assert (results["A"].status, results["Talk"].status) == ("errored", "completed")
    assert "the person must be played by a model, and none is configured; give --person" in results["A"].error
    assert bench.exit_code() == 2


def test_agent_may_change_its_copy_of_the_slots(bench: Workbench) -> None:
    bench.write("talk.yml", TALK.replace("authenticated: true", "items: [1]"))

    class Grabs(Bot):
        def on_start(self, start: Start) -> Sequence[ReplyPart]:
            start.slots["items"].append(2)  # type: ignore[union-attr]
            start.slots["verified"] = True  # type: ignore[index]
            return []

        def on_turn(self, message: Message) -> Sequence[ReplyPart]:
            message.slots["items"].append(3)  # type: ignore[union-attr]
            return ["yes"]  # type: ignore[list-item]

    for task_run in bench.run(Grabs, trials=2, concurrency=1):
        slots = [e["payload"] for e in bench.events(task_run) if e["kind"] == "agent.slot.set"]
        assert slots == [{"name": "items", "value": [1]}, {"name": "order_id", "value": "ORD-1"}]


def test_on_start_has_the_turn_timeout(bench: Workbench) -> None:
    bench.write("talk.yml", TALK)

    class Slow(Bot):
        def on_start(self, start: Start) -> Sequence[ReplyPart]:
            time.sleep(0.15)  # longer than the turn timeout
            return []

    assert bench.run_one(Slow, turn_timeout=0.1).ending == "turn_timed_out"


def test_value_of_a_variable_is_in_no_verdict(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", 'sk-"live"-77')
    goals = "  goals: {assertions: [bot_uttered: {text_matches: '${API_KEY}'}]}\n"
    bench.write("talk.yml", TALK + goals)
    task_run = bench.run_one(Bot)
    assert task_run.verdict == "fail"
    assert task_run.criteria[0].label == "bot_uttered(${API_KEY})"
    assert "live" not in task_run.model_dump_json()
    assert "${API_KEY}" in str(task_run.criteria[0].evidence)


def test_variables_are_expanded_at_run_time_and_never_stored(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORDER_SECRET", "s3cret")
    bench.write("talk.yml", TALK.replace("ORD-1", "${ORDER_SECRET}").replace("Thanks", "$${KEPT}"))
    task_run = bench.run_one(Bot)
    messages = [e["payload"]["text"] for e in bench.events(task_run) if e["kind"] == "chat.message.sent"]
    assert "About s3cret" in messages
    assert "${KEPT}" in messages
    stored = bench.store.blob(task_run.snapshot)
    assert b"s3cret" not in stored
    assert b"${ORDER_SECRET}" in stored


@pytest.mark.parametrize("value", ["true", "judged", "2026", "null", "passed"])
def test_a_variable_may_have_any_value(bench: Workbench, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("WORD", value)
    bench.write("talk.yml", TALK + "  goals: {assertions: [bot_uttered: {text_matches: '${WORD}'}]}\n")
    task_run = bench.run_one(Bot)
    assert (task_run.status, task_run.verdict) == ("completed", "fail")
    assert task_run.criteria[0].evidence[0].expected == {"matches": "${WORD}"}


def test_the_same_seed_gives_the_same_bytes(bench: Workbench) -> None:
    bench.write("talk.yml", TALK)
    assert bench.run_one(Bot).head == bench.run_one(Bot).head
