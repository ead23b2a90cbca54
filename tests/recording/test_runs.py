"""Runs recorded from an endpoint, and replayed without it."""

import itertools
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.python import PythonSolver
from clerkship.model.errors import InputError
from clerkship.model.model_choice import ModelChoice
from clerkship.model.run import TaskRun
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import RescoreOptions, rescore
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import KEY, refused, said, shorten_waits
from tests.workbench import CATALOG, Workbench, written

SCENARIO = """
scenario:
  name: Late order
  simulation_context: You are in a hurry.
  setup:
    person: {lines: [Where is my order?, Why?]}
  goals:
    criteria: [It says why the order is late, It does not ask for the number]
"""
CASSETTE = "cassettes/late.jsonl"


def agent(message: Any) -> str:
    """Return the same reply to every message."""
    return "It snows."


@pytest.fixture
def scenario(bench: Workbench) -> Workbench:
    """Write a conversation with two judged criteria."""
    bench.write("late.yml", SCENARIO)
    return bench


@pytest.fixture
def counting() -> Iterator[Served]:
    """Return a judge whose answers all differ."""
    numbers = itertools.count(1)
    with Served(lambda asked: passing(f"answer {next(numbers)}")) as served:
        yield served


def passing(reasoning: str) -> Answered:
    """Return a passing verdict."""
    cites = [{"where": "T1", "quote": "Where is my order?"}]
    return said(json.dumps({"passed": True, "reasoning": reasoning, "citations": cites}))


def by_statement(asked: Asked) -> Answered:
    """Return the same answer to the same question."""
    statement = json.loads(asked.body)["messages"][1]["content"].splitlines()[-1]
    return passing(f"on {statement}")


def who(served: Served) -> str:
    """Return the name of the judge at the test server."""
    return f"openai:some-model@{served.url}/v1"


def go(bench: Workbench, agent: Callable[..., Any] = agent, settings: Settings | None = None, **how: Any) -> TaskRun:
    """Run the folder's only task once."""
    [task_run] = go_all(bench, agent, settings, **how)
    return task_run


def go_all(
    bench: Workbench, agent: Callable[..., Any] = agent, settings: Settings | None = None, **how: Any
) -> list[TaskRun]:
    """Run the folder."""
    request = RunRequest(path=bench.folder, agent=PythonSolver("agent", agent), **how)
    plan = plan_run(request, settings or Settings(timeout=20), CATALOG)
    bench.result = execute(plan, bench.store, CATALOG)
    return bench.store.task_runs(bench.result.run.id)


def told(bench: Workbench) -> Any:
    """Return the messages about cassettes."""
    assert bench.result is not None
    assert bench.result.tape is not None
    return bench.result.tape


def lines(bench: Workbench, kind: str = "exchange") -> list[dict[str, Any]]:
    """Return the entries of the cassette."""
    text = (bench.folder / CASSETTE).read_text(encoding="utf-8")
    return [line for line in map(json.loads, text.splitlines()) if line["kind"] == kind]


def test_recorded_run_is_replayed_without_models(scenario: Workbench, counting: Served) -> None:
    first = go(scenario, settings=Settings(timeout=20, openai_api_key=KEY), judge=who(counting), tape="record")
    assert (told(scenario).written, told(scenario).replayed) == (2, 0)
    assert told(scenario).files == (str(scenario.folder / CASSETTE),)
    counting.__exit__(None, None, None)
    asked = len(counting.asked)
    again = go(scenario, judge=who(counting), tape="replay")
    assert again.verdict == "pass"
    assert again.criteria == first.criteria
    assert (again.head, again.models) == (first.head, first.models)
    assert len(counting.asked) == asked
    assert (told(scenario).written, told(scenario).replayed, told(scenario).unused) == (0, 2, 0)
    assert scenario.exit_code() == 0


def test_replay_needs_no_model_names_if_one_was_recorded(scenario: Workbench, counting: Served) -> None:
    first = go(scenario, judge=who(counting), tape="record")
    again = go(scenario, tape="replay")
    assert again.criteria == first.criteria
    run = scenario.store.run(again.run)
    assert run.judge == ModelChoice(who=who(counting))
    scenario.write("late.yml", SCENARIO.replace("number", "address"))
    go(scenario, judge="scripted:" + str(scenario.write("../answers.yml", "[]")), tape="refresh")
    with pytest.raises(InputError, match=r"recorded with more than one model: openai:some-model@.*, scripted:"):
        go(scenario, tape="replay")


def test_each_trial_has_its_own_answers(scenario: Workbench, counting: Served) -> None:
    first = go_all(scenario, judge=who(counting), tape="record", trials=3, concurrency=3)
    reasons = [criterion.detail for task_run in first for criterion in written(task_run)]
    assert len(set(reasons)) == len(reasons) == 6
    again = go_all(scenario, judge=who(counting), tape="replay", trials=3, concurrency=2)
    assert [criterion.detail for task_run in again for criterion in written(task_run)] == reasons
    assert {line["sample"] for line in lines(scenario)} >= {"trial 1", "trial 2", "trial 3"}


def test_two_recordings_of_the_same_answers_are_the_same_bytes(scenario: Workbench) -> None:
    with Served(by_statement) as served:
        go_all(scenario, judge=who(served), tape="record", trials=8, concurrency=8)
        first = (scenario.folder / CASSETTE).read_bytes()
        go_all(scenario, judge=who(served), tape="record", trials=8, concurrency=1)
    assert (scenario.folder / CASSETTE).read_bytes() == first
    assert [path.name for path in (scenario.folder / "cassettes").iterdir()] == ["late.jsonl"]
    texts = [line["text"] for line in lines(scenario, "text")]
    assert len(texts) == len(set(texts))
    assert sum("It snows." in text for text in texts) == 1  # eight trials, two criteria, one conversation


def test_bad_answer_is_replayed_as_the_same_error(scenario: Workbench) -> None:
    def answer(asked: Asked) -> Answered:
        return said("It passed!") if b"number" in asked.body else by_statement(asked)

    with Served(answer) as served:
        first = go(scenario, judge=who(served), tape="record")
    again = go(scenario, judge=who(served), tape="replay")
    assert [criterion.status for criterion in written(again)] == ["judged", "error"]
    assert first.models["judge"].retries == {"invalid answer": 2}
    sent = {role: usage.model_copy(update={"retries": {}}) for role, usage in first.models.items()}
    assert (again.criteria, again.models) == (first.criteria, sent)  # a replay sends no request again
    assert "gave no answer of the right shape" in again.criteria[1].detail
    assert scenario.exit_code() == 2


def test_outage_is_not_recorded_and_drops_nothing(scenario: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)
    with Served(by_statement) as served:
        go(scenario, judge=who(served), tape="record")
        before = (scenario.folder / CASSETTE).read_bytes()
    go(scenario, judge=who(served), tape="record")
    assert told(scenario).written == 0
    assert (scenario.folder / CASSETTE).read_bytes() == before


def test_unused_entries_are_dropped_when_recording_again(scenario: Workbench) -> None:
    with Served(by_statement) as served:
        go_all(scenario, judge=who(served), tape="record", trials=2)
        scenario.write("late.yml", SCENARIO.replace("number", "address"))
        go_all(scenario, judge=who(served), tape="refresh", trials=2)
        assert (told(scenario).written, told(scenario).replayed, told(scenario).unused) == (2, 2, 2)
        assert len(lines(scenario)) == 6
        go(scenario, judge=who(served), tape="record")
        assert (told(scenario).written, told(scenario).dropped) == (2, 4)
        assert len(lines(scenario)) == 2  # there is no second trial any more
        scenario.write("late.yml", SCENARIO.replace("Late order", "Order that is late"))
        go(scenario, judge=who(served), tape="record")
        assert {tuple(owner) for line in lines(scenario) for owner in line["of"]} == {("Order that is late", 1)}


def test_entries_of_unselected_tasks_are_kept(scenario: Workbench) -> None:
    with Served(by_statement) as served:
        go(scenario, judge=who(served), tape="record")
    before = (scenario.folder / CASSETTE).read_bytes()
    go(scenario, judge="none", tape="record")
    assert (scenario.folder / CASSETTE).read_bytes() == before


def test_refresh_asks_only_for_missing_answers(scenario: Workbench, counting: Served) -> None:
    first = go(scenario, judge=who(counting), tape="refresh")
    scenario.write("late.yml", SCENARIO.replace("It does not ask for the number", "It is polite"))
    again = go(scenario, judge=who(counting), tape="refresh")
    assert len(counting.asked) == 3
    assert [c.detail for c in written(again)] == [first.criteria[0].detail, "answer 3"]
    assert (told(scenario).written, told(scenario).replayed, told(scenario).unused) == (1, 1, 1)


def test_missing_answer_error_names_question_and_nearest_entry(scenario: Workbench, counting: Served) -> None:
    go(scenario, judge=who(counting), tape="record")
    asked = len(counting.asked)
    missed = go(scenario, lambda message: "It rains.", judge=who(counting), tape="replay")
    assert (missed.status, missed.verdict, missed.criteria, scenario.exit_code()) == ("errored", None, (), 2)
    assert missed.error.startswith(
        "not recorded: a question of judge about criterion, 'It does not ask for the number'"
    )
    assert f"in 'Late order', trial 1; it is not in {scenario.folder / CASSETTE}" in missed.error
    assert "the nearest recorded request is of 'Late order', trial 1, and differs in its prompt" in missed.error
    assert '\n-[T1.2] agent: "It snows."\n+[T1.2] agent: "It rains."\n' in missed.error
    assert (told(scenario).missed, told(scenario).first_miss) == (1, missed.error)
    assert len(counting.asked) == asked


def test_missing_answer_error_says_if_only_the_model_differs(scenario: Workbench, counting: Served) -> None:
    go(scenario, judge=who(counting), tape="record")
    missed = go(scenario, judge="openai:other", tape="replay")
    assert f"only the model differs: recorded with {who(counting)}, asked is openai:other" in missed.error
    assert go(scenario, judge=who(counting), tape="replay", trials=1).status == "completed"
    second = go_all(scenario, judge=who(counting), tape="replay", trials=2)[1]
    assert "differs in which sample it is (recorded 'trial 1', asked 'trial 2')" in second.error


def test_missing_cassette_is_reported(scenario: Workbench) -> None:
    missed = go(scenario, judge="openai:gpt-5.1", tape="replay")  # no key, and none is needed
    assert missed.status == "errored"
    assert "nothing is recorded there" in missed.error
    assert "nothing is recorded there" in go(scenario, tape="replay").error
    assert not (scenario.folder / "cassettes").exists()


def test_address_from_settings_is_not_part_of_the_models_identity(scenario: Workbench) -> None:
    with Served(by_statement) as served:
        there = Settings(timeout=20, openai_base_url=f"{served.url}/v1")
        first = go(scenario, settings=there, judge="openai:some-model", tape="record")
    again = go(scenario, judge="openai:some-model", tape="replay")
    assert again.criteria == first.criteria
    assert [line["model"] for line in lines(scenario)] == ["openai:some-model"] * 2


def test_stopped_recording_is_saved_and_drops_nothing(scenario: Workbench) -> None:
    with Served(by_statement) as served:
        go_all(scenario, judge=who(served), tape="record", trials=4)
    scenario.write("late.yml", SCENARIO.replace("number", "address"))
    asked = itertools.count(1)

    def stopping(question: Asked) -> Answered:
        if next(asked) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.3)
        return by_statement(question)

    with Served(stopping) as served:
        go_all(scenario, judge=who(served), tape="record", trials=4, concurrency=1)
        assert scenario.exit_code() == 130
        run = scenario.result.run.id if scenario.result is not None else ""
        kept = {line["key"] for line in lines(scenario)}
        assert len(kept) >= 8 + 2
        assert told(scenario).dropped == 0
        resumed = plan_resume(scenario.store, run, CATALOG, Settings(), agent=PythonSolver("agent", agent))
        scenario.result = resume(resumed, scenario.store, CATALOG)
    assert scenario.exit_code() == 0
    assert {line["sample"] for line in lines(scenario)} == {f"trial {n}" for n in range(1, 5)}
    assert go_all(scenario, judge=who(served), tape="replay", trials=4)[3].verdict == "pass"


def test_rescore_of_a_replay_asks_no_model(scenario: Workbench, counting: Served) -> None:
    go(scenario, judge=who(counting), tape="record")
    asked = len(counting.asked)
    replayed = go(scenario, judge=who(counting), tape="replay")
    again = rescore(scenario.store, replayed.run, CATALOG)
    assert len(counting.asked) == asked
    [task_run] = scenario.store.task_runs(again.run.id)
    assert task_run.criteria == replayed.criteria
    assert (again.run.asking.tape, again.run.options) == ("replay", ("--judge", who(counting), "--replay"))
    other = rescore(scenario.store, replayed.run, CATALOG, judging=RescoreOptions(who(counting)))
    assert len(counting.asked) == asked + 2  # that one was named, and is asked
    assert other.run.asking.tape is None
    by_file = rescore(scenario.store, other.run.id, CATALOG, judging=RescoreOptions(tape="replay"))
    assert len(counting.asked) == asked + 2
    assert by_file.tape is not None
    assert by_file.tape.replayed == 2


def test_rescore_with_a_missing_answer_is_errored(scenario: Workbench, counting: Served) -> None:
    go(scenario, judge=who(counting), tape="record")
    replayed = go(scenario, judge=who(counting), tape="replay")
    (scenario.folder / CASSETTE).unlink()
    again = rescore(scenario.store, replayed.run, CATALOG)
    [task_run] = scenario.store.task_runs(again.run.id)
    assert (task_run.status, task_run.verdict, again.exit_code()) == ("errored", None, 2)
    assert "not recorded" in task_run.error


def test_rerun_keeps_the_recording_mode(scenario: Workbench, counting: Served) -> None:
    first = go(scenario, judge=who(counting), tape="record")
    replayed = go(scenario, judge=who(counting), tape="replay")
    asked, solver = len(counting.asked), PythonSolver("agent", agent)
    again = execute(plan_rerun(scenario.store, replayed.run, CATALOG, Settings(), solver), scenario.store, CATALOG)
    assert len(counting.asked) == asked
    assert again.run.id.startswith("replay-")
    assert again.run.id != replayed.run
    execute(plan_rerun(scenario.store, first.run, CATALOG, Settings(), solver), scenario.store, CATALOG)
    assert len(counting.asked) == asked + 2


def test_replay_id_is_deterministic_and_numbered_in_one_store(scenario: Workbench) -> None:
    with Served(by_statement) as served:
        go(scenario, judge=who(served), tape="record")
    runs = [go(scenario, judge=who(served), tape="replay").run for _ in range(3)]
    assert runs == [runs[0], f"{runs[0]}-2", f"{runs[0]}-3"]
    assert scenario.store.run(runs[0]).started_at == scenario.store.run(runs[2]).completed_at


def test_conflicting_options_are_rejected(scenario: Workbench) -> None:
    with pytest.raises(InputError, match="add --record or --refresh"):
        go(scenario, tapes_agent=True)
    with pytest.raises(InputError, match="add --record or --refresh"):
        go(scenario, tapes_agent=True, tape="replay")


def test_unreadable_cassette_fails_before_the_run_and_unwritable_one_is_reported_after(
    scenario: Workbench,
) -> None:
    in_the_way = scenario.folder / "cassettes"

    def answer(asked: Asked) -> Answered:
        in_the_way.write_text("a file")
        return by_statement(asked)

    with Served(answer) as served:
        task_run = go(scenario, judge=who(served), tape="refresh")
        assert task_run.verdict == "pass"
        assert "cannot be written" in told(scenario).failed
        assert scenario.exit_code() == 2
        with pytest.raises(InputError, match=r"late\.jsonl: it cannot be read: Not a directory"):
            go(scenario, judge=who(served), tape="record")


CONFTEST = """
evaluation:
  llm: {provider: openai, model: some-model, api_base: "${JUDGE_PLACE}/v1", temperature: 0}
"""


def test_conftest_judge_is_recorded_under_its_written_name(
    scenario: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.write("conftest.yml", CONFTEST)
    with Served(by_statement) as served:
        monkeypatch.setenv("JUDGE_PLACE", served.url)
        first = go(scenario, tape="record")
        url = served.url
    assert url.encode() not in (scenario.folder / CASSETTE).read_bytes()
    assert lines(scenario)[0]["parameters"] == {"temperature": 0}
    monkeypatch.setenv("JUDGE_PLACE", "http://elsewhere.example")
    again = go(scenario, tape="replay")
    assert [c.detail for c in written(again)] == [c.detail for c in written(first)]
    monkeypatch.delenv("JUDGE_PLACE")
    unset = go(scenario, tape="replay")
    assert unset.verdict == "pass"
    solver = PythonSolver("agent", agent)
    rerun = execute(plan_rerun(scenario.store, unset.run, CATALOG, Settings(), solver), scenario.store, CATALOG)
    assert rerun.exit_code() == 0
    assert rerun.run.judge is not None
    assert rerun.run.judge.who == "openai:some-model@${JUDGE_PLACE}/v1"


def test_declined_request_is_not_recorded(scenario: Workbench) -> None:
    with Served(lambda asked: refused(401, "no")) as served:
        go(scenario, judge=who(served), tape="record")
    assert not (scenario.folder / CASSETTE).exists()
    assert isinstance(scenario.store.run("latest").judge, ModelChoice)


def test_cassettes_are_stored_beside_their_task_files(bench: Workbench, tmp_path: Path) -> None:
    bench.write("scenarios/late.yml", SCENARIO)
    with Served(by_statement) as served:
        go(bench, judge=who(served), tape="record")
        assert (bench.folder / "scenarios" / CASSETTE).is_file()
        request = RunRequest(
            path=bench.folder / "scenarios" / "late.yml",
            agent=PythonSolver("agent", agent),
            judge=who(served),
            tape="replay",
        )
        result = execute(plan_run(request, Settings(timeout=20), CATALOG), bench.store, CATALOG)
    assert result.exit_code() == 0


PLAYED = """
scenario:
  name: Late order
  simulation_context: You want to know where your order ORD-1 is. Once you know, you leave.
  goals:
    criteria: [It says why the order is late]
"""


class Everybody:
    """An endpoint for every role, with a different answer each time."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def __call__(self, asked: Asked) -> Answered:
        """Answer by the requested shape."""
        body, number = json.loads(asked.body), next(self._numbers)
        shape = body["response_format"]["json_schema"]["name"]
        answers: dict[str, Any] = {
            "PersonAnswer": {
                "message": f"Where is my order ORD-1? Asking for the {number}. time.",
                "press": None,
                "done": False,
            },
            "JudgeVerdict": {
                "passed": number % 2 == 0,
                "reasoning": f"verdict {number}",
                "citations": [{"where": "T1", "quote": "It snows."}],
            },
            "RatingsAnswer": {
                "scale_metrics": [{"name": "tone", "reasoning": f"rating {number}", "score": 3}],
                "binary_metrics": [],
                "summary": f"summary {number}",
            },
            "PersonCheckAnswer": {"reasoning": f"opinion {number}", "lines": [], "kept": True},
        }
        return said(json.dumps(answers[shape]))


def test_every_role_is_recorded_and_replayed(bench: Workbench) -> None:
    bench.write("late.yml", PLAYED)
    how: dict[str, Any] = {"trials": 2, "max_turns": 3, "votes": 3, "metrics": True, "checks_person": True}
    with Served(Everybody()) as served:
        first = go_all(bench, judge=who(served), person=who(served), tape="record", **how)
        assert {task_run.status for task_run in first} == {"completed"}, first[0].error
    assert {line["role"] for line in lines(bench)} == {"person", "judge", "metrics", "person_check"}
    assert {line["sample"] for line in lines(bench) if line["role"] == "judge"} == {
        f"trial {trial}, vote {vote}" for trial in (1, 2) for vote in (1, 2, 3)
    }
    again = go_all(bench, judge=who(served), person=who(served), tape="replay", **how)
    same = {"criteria", "quality", "models", "head", "verdict", "status"}
    assert [one.model_dump(include=same) for one in again] == [one.model_dump(include=same) for one in first]
    assert first[0].head != first[1].head
    unnamed = go_all(bench, tape="replay", **how)
    assert [one.head for one in unnamed] == [one.head for one in first]
    assert told(bench).unused == 0
    one_vote = go_all(bench, tape="replay", **{**how, "votes": 1})
    assert "not recorded: a question of judge about criterion" in one_vote[0].error
    assert "which sample it is (recorded 'trial 1, vote" in one_vote[0].error


def test_person_without_a_recording_is_reported(bench: Workbench) -> None:
    bench.write("late.yml", PLAYED)
    with Served(Everybody()) as served:
        go(bench, judge=who(served), person=who(served), tape="record", max_turns=2)
    bench.write("late.yml", PLAYED.replace("you leave", "you stay"))
    missed = go(bench, judge=who(served), person=who(served), tape="replay", max_turns=2)
    assert (missed.status, bench.exit_code()) == ("errored", 2)
    assert missed.error.startswith("not recorded: a question of person about person")
    assert "differs in its orders" in missed.error
    assert "+" in missed.error
