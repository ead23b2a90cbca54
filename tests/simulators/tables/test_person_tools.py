"""People with tools: functions over tables that a simulated person calls, scripted or played by a model."""

import json
from typing import Any

import pytest

from clerkship.actors.contract import Message
from clerkship.model.errors import InputError
from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.simulators.tables.handle import TableFunctions
from tests.service.forks import fork
from tests.workbench import Workbench

FUNCTIONS = '''
def look_up_line(db, number: str) -> dict:
    """Look up a line of the network."""
    return db["lines"][number]


def unblock_line(db, number: str) -> str:
    """Unblock a line."""
    db["lines"][number]["blocked"] = False
    return "done"


def restart_phone(db) -> str:
    """Restart your telephone."""
    phone = db["phone"]["own"]
    if not phone["charged"]:
        raise ValueError("it does not start: the battery is empty")
    blocked = db["lines"][phone["number"]]["blocked"]
    phone["bars"], phone["restarts"] = 0 if blocked else 4, phone["restarts"] + 1
    return f"{phone['bars']} bars after restart {phone['restarts']}"


def count_calls(db, kept) -> int:
    """Count the calls since something was forgotten."""
    if kept.get("calls", 0) >= 9:
        raise ValueError("that is enough")
    kept["calls"] = kept.get("calls", 0) + 1
    return kept["calls"]


def set_volume(db, level: int) -> dict:
    """Set the volume of your telephone."""
    db["phone"]["own"]["volume"] = level
    return {"volume": level}


def has_signal(db, bars: int) -> bool:
    """Whether the telephone has so many bars."""
    return db["phone"]["own"]["bars"] >= bars
'''
DATASET = """
dataset:
  name: network
  type: tables
  tables: {lines: lines.json, phone: phone.json}
  functions: functions.py
  not_for_agents: [restart_phone, set_volume, has_signal, count_calls]
"""
PERSON = """
{tools: [restart_phone, set_volume], opening: My telephone has no signal.,
 script: [{when: restart, use: restart_phone, say: "It says: {result}."}],
 lines: [{use: {name: set_volume, arguments: {level: 7}}, say: "The volume is {result}."}, Thanks.]}
"""
SIGNAL = "{table_function_returns: {function: has_signal, arguments: {bars: 4}}}"
ONLY_THESE = (
    "{table_no_other_changes: {calls: [{name: restart_phone}, {name: unblock_line, arguments: {number: '1'}}, "
    "{name: restart_phone}, {name: set_volume, arguments: {level: 7}}]}}"
)


def write_suite(bench: Workbench, person: str = PERSON, criterion: str = SIGNAL, more: str = "") -> None:
    """Write a network with one telephone, and a task about it."""
    bench.write("functions.py", FUNCTIONS)
    bench.write("lines.json", '{"1": {"blocked": true}}')
    bench.write("phone.json", '{"own": {"number": "1", "bars": 0, "charged": true, "restarts": 0, "volume": 3}}')
    bench.write("dataset.yml", DATASET)
    bench.write(
        "task.yml",
        f"""
environment: {{name: network, datasets: [network], simulators: {{desk: {{kind: tables}}, chat: {{kind: chat}}}}}}
task:
  name: No signal
  environment: network
  scenario: {{starts: person, {more} person: {" ".join(person.split())}}}
  criteria:
    - {{label: as expected, assertion: {criterion}}}
""",
    )


class Helper:
    """Unblocks the line and asks for a restart."""

    def on_turn(self, message: Message, sandboxes: Sandboxes) -> str:
        """Answer a message."""
        desk = sandboxes.get_as(TableFunctions)
        if message.turn == 1:
            return "Please restart it."
        if message.turn == 2:
            desk.call_function("unblock_line", number="1")
            return "Now restart it again."
        return "I see."


def list_uses(bench: Workbench, task_run: Any) -> list[dict[str, Any]]:
    """Return the payloads of the tools that people used."""
    return [event["payload"] for event in bench.events(task_run) if event["kind"] == "person.tool.used"]


def list_lines(bench: Workbench, task_run: Any) -> list[str]:
    """Return what the person said."""
    events = [event for event in bench.events(task_run) if event["kind"] == "chat.message.sent"]
    return [event["payload"]["text"] for event in events if event["actor"] == "person"]


def test_scripted_person_uses_tools_and_says_what_they_show(bench: Workbench) -> None:
    write_suite(bench)
    task_run = bench.run_one(Helper)
    assert list_lines(bench, task_run) == [
        "My telephone has no signal.",
        "It says: 0 bars after restart 1.",
        "It says: 4 bars after restart 2.",
        'The volume is {"volume":7}.',
        "Thanks.",
    ]
    assert task_run.verdict == "pass"
    events = bench.events(task_run)
    used = [event for event in events if event["kind"] == "person.tool.used"]
    called = [event for event in events if event["kind"] == "tables.function.called" and event["actor"] == "person"]
    said = [event for event in events if event["kind"] == "chat.message.sent" and event["actor"] == "agent"]
    assert [event["payload"]["tool"] for event in used] == ["restart_phone", "restart_phone", "set_volume"]
    assert [event["cause"] for event in used] == [event["cause"] for event in called]
    assert [event["cause"] for event in used] == [event["seq"] for event in said[:3]]
    changed = [event["actor"] for event in events if event["kind"] == "tables.record.changed"]
    assert changed == ["person", "agent", "person", "person"]


@pytest.mark.parametrize(
    ("criterion", "verdict"),
    [
        (ONLY_THESE, "pass"),
        (ONLY_THESE.replace("level: 7", "level: 8"), "fail"),
        ("{table_no_other_changes: {must: [{table: lines}], may: [{table: phone}]}}", "pass"),
        ("{table_no_other_changes: {must: [{table: lines}]}}", "fail"),
        (SIGNAL.replace("bars: 4", "bars: 5"), "fail"),
        (SIGNAL.replace("bars: 4}", "bars: 5}, value: false"), "pass"),
        ("{event_occurred: {event: tables.function.called, actor: person, where: {name: set_volume}}}", "pass"),
        ("{event_occurred: {event: tables.function.called, actor: agent, where: {name: set_volume}}}", "fail"),
    ],
)
def test_what_people_change_counts_as_what_happened_in_the_trial(
    bench: Workbench, criterion: str, verdict: str
) -> None:
    write_suite(bench, criterion=criterion)
    assert bench.run_one(Helper).verdict == verdict


def test_agent_gets_neither_the_tools_of_people_nor_the_functions_of_criteria(bench: Workbench) -> None:
    class Curious(Helper):
        def on_turn(self, message: Message, sandboxes: Sandboxes) -> str:
            desk = sandboxes.get_as(TableFunctions)
            assert [each["name"] for each in desk.functions()] == ["look_up_line", "unblock_line"]
            with pytest.raises(Refused, match="404"):
                desk.call_function("restart_phone")
            return super().on_turn(message, sandboxes)

    write_suite(bench)
    assert bench.run_one(Curious).verdict == "pass"


def test_refused_tool_shows_the_reason_and_changes_nothing(bench: Workbench) -> None:
    step = "steps: [{tables.put: {table: phone, id: own, record: {charged: false}, merge: true}}],"
    write_suite(bench, more=step)
    task_run = bench.run_one(Helper)
    assert list_lines(bench, task_run)[1] == "It says: it does not start: the battery is empty."
    assert list_uses(bench, task_run)[0]["is_refused"]
    assert task_run.verdict == "fail"


PLAYED = "{simulation_context: Your telephone 555 has no signal., tools: [restart_phone, set_volume]}"
ANSWERS: list[dict[str, Any]] = [
    {"about": "person", "contains": "4 bars after restart 1", "answer": {"message": "Four bars, bye.", "done": True}},
    {"about": "person", "contains": "not a JSON object", "answer": {"message": "", "use": "restart_phone"}},
    {"about": "person", "contains": "`set_volume` with", "answer": {"message": "The volume is 7."}},
    {
        "about": "person",
        "contains": "Please restart it",
        "answer": {"message": "", "use": "set_volume", "arguments": '{"level": 7}'},
    },
    {
        "about": "person",
        "contains": "restart it again",
        "answer": {"message": "", "use": "restart_phone", "arguments": "all of it"},
    },
    {"about": "person", "answer": {"message": "My telephone has no signal."}},
]


def test_model_that_plays_a_person_uses_tools_until_it_says_something(bench: Workbench) -> None:
    write_suite(bench, PLAYED)
    rest = {"done": False, "use": None, "arguments": ""}
    answers = [{**each, "answer": {**rest, **each["answer"]}} for each in ANSWERS]
    person = f"scripted:{bench.write('../person.json', json.dumps(answers))}"
    task_run = bench.run_one(Helper, person=person)
    uses = list_uses(bench, task_run)
    assert [(each["tool"], each["is_refused"]) for each in uses] == [
        ("set_volume", False),
        ("restart_phone", True),
        ("restart_phone", False),
    ]
    assert uses[0]["arguments"] == {"level": 7}
    assert list_lines(bench, task_run) == ["My telephone has no signal.", "The volume is 7.", "Four bars, bye."]
    assert task_run.verdict == "pass"


@pytest.mark.parametrize("turn", [1, 2, 3, 4])
def test_fork_repeats_what_tools_showed_without_using_them_again(bench: Workbench, turn: int) -> None:
    write_suite(bench)
    first = bench.run_one(Helper)
    forked = fork(bench, Helper, run=first.run, task="No signal", turn=turn)
    assert list_lines(bench, forked) == list_lines(bench, first)
    uses = [(each["tool"], each["result"]) for each in list_uses(bench, forked)]
    assert [tool for tool, _ in uses] == ["restart_phone", "restart_phone", "set_volume"]
    assert forked.verdict == "pass"


@pytest.mark.parametrize(
    ("person", "message"),
    [
        (PERSON.replace("restart_phone", "reboot"), "no tool of people `reboot`"),
        (PERSON.replace("tools: [restart_phone, ", "tools: ["), "they use `restart_phone`, which is not one of their"),
        ("{tools: [set_volume], lines: [{use: set_volume}]}", "expected one of `say`"),
        ("{tools: [set_volume], lines: [{use: set_volume, press: Yes}]}", "`use` needs a message that follows"),
    ],
)
def test_mistakes_in_tools_of_people_are_found_before_the_run(bench: Workbench, person: str, message: str) -> None:
    write_suite(bench, person)
    with pytest.raises(InputError, match=message):
        bench.run_one(Helper)


def test_unknown_function_that_is_not_for_agents_is_an_input_error(bench: Workbench) -> None:
    write_suite(bench)
    bench.write("dataset.yml", DATASET.replace("has_signal", "has_signals"))
    with pytest.raises(InputError, match="there is no function `has_signals`"):
        bench.run_one(Helper)


def test_what_functions_keep_is_forgotten_after_changes_by_something_else(bench: Workbench) -> None:
    count = {"use": "count_calls", "say": "{result}"}
    louder = {"use": {"name": "set_volume", "arguments": {"level": 7}}, "say": "louder"}
    lines = [count, count, louder, count, {"go_silent": "1h"}, *[count] * 11]
    person = json.dumps({"tools": ["count_calls", "set_volume"], "lines": lines})
    at = "steps: [{at: +30m, tables.put: {table: phone, id: own, record: {bars: 1}, merge: true}}],"
    write_suite(bench, person, more=at)
    said = list_lines(bench, bench.run_one(lambda message: "Go on."))
    assert said == ["1", "2", "louder", "3", *map(str, range(1, 10)), "that is enough", "that is enough"]
