"""`clerkship import tau2`: a checkout becomes a suite, and recorded trajectories get the recorded rewards."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.contract import Say
from clerkship.cli.app import run
from clerkship.model.errors import InputError
from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.service.tau2_import import import_tau2, to_pattern
from clerkship.service.tau2_trajectories import replay_trajectories
from clerkship.simulators.tables.functions import load_functions
from clerkship.simulators.tables.handle import TableFunctions
from clerkship.suite_files.load import load_library
from tests.service.tau2_checkout import LEND, build_action, build_simulation, write_checkout
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


def write_person(bench: Workbench) -> Path:
    """Write what a scripted model says as the person, beside the suite, and return the file."""
    return bench.write("../person.yml", PERSON)


def test_import_writes_a_suite_and_says_what_it_left_out(checkout: Path, tmp_path: Path) -> None:
    imported = import_tau2(checkout, "lending", tmp_path / "out", max_steps=40)
    assert imported.tasks == 4
    assert [id for id, _ in imported.skipped] == ["3", "4", "6", "7"]
    reasons = " ".join(reason for _, reason in imported.skipped)
    for part in ("people have no tools", "ENV_ASSERTION", "message_history", "KeyError"):
        assert part in reasons
    functions = (tmp_path / "out" / "domain" / "functions.py").read_text(encoding="utf-8")
    assert "def lend(db, book_id: str, reader_id: str) -> Any:\n    'Lend a book.'\n" in functions
    assert "status: Literal['in', 'out'], titles: Optional[list[str]] | None = None" in functions
    library = load_library(tmp_path / "out", CATALOG)
    first, judged, action, started = library.tasks.values()
    assert first.task.scenario is not None
    assert first.task.scenario.max_turns == 20
    person = first.task.scenario.all_people[0]
    assert person.simulation_context is not None
    assert person.simulation_context.startswith("Who you are: A hurried reader.\nYou want to borrow Dune.")
    assert "The price is { { 5 }}." in person.simulation_context
    assert [each.assertion.name for each in first.task.criteria] == ["table_no_other_changes", "bot_uttered"]
    assert all(each.gate for each in first.task.criteria)
    arguments: Any = first.task.criteria[0].assertion.args
    [reference] = arguments["calls"]
    assert reference["name"] == "lend"
    assert [each.assertion.name for each in judged.task.criteria] == ["table_no_other_changes", "judged"]
    assert [each.assertion.name for each in action.task.criteria] == ["event_occurred"]
    assert started.task.scenario is not None
    assert [step.name for step in started.task.scenario.steps] == ["tables.put", "tables.call"]


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
    ]
    results.write_text(json.dumps({"simulations": simulations}), encoding="utf-8")
    replayed = replay_trajectories(out, results, CATALOG)
    assert [(each.reward, each.recorded) for each in replayed[:5]] == [(1, 1), (0, 0), (0, 0), (0, 0), (1, 1)]
    assert [each.reason for each in replayed[5:]] == [
        "its reward needs `judged`",
        "the suite has no such task",
        "it cannot be replayed: TypeError: 'int' object is not subscriptable",
    ]
    assert run(["import", "tau2", str(checkout), str(out), "--trajectories", str(results)]) == 0
    assert "5 of 5 trajectories get the recorded reward" in capsys.readouterr().out
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
    assert "4 tasks of lending" in said
    assert "task 3 is left out: the person must call `toggle`" in said
    assert run(command) == 2  # nothing is overwritten
    assert "already exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("data/tau2/domains/lending/tasks.json", "[{]", "line 1: it is not JSON"),
        ("data/tau2/domains/lending/tasks.json", "{}", "expected a list of tasks"),
        ("data/tau2/domains/lending/db.json", '{"books": 5}', "`books` is neither a map nor a list of records"),
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
