"""Agents of every kind that continue a conversation they did not have."""

import json
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.contract import History, Message, Say, Turn
from clerkship.events.agent import ActionExecuted, FlowCompleted, MemorySet, Noted, SlotSet
from clerkship.rasa.agent import load_rasa, render_history
from clerkship.settings import Settings
from examples.order_support.rasa_server import serve
from tests.actors.programs import program
from tests.actors.servers import Answered, Asked, Served
from tests.actors.test_model_agent import calls, model, says, solver
from tests.rasa.servers import SmallRasa, action, bot, reply, slot
from tests.rasa.test_agent import SolverWithoutCapabilities
from tests.service.forks import fork
from tests.workbench import Workbench

TALK = """
    environment: {name: desk, simulators: {chat: {kind: chat}, drop: {kind: files}}}
    task:
      name: Keep notes
      task_item: {instruction: Be brief.}
      scenario:
        starts: person
        initial_slots: {desk: "7"}
        person: {lines: [one, two, three], end: {when: bye}}
      criteria:
        - {label: says bye, assertion: {bot_uttered: {text_matches: bye}}}
"""


class First:
    """The agent of the first conversation."""

    def on_start(self, start: Any) -> list[Any]:
        return [Say("Welcome!")]

    def on_turn(self, message: Message) -> list[Any]:
        buttons = ({"title": "Yes", "payload": "/yes"},)
        return [SlotSet(name="last", value=message.text), Say(f"re {message.text}", "utter_re", buttons), "so"]


def had(bench: Workbench) -> None:
    """Run a conversation of three turns."""
    bench.write("a.yml", TALK)
    assert bench.run_one(First).verdict == "fail"


def test_model_gets_the_history_as_messages(bench: Workbench) -> None:
    had(bench)
    asked: list[list[dict[str, Any]]] = []

    def script(messages: list[dict[str, Any]]) -> dict[str, Any]:
        asked.append(messages)
        return calls(("drop__list_files", {})) if len(asked) == 1 else says("bye")

    with Served(model(script)) as served:
        forked = fork(bench, solver(served.url), turn=3)
    assert (forked.verdict, forked.agent_error) == ("pass", "")
    assert asked[0][0]["role"] == "system"
    assert asked[0][0]["content"].startswith("Be brief.")
    assert [(message["role"], message["content"]) for message in asked[0][1:]] == [
        ("assistant", "Welcome!"),
        ("user", "one"),
        ("assistant", "re one\nso"),
        ("user", "two"),
        ("assistant", "re two\nso"),
        ("user", "three"),
    ]
    assert asked[1][-1]["role"] == "tool"


SENT = {
    "turns": [
        {"turn": 0, "text": None, "metadata": None, "say": [{"text": "Welcome!"}]},
        {
            "turn": 1,
            "text": "one",
            "metadata": None,
            "say": [
                {"kind": "agent.slot.set", "name": "last", "value": "one"},
                {"text": "re one", "utter_name": "utter_re", "buttons": [{"title": "Yes", "payload": "/yes"}]},
                {"text": "so"},
            ],
        },
    ],
    "slots": {"desk": "7", "last": "one"},
}


def test_web_server_gets_the_history_only_with_the_first_message(bench: Workbench) -> None:
    had(bench)

    def answer(asked: Asked) -> Answered:
        return 200, {}, json.dumps({"say": "bye" if json.loads(asked.body)["turn"] == 3 else "hm"}).encode()

    with Served(answer) as served:
        forked = fork(bench, served.url, turn=2)
    assert forked.verdict == "pass"
    first, second = (json.loads(asked.body) for asked in served.asked)
    assert (first["turn"], first["text"], first["history"]) == (2, "two", SENT)
    assert (second["turn"], "history" in second) == (3, False)


def test_web_server_without_history_support_can_be_warmed_up(bench: Workbench) -> None:
    had(bench)
    with Served(
        lambda asked: (200, {}, b'{"say": "bye", "report": {"kind": "agent.slot.set", "name": "x"}}')
    ) as served:
        forked = fork(bench, served.url, turn=3, warm_up=True)
    sent = [json.loads(asked.body) for asked in served.asked]
    assert [(message["turn"], message["text"]) for message in sent] == [(1, "one"), (2, "two"), (3, "three")]
    assert len({message["conversation"] for message in sent}) == 1
    slots = [event for event in bench.events(forked) if event["payload"].get("name") == "x"]
    assert len(slots) == 1  # of what it did in the turn that counts


def test_program_gets_the_history_only_with_the_first_message(bench: Workbench, tmp_path: Path) -> None:
    had(bench)
    agent = program(
        tmp_path,
        """
        for line in sys.stdin:
            message = json.loads(line)
            print(json.dumps(message.get("history")), file=sys.stderr, flush=True)
            say({"say": "bye" if message["turn"] == 3 else "hm"})
        """,
    )
    forked = fork(bench, agent, turn=2)
    assert forked.verdict == "pass"
    told = json.loads(bench.store.sidecar(forked))["agent_stderr"].splitlines()
    assert [json.loads(line) for line in told] == [SENT, None]


def test_rasa_tracker_gets_messages_and_events_of_the_history(bench: Workbench) -> None:
    had(bench)
    rasa = SmallRasa([[action("utter_bye"), bot("bye", "utter_bye")]])
    with rasa.served() as served:
        forked = fork(bench, SolverWithoutCapabilities(load_rasa(served.url, Settings())), turn=3)
    assert (forked.verdict, forked.agent_error) == ("pass", "")
    [tracker] = rasa.trackers.values()
    rows = [(row["event"], row.get("text") or row.get("name"), row.get("value")) for row in tracker]
    start = next(n for n, row in enumerate(rows) if row[:2] == ("user", "one"))
    assert rows[start - 1] == ("slot", "desk", "7")
    assert rows[start:] == [
        ("user", "one", None),
        ("slot", "last", "one"),
        ("bot", "re one", None),
        ("bot", "so", None),
        ("action", "action_listen", None),
        ("user", "two", None),
        ("slot", "last", "two"),
        ("bot", "re two", None),
        ("bot", "so", None),
        ("action", "action_listen", None),
        ("user", "three", None),
        ("action", "utter_bye", None),
        ("bot", "bye", None),
        ("action", "action_listen", None),
    ]
    assert [message["message"] for message in rasa.messages] == ["/session_start", "three"]
    kinds = bench.kinds(forked)
    after = kinds[kinds.index("run.forked") + 1 :]
    assert after[:2] == ["agent.action.executed", "chat.message.sent"]  # nothing of what was put there is its doing


def test_tracker_that_does_not_store_the_history_is_an_error(bench: Workbench) -> None:
    had(bench)
    rasa = SmallRasa(events=lambda asked: reply({"events": []}))
    bench.write("a.yml", TALK.replace('initial_slots: {desk: "7"}', ""))
    bench.run_one(First)
    with rasa.served() as served:
        forked = fork(bench, SolverWithoutCapabilities(load_rasa(served.url, Settings())), turn=3)
    assert forked.ending == "agent_failed"
    assert "did not store the conversation so far: turn 1" in forked.agent_error


def test_tracker_gets_only_the_events_it_can_store() -> None:
    turns = (
        Turn(0, None, answer=(ActionExecuted(name="action_session_start"), Say("Hello"))),
        Turn(
            1,
            "hi",
            {"channel": "web"},
            (
                ActionExecuted(name="action_look"),
                Say("", custom={"image": "i"}),
                Say("look", custom={"x": 1}),
                FlowCompleted(flow_id="f", flow_step_id="END"),
                Noted(what="active_loop", data={"name": "form"}),
                Noted(what="session_ended"),
                MemorySet(name="m"),
                ActionExecuted(name="action_listen"),
            ),
        ),
    )
    first, user, *rows = render_history(History(turns, {"day": "Monday"}))
    assert first == slot("day", "Monday")
    assert (user["event"], user["text"], user["metadata"]) == ("user", "hi", {"channel": "web"})
    assert user["parse_data"]["intent"] == {"name": None, "confidence": 0.0}
    assert [(row["event"], row.get("data")) for row in rows] == [
        ("action", None),
        ("bot", {"image": "i", "buttons": None}),
        ("bot", {"custom": {"x": 1}, "buttons": None}),
        ("flow_completed", None),
        ("active_loop", None),
        ("action", None),
    ]


ORDERS = """
    scenario:
      name: Keep notes
      simulation_context: Somebody waits for a parcel.
      setup:
        person: {lines: [log me in, "12345", {pin}, is my order late?, ORD-9981]}
      goals:
        assertions:
          - bot_uttered: {utter_name: utter_order_delayed}
"""


@pytest.mark.parametrize(
    ("turn", "warm_up", "passes"), [(4, True, True), (4, False, True), (5, True, True), (5, False, False)]
)
def test_history_restores_slots_and_warm_up_restores_flows(
    bench: Workbench, turn: int, warm_up: bool, passes: bool
) -> None:
    """An active flow is in no event, so the history cannot restore it."""
    bench.write("a.yml", ORDERS.replace("{pin}", '"4711"'))
    with serve() as rasa:
        assert bench.run_one(f"rasa:{rasa.url}").verdict == "pass"
        forked = fork(bench, turn=turn, warm_up=warm_up)
    assert (forked.verdict == "pass", forked.agent_error) == (passes, "")
