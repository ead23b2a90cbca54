"""`clerkship import tau2`: a checkout becomes a suite, and recorded trajectories get the recorded rewards."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.contract import History, Say
from clerkship.cli.app import run
from clerkship.model.errors import InputError
from clerkship.model.task import Task
from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.service.tau2_import import import_tau2, name_task, to_pattern
from clerkship.service.tau2_trajectories import replay_trajectories
from clerkship.simulators.tables.functions import load_functions
from clerkship.simulators.tables.handle import TableFunctions
from clerkship.suite_files.load import load_library
from tests.service.tau2_checkout import (
    HISTORY,
    LEND,
    LISTEN,
    LONG,
    PAY,
    SPLITS,
    build_action,
    build_simulation,
    write_checkout,
)
from tests.workbench import CATALOG, Workbench

PERSON = """
answers:
  - {about: person, contains: turn 1, answer: {message: "Thank you, goodbye.", done: true}}
  - {about: person, answer: {message: I want Dune., done: false}}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return write_checkout(tmp_path / "tau2-bench")


@pytest.fixture
def importable(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the stand-in package be imported, during one test."""
    monkeypatch.syspath_prepend(str(checkout / "src"))
    load_functions.cache_clear()
    yield
    load_functions.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "tau2"]:
        del sys.modules[name]


def with_history(reward: float, *calls: dict[str, Any]) -> dict[str, Any]:
    """Return a trajectory of the task that continues a conversation."""
    simulation = build_simulation("6", reward, "Done.", *calls)
    return simulation | {"messages": [*HISTORY, *simulation["messages"]]}


def write_person(bench: Workbench) -> Path:
    """Write what a scripted model says as the person, beside the suite, and return the file."""
    return bench.write("../person.yml", PERSON)


def list_steps(task: Task) -> list[str]:
    assert task.scenario is not None
    return [step.name for step in task.scenario.steps]


def test_import_writes_a_suite_and_says_what_it_left_out(checkout: Path, tmp_path: Path) -> None:
    imported = import_tau2(checkout, "lending", tmp_path / "out", max_steps=40)
    assert imported.tasks == 8
    assert [id for id, _ in imported.skipped] == ["1", "3", "7", "8"]
    reasons = " ".join(reason for _, reason in imported.skipped)
    for part in ("tasks_small.json has another version", "no tool of the person `toggle`", "KeyError", "needs SMILE"):
        assert part in reasons
    functions = (tmp_path / "out" / "domain" / "functions.py").read_text(encoding="utf-8")
    assert "def lend(db, kept, book_id: str, reader_id: str) -> Any:\n    'Lend a book.'\n" in functions
    assert "status: Literal['in', 'out'], titles: Optional[list[str]] = None" in functions
    assert "def user_lend(db, kept, volume: Literal['low', 'high'])" in functions
    policy = (tmp_path / "out" / "domain" / "policy.md").read_text(encoding="utf-8")
    assert policy == "Lend each book once.\n\n\nA card that is lost is blocked.\n"
    library = load_library(tmp_path / "out", CATALOG)
    tasks = {id: library.tasks[name_task("lending", id)].task for id in ("0", "1", "2", LONG, "5", "6", "9", "10")}
    first = tasks["0"]
    assert first.scenario is not None
    assert first.scenario.max_turns == 20
    person = first.people[0]
    assert person.simulation_context is not None
    assert person.simulation_context.startswith("Who you are: A hurried reader.\nYou want to borrow Dune.")
    assert "The price is { { 5 }}." in person.simulation_context
    assert person.tools == ("look_at_card", "pay", "user_lend")
    assert [each.assertion.name for each in first.criteria] == ["table_no_other_changes", "bot_uttered"]
    assert all(each.gate for each in first.criteria)
    arguments: Any = first.criteria[0].assertion.args
    [reference] = arguments["calls"]
    assert reference["name"] == "lend"
    assert [each.assertion.name for each in tasks["1"].criteria] == ["table_no_other_changes", "judged"]
    assert [each.assertion.name for each in tasks["2"].criteria] == ["event_occurred"]
    assert list_steps(tasks["5"]) == ["tables.put", "tables.call"]
    assert tasks["5"].people[0].tools == ("look_at_card",)
    assert list_steps(tasks["6"]) == ["tables.call", "chat.past"]
    assert (tasks["6"].people[0].tools, tasks["6"].people[0].opening) == ((), None)
    assert (list_steps(tasks["9"]), tasks["9"].people[0].opening) == ([], "I want Emma.")


def test_splits_become_tags_by_which_tasks_are_selected(checkout: Path, tmp_path: Path) -> None:
    import_tau2(checkout, "lending", tmp_path / "out")
    library = load_library(tmp_path / "out", CATALOG)
    selected = {
        name: {each.task.name for each in library.select(tags=[f"split-{name}"])} for name in (*SPLITS, "small")
    }
    splits = {**SPLITS, "small": ["0", "10"]}  # its task 1 is another one
    assert selected == {name: {name_task("lending", id) for id in ids} for name, ids in splits.items()}


PLAYED = """
answers:
  - {about: person, contains: '"paid"', answer: {message: I have paid., done: false, use: null, arguments: ""}}
  - {about: person, contains: too little, answer: {message: "", done: false, use: pay, arguments: '{"amount": 2.5}'}}
  - {about: person, contains: That is 2.5, answer: {message: "", done: false, use: pay, arguments: '{"amount": 1}'}}
  - {about: person, contains: listening, answer: {message: "Thanks, goodbye.", done: true, use: null, arguments: ""}}
  - {about: person, contains: Hear, answer: {message: "", done: false, use: user_lend, arguments: '{"volume": "high"}'}}
  - {about: person, contains: balance -2.5, answer: {message: It says -2.5., done: false, use: null, arguments: ""}}
  - {about: person, answer: {message: "", done: false, use: look_at_card, arguments: ""}}
"""


@pytest.mark.usefixtures("importable")
def test_person_uses_their_tools_over_the_same_state_as_the_agent(
    checkout: Path, tmp_path: Path, bench: Workbench
) -> None:
    bench.folder = tmp_path / "out"
    import_tau2(checkout, "lending", bench.folder)

    class Agent:
        def on_turn(self, message: Any, sandboxes: Sandboxes) -> Any:
            if message.turn > 1:
                return "Hear this."
            assert message.text == "It says -2.5."
            sandboxes.get_as(TableFunctions).call_function("lend", book_id="b1", reader_id="r1")
            return "That is 2.5."

    person = bench.write("../person.yml", PLAYED)
    [run] = bench.run(Agent, person=f"scripted:{person}", tasks=(name_task("lending", LONG),))
    events = bench.events(run)
    used = [event["payload"] for event in events if event["kind"] == "person.tool.used"]
    assert [(each["tool"], each["is_refused"]) for each in used] == [
        ("look_at_card", False),
        ("pay", True),
        ("pay", False),
        ("user_lend", False),
    ]
    changed = [event["payload"] for event in events if event["kind"] == "tables.record.changed"]
    assert [(each["table"], each["id"], each["after"]) for each in changed][-5:] == [
        ("books", "b1", {"status": "out", "reader": "r1"}),
        ("person_data", "bag", {"value": ["Dune"]}),
        ("readers", "r1", {"fees": 0.0}),
        ("person_data", "card", {"balance": 0.0}),
        ("person_data", "volume", {"value": "high"}),
    ]
    assert [each.label for each in run.criteria if not each.passed] == []


@pytest.mark.usefixtures("importable")
def test_task_with_a_history_continues_it(checkout: Path, tmp_path: Path, bench: Workbench) -> None:
    bench.folder = tmp_path / "out"
    import_tau2(checkout, "lending", bench.folder)

    class Agent:
        def on_history(self, history: History) -> None:
            self.told = [
                (turn.text, [part.text for part in turn.answer if isinstance(part, Say)]) for turn in history.turns
            ]

        def on_turn(self, message: Any, sandboxes: Sandboxes) -> Any:
            assert self.told == [("I want Emma.", ["Here it is."])]
            desk = sandboxes.get_as(TableFunctions)
            if message.turn == 2:
                with pytest.raises(Refused, match="it is lent"):
                    desk.call_function("lend", book_id="b2", reader_id="r1")
                desk.call_function("lend", book_id="b1", reader_id="r1")
            return "Goodbye."

    person = bench.write("../person.yml", PERSON.replace("turn 1", "Goodbye"))
    [run] = bench.run(Agent, person=f"scripted:{person}", tasks=("lending 6",))
    assert run.verdict == "pass"


@pytest.mark.usefixtures("importable")
def test_functions_call_the_tools_of_the_checkout(checkout: Path, tmp_path: Path, bench: Workbench) -> None:
    bench.folder = tmp_path / "out"
    import_tau2(checkout, "lending", bench.folder)

    class Agent:
        def on_turn(self, message: Any, sandboxes: Sandboxes) -> Any:
            if message.turn > 1:
                return [Say(text="Goodbye.")]
            desk = sandboxes.get_as(TableFunctions)
            books = desk.call_function("find_books", status="in")
            assert {"title": "Emma", "status": "in", "reader": None} in books
            with pytest.raises(Refused, match="422: status: must be one of"):
                desk.call_function("find_books", status="lost")
            assert desk.call_function("lend", book_id="b1", reader_id="r1")["status"] == "out"
            with pytest.raises(Refused, match="409: Error: it is lent"):
                desk.call_function("lend", book_id="b1", reader_id="r1")
            return [Say(text="It costs 1200.")]

    [run] = bench.run(Agent, person=f"scripted:{write_person(bench)}", tasks=("lending 5",))
    changed = [event["payload"] for event in bench.events(run) if event["kind"] == "tables.record.changed"]
    assert [(each["table"], each["id"]) for each in changed] == [("books", "b1"), ("readers", "r1"), ("books", "b1")]
    assert changed[2]["after"] == {"status": "out", "reader": "r1"}
    assert {each.label: each.passed for each in run.criteria}["The records are as after the reference actions"]


@pytest.mark.usefixtures("importable")
def test_recorded_trajectories_get_the_recorded_reward(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, results = tmp_path / "out", tmp_path / "results.json"
    import_tau2(checkout, "lending", out)
    fee = build_action("add_fee", reader_id="r1", amount=1.0)
    simulations = [
        build_simulation("0", 1.0, "It costs 1,200 euros.", LEND, LEND),
        build_simulation("0", 0.0, "It costs 1200.", LEND, fee),
        build_simulation("0", 0.0, "It is free.", LEND),
        build_simulation("0", 0.0, "It costs 1200.", build_action("steal", book_id="b1")),
        build_simulation("5", 1.0, "Done.", LEND),
        build_simulation("1", 1.0, "No."),
        build_simulation("99", 1.0, "No."),
        build_simulation("0", 1.0, "Broken.") | {"messages": [{"role": "assistant", "tool_calls": [5]}]},
        build_simulation(LONG, 1.0, "Done.", LEND, PAY, LISTEN),
        build_simulation(LONG, 1.0, "Done.", LISTEN, build_action("pay", "user", amount=1), LEND, PAY),
        build_simulation(LONG, 0.0, "Done.", LEND, LISTEN),
        build_simulation(LONG, 0.0, "Done.", LEND, PAY),
        build_simulation(LONG, 0.0, "Done.", LEND, {**PAY, "requestor": "assistant"}, LISTEN),
        build_simulation("2", 1.0, "Done.", LEND),
        build_simulation("2", 0.0, "Done."),
        with_history(1.0, LEND),
        with_history(0.0),
    ]
    results.write_text(json.dumps({"simulations": simulations}), encoding="utf-8")
    replayed = replay_trajectories(out, results, CATALOG)
    assert [(each.reward, each.recorded) for each in replayed[:5]] == [(1, 1), (0, 0), (0, 0), (0, 0), (1, 1)]
    assert [(each.reward, each.recorded) for each in replayed[8:]] == [
        (1, 1),
        (1, 1),
        (0, 0),
        (0, 0),
        (0, 0),  # it is no tool of the agent
        (1, 1),
        (0, 0),
        (1, 1),
        (0, 0),
    ]
    assert [each.reason for each in replayed[5:8]] == [
        "its reward needs `judged`",
        "the suite has no such task",
        "it cannot be replayed: TypeError: 'int' object is not subscriptable",
    ]
    assert run(["import", "tau2", str(checkout), str(out), "--trajectories", str(results)]) == 0
    assert "14 of 14 trajectories get the recorded reward" in capsys.readouterr().out
    simulations[0]["reward_info"]["reward"] = 0.0
    results.write_text(json.dumps({"simulations": simulations}), encoding="utf-8")
    assert run(["import", "tau2", str(checkout), str(out), "--trajectories", str(results)]) == 1


def test_suite_without_the_package_says_what_is_missing(checkout: Path, tmp_path: Path, bench: Workbench) -> None:
    bench.folder = tmp_path / "out"
    import_tau2(checkout, "lending", bench.folder)
    with pytest.raises(InputError, match=r"No module named 'tau2'.*install the checkout of tau2-bench"):
        bench.run("nop", person=f"scripted:{write_person(bench)}")


def test_command_reports_what_it_wrote(checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["import", "tau2", str(checkout), str(tmp_path / "out"), "--domain", "lending"]
    assert run(command) == 0
    said = capsys.readouterr().out
    assert "8 tasks of lending" in said
    assert "task 3 is left out: there is no tool of the person `toggle`" in said
    assert run(command) == 2  # nothing is overwritten
    assert "already exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("data/tau2/domains/lending/tasks.json", "[{]", "line 1: it is not JSON"),
        ("data/tau2/domains/lending/tasks.json", "{}", "expected a list of tasks"),
        ("data/tau2/domains/lending/db.json", '{"books": 5}', "there are no tables"),
        ("data/tau2/domains/lending/db.json", "[]", "expected a map of tables"),
        ("data/tau2/domains/lending/tasks_small.json", "{}", "expected a list of tasks"),
        ("data/tau2/domains/lending/user_db.toml", "=", "it is not TOML"),
        ("data/tau2/domains/lending/db.json", '{"a": [{"x": 1}]}', "the list `a` have no field that is an id"),
        ("data/tau2/domains/lending/db.json", "{}", "there are no tables"),
        ("src/tau2/domains/lending/tools.py", "class Tools: pass", "there is no class with methods that have"),
        ("src/tau2/domains/lending/tools.py", "def (", "it is not Python"),
        ("src/tau2/domains/lending/data_model.py", "x = 1", "there is no subclass of `DB`"),
    ],
)
def test_checkout_of_another_form_is_an_input_error(
    checkout: Path, tmp_path: Path, name: str, text: str, message: str
) -> None:
    (checkout / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        import_tau2(checkout, "lending", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unknown_domain_and_results_of_another_form_are_input_errors(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no domain `airline`.*domains: lending"):
        import_tau2(checkout, "airline", tmp_path / "out")
    (tmp_path / "results.json").write_text('{"runs": []}', encoding="utf-8")
    with pytest.raises(InputError, match="it is not a results file of tau2: KeyError"):
        replay_trajectories(tmp_path / "out", tmp_path / "results.json", CATALOG)


def test_pattern_of_a_text_ignores_case_and_commas() -> None:
    assert to_pattern("1,2b") == "(?i)1,*2,*b"
