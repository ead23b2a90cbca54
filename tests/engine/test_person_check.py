"""A judge looks at how a person was played, where that is asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from clerkship.model.run import TaskRun
from clerkship.service.rescore import rescore
from tests.engine.test_played import ASKED, DELAY, OPENING, TOLD, desk, script
from tests.workbench import CATALOG, Workbench

GOOD: dict[str, Any] = {"reasoning": "They kept to it [T1].", "lines": [], "kept": True}
BAD: dict[str, Any] = {
    "reasoning": "They give an order away at once [T2].",
    "lines": [{"turn": 2, "quote": "It is  ord-9981"}],
    "kept": False,
}
MADE_UP: dict[str, Any] = {**BAD, "lines": [{"turn": 2, "quote": "I am a robot"}]}


def judged(bench: Workbench, *answers: dict[str, Any], **options: Any) -> TaskRun:
    """The late order, played well, with a judge of these answers."""
    bench.write("late.yml", DELAY)
    path = bench.folder.parent / "judge.json"
    path.write_text(json.dumps([{"about": "person_check", **answer} for answer in answers]))
    options = {"checks_person": True, "judge": f"scripted:{path}", **options}
    return bench.run_one(desk, person=script(bench, OPENING, ASKED, TOLD), **options)


def test_who_kept_to_the_role_is_graded_as_ever(bench: Workbench) -> None:
    task_run = judged(bench, {"matches": "(?s)PERSON.*ORD-9981.*T1.1. user", "answer": GOOD})
    assert (task_run.status, task_run.verdict, task_run.ending) == ("completed", "pass", "person_done")
    assert bench.kinds(task_run)[-2:] == ["person.checked", "run.ended"]


def test_who_did_not_makes_the_trial_invalid(bench: Workbench) -> None:
    task_run = judged(bench, {"answer": BAD})
    assert (task_run.status, task_run.verdict) == ("invalid_person", None)
    assert task_run.error == (
        "the person did not keep to their role (model_check): They give an order away at once [T2]."
    )
    [broken] = [event["payload"] for event in bench.events(task_run) if event["kind"] == "person.broke_contract"]
    assert broken["rule"] == "model_check"
    assert bench.exit_code() == 2


def test_a_quote_that_nobody_said_is_asked_for_again(bench: Workbench) -> None:
    again = {"contains": "the person never said 'I am a robot' in turn 2", "answer": GOOD}
    assert judged(bench, again, {"answer": MADE_UP}).verdict == "pass"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"answer": MADE_UP}, "the person never said 'I am a robot' in turn 2"),
        ({"answer": {**BAD, "lines": []}}, "it finds the person badly played, and names no line of theirs"),
        (
            {"answer": {**BAD, "lines": [{"turn": 1, "quote": "It is ORD-9981"}]}},
            "never said 'It is ORD-9981' in turn 1",
        ),
        ({"contains": "no such thing", "answer": GOOD}, "has no answer to a question about person_check"),
    ],
)
def test_a_check_that_fails_is_an_error_and_no_verdict(bench: Workbench, answer: dict[str, Any], told: str) -> None:
    task_run = judged(bench, answer)
    assert (task_run.status, task_run.verdict) == ("errored", None)
    assert "how the person was played could not be checked" in task_run.error
    assert told in task_run.error


def test_without_a_judge_it_is_an_error_too(bench: Workbench) -> None:
    assert "none is configured" in judged(bench, {"answer": GOOD}, judge=None).error


def test_a_scenario_may_ask_for_it_by_itself(bench: Workbench) -> None:
    bench.write("late.yml", DELAY)
    checked = DELAY.replace("setup: {", "setup: {person: {check: model}, ")
    path = Path(bench.folder.parent / "judge.json")
    path.write_text(json.dumps([{"about": "person_check", "answer": BAD}]))
    bench.write("late.yml", checked)
    person = script(bench, OPENING, ASKED, TOLD)
    assert bench.run_one(desk, person=person, judge=f"scripted:{path}").status == "invalid_person"
    assert bench.run_one(desk, person=person, judge="none").status == "completed"


def test_nobody_is_asked_about_a_scripted_person(bench: Workbench) -> None:
    bench.write("talk.yml", "scenario: {name: T, simulation_context: x, setup: {person: {lines: [Hi]}}}")
    assert bench.run_one(desk, checks_person=True).status == "completed"


def test_grading_again_leaves_an_invalid_person_alone(bench: Workbench) -> None:
    judged(bench, {"answer": BAD})
    result = rescore(bench.store, "latest", CATALOG)
    [again] = bench.store.task_runs(result.run.id)
    assert (again.status, again.verdict, result.exit_code()) == ("invalid_person", None, 2)
