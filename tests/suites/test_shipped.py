"""Every task that ships: `oracle` passes with the same log each time, `nop` fails."""

from pathlib import Path
from typing import Any, get_args

import pytest

import clerkship
from clerkship.model.task import Task
from clerkship.service.rescore import rescore
from clerkship.service.scaffold import ProjectKind, create_project
from scripts.publish import ShippedSuites
from tests.front_desk import SUITE as FRONT_DESK
from tests.suites.suite_checks import load_suite
from tests.workbench import CATALOG, Workbench

ROOT = Path(__file__).parent.parent.parent
SHIPPED = sorted(path for path in (ROOT / "suites").iterdir() if path.is_dir())
SUITES = [*SHIPPED, FRONT_DESK, Path(clerkship.__file__).parent / "demo"]
"""Those that ship come first, so that each has the same number in both lists: pytest groups tests by it."""
each_suite = pytest.mark.parametrize("suite", SUITES, ids=lambda path: path.name, scope="session")
each_shipped_suite = pytest.mark.parametrize("suite", SHIPPED, ids=lambda path: path.name, scope="session")
"""Tests of all modules on one suite run in turn, so that it is loaded once."""

MIN_WRONG = {
    "chart": 0,
    "conversations": 5,
    "equipment": 5,
    "fax": 5,
    "feeds": 0,
    "messages": 5,
    "phone": 5,
    "portal": 5,
    "prior-auth": 6,
    "revenue": 5,
}
"""How many wrong solutions each task of a suite has at least."""
MIN_WAYS = 5
"""How many other ways a task has at least in which the agent chooses words."""
WITHOUT_WORDS: dict[str, set[str]] = {
    "chart": {
        "Act on neither of two namesakes when the request fits both",
        "Average a week of glucose readings",
        "Find a patient by name and birth date",
        "Find a patient by the name she had before she married",
        "Find the coverage that is in force",
        "Find who is calling by their phone number",
        "Give the latest potassium of the past year",
        "Order no potassium if it is normal",
        "Order no second HbA1c where one is under way",
        "Retire the second record of one person",
        "Say so when there is no result in the window",
        "Say so when there is no such patient",
        "Wait until a preliminary result is final",
        "Work out a patient's age",
    },
    "messages": {
        "Ask the order safety service before orders are signed",
        "Decide about duplicate orders by their reason",
    },
    "revenue": {
        "Ask about a child who is covered under his mother's policy",
        "Ask the payer that took over from an inactive one",
        "Cancel an authorization that is no longer needed",
        "Check the coverage of tomorrow's patients in one batch",
        "Correct a coverage that has ended",
        "Find out which of two plans pays first",
        "Find out which orders need an authorization",
        "Follow up claim C008104",
        "Get the answer to a question whose reply was lost",
        "Leave two plans in the order that their payers confirm",
        "Send a refused transaction set again",
        "Send an interchange again that a TA1 refused",
        "Send an interchange to the right receiver",
    },
}
"""Tasks in which the agent writes only codes, and answers that the task prescribes."""


def recording_options(suite: Path) -> dict[str, Any]:
    """Return the options with which recorded answers of models are used, if a suite has cassettes."""
    return {"tape": "replay"} if any(suite.rglob("cassettes")) else {}


@pytest.mark.long
@each_suite
def test_oracle_passes(bench: Workbench, suite: Path) -> None:
    bench.folder = suite
    assert {t.task: t.verdict for t in bench.run("oracle", **recording_options(suite)) if t.verdict != "pass"} == {}


@pytest.mark.long
@pytest.mark.parametrize(
    "suite", [pytest.param(each, marks=[] if each == FRONT_DESK else pytest.mark.slow) for each in SUITES]
)
def test_oracle_has_a_reproducible_log(bench: Workbench, suite: Path) -> None:
    bench.folder = suite
    options = recording_options(suite)
    first, second = bench.run("oracle", **options), bench.run("oracle", **options)
    assert {t.task: t.head for t in first} == {t.task: t.head for t in second}


@pytest.mark.slow
@pytest.mark.long
@each_suite
def test_stored_log_is_graded_again_with_the_same_result(bench: Workbench, suite: Path) -> None:
    bench.folder = suite
    first = bench.run("oracle", **recording_options(suite))
    again = bench.store.task_runs(rescore(bench.store, first[0].run, CATALOG).run.id)
    assert {t.task: (t.verdict, t.criteria) for t in first} == {t.task: (t.verdict, t.criteria) for t in again}


@each_shipped_suite
def test_suite_is_as_it_was_published(suite: Path) -> None:
    published = ShippedSuites()
    assert published.find_problem(suite.name, published.build(load_suite(suite))[0]) == ""


@each_shipped_suite
def test_each_task_has_wrong_solutions(suite: Path) -> None:
    counts = {name: len(loaded.task.wrong) for name, loaded in load_suite(suite).tasks.items()}
    assert counts
    assert {name: count for name, count in counts.items() if count < MIN_WRONG[suite.name]} == {}


@each_shipped_suite
def test_each_task_with_free_words_has_other_ways(suite: Path) -> None:
    tasks = load_suite(suite).tasks
    counts = {name.partition(" [")[0]: len(loaded.task.ways) for name, loaded in tasks.items()}
    assert {name for name, count in counts.items() if count < MIN_WAYS} == WITHOUT_WORDS.get(suite.name, set())


@pytest.mark.long
@each_suite
def test_nop_fails(bench: Workbench, suite: Path) -> None:
    bench.folder = suite
    assert [t.task for t in bench.run("nop") if t.verdict == "pass"] == []


@each_suite
def test_answer_that_an_instruction_asks_for_decides_the_verdict(suite: Path) -> None:
    loaded = [each for each in load_suite(suite).tasks.values() if _asks_for_answer(each.task)]
    gated = [each.task.gated_by(each.environment.gate_axes) for each in loaded]
    assert [task.name for task in gated if not _has_gate_on_answer(task)] == []


def _asks_for_answer(task: Task) -> bool:
    return "answer with" in str((task.task_item or {}).get("instruction", "")).lower()


def _has_gate_on_answer(task: Task) -> bool:
    calls = [call for criterion in task.criteria if criterion.gate for _, call in criterion.assertion.leaves()]
    return any(
        call.name == "answer_matches" or (isinstance(call.args, dict) and call.args.get("answer")) for call in calls
    )


@pytest.mark.parametrize("kind", [None, *get_args(ProjectKind)])
def test_oracle_passes_and_nop_fails_in_suite_of_init(
    bench: Workbench, tmp_path: Path, kind: ProjectKind | None
) -> None:
    create_project(tmp_path / "new", kind)
    bench.folder = tmp_path / "new" / "practice"
    assert {t.verdict for t in bench.run("oracle")} == {"pass"}
    assert "pass" not in [t.verdict for t in bench.run("nop")]
