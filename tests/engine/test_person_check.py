"""A judge checks how a person was played."""

import json
from pathlib import Path
from typing import Any

import pytest

from clerkship.model.run import TaskRun
from clerkship.service.rescore import rescore
from tests.engine.test_played_people import ASKED, DELAY, OPENING, TOLD, order_desk, script
from tests.workbench import CATALOG, Workbench

GOOD: dict[str, Any] = {"reasoning": "They kept to it [T1].", "lines": [], "kept": True}
BAD: dict[str, Any] = {
    "reasoning": "They give an order away at once [T2].",
    "lines": [{"turn": 2, "quote": "It is  ord-9981"}],
    "kept": False,
}
MADE_UP: dict[str, Any] = {**BAD, "lines": [{"turn": 2, "quote": "I am a robot"}]}


def run_judged(bench: Workbench, *answers: dict[str, Any], **options: Any) -> TaskRun:
    bench.write("late.yml", DELAY)
    path = bench.folder.parent / "judge.json"
    path.write_text(json.dumps([{"about": "person_check", **answer} for answer in answers]))
    options = {"checks_person": True, "judge": f"scripted:{path}", **options}
    return bench.run_one(order_desk, person=script(bench, OPENING, ASKED, TOLD), **options)


def test_person_in_role_is_graded_normally(bench: Workbench) -> None:
    task_run = run_judged(bench, {"matches": "(?s)PERSON.*ORD-9981.*T1.1. user", "answer": GOOD})
    assert (task_run.status, task_run.verdict, task_run.ending) == ("completed", "pass", "person_done")
    assert bench.kinds(task_run)[-2:] == ["person.checked", "run.ended"]


def test_person_out_of_role_makes_the_trial_invalid(bench: Workbench) -> None:
    task_run = run_judged(bench, {"answer": BAD})
    assert (task_run.status, task_run.verdict) == ("invalid_person", None)
    assert task_run.error == (
        "the person did not keep to their role (model_check): They give an order away at once [T2]."
    )
    [broken] = [event["payload"] for event in bench.events(task_run) if event["kind"] == "person.broke_contract"]
    assert broken["rule"] == "model_check"
    assert bench.exit_code() == 2


def test_judge_is_asked_again_after_a_quote_that_was_never_said(bench: Workbench) -> None:
    again = {"contains": "the person never said 'I am a robot' in turn 2", "answer": GOOD}
    assert run_judged(bench, again, {"answer": MADE_UP}).verdict == "pass"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"answer": MADE_UP}, "the person never said 'I am a robot' in turn 2"),
        (
            {"answer": {**BAD, "lines": []}},
            "the answer says that the person was not played as described, but quotes no line of theirs",
        ),
        (
            {"answer": {**BAD, "lines": [{"turn": 1, "quote": "It is ORD-9981"}]}},
            "never said 'It is ORD-9981' in turn 1",
        ),
        ({"contains": "no such thing", "answer": GOOD}, "has no answer to a question about person_check"),
    ],
)
def test_failed_check_errors_the_run(bench: Workbench, answer: dict[str, Any], told: str) -> None:
    task_run = run_judged(bench, answer)
    assert (task_run.status, task_run.verdict) == ("errored", None)
    assert "the person check failed" in task_run.error
    assert told in task_run.error


def test_missing_judge_errors_the_run(bench: Workbench) -> None:
    assert "none is configured" in run_judged(bench, {"answer": GOOD}, judge=None).error


def test_scenario_with_check_model_is_checked(bench: Workbench) -> None:
    bench.write("late.yml", DELAY)
    checked = DELAY.replace("setup: {", "setup: {person: {check: model}, ")
    path = Path(bench.folder.parent / "judge.json")
    path.write_text(json.dumps([{"about": "person_check", "answer": BAD}]))
    bench.write("late.yml", checked)
    person = script(bench, OPENING, ASKED, TOLD)
    assert bench.run_one(order_desk, person=person, judge=f"scripted:{path}").status == "invalid_person"
    assert bench.run_one(order_desk, person=person, judge="none").status == "completed"


def test_scripted_person_is_not_checked(bench: Workbench) -> None:
    bench.write("talk.yml", "scenario: {name: T, simulation_context: x, setup: {person: {lines: [Hi]}}}")
    assert bench.run_one(order_desk, checks_person=True).status == "completed"


def test_rescore_keeps_an_invalid_person(bench: Workbench) -> None:
    run_judged(bench, {"answer": BAD})
    result = rescore(bench.store, "latest", CATALOG)
    [again] = bench.store.task_runs(result.run.id)
    assert (again.status, again.verdict, result.exit_code()) == ("invalid_person", None, 2)
