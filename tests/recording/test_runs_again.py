"""Forks and rescores of replayed runs, and repeated recordings."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.contract import History
from clerkship.actors.python import PythonSolver
from clerkship.model.errors import InputError
from clerkship.model.usage import Prices
from clerkship.recording.session import RecordingSession
from clerkship.service.exporting import write_reports
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.report_targets import ReportTargets, ResultsFolder
from clerkship.service.rescore import rescore
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.actors.servers import Served
from tests.llm.endpoint import said, shorten_waits
from tests.recording.test_runs import CASSETTE, SCENARIO, agent, by_statement, go, go_all, lines, told, who
from tests.service.forks import fork
from tests.workbench import CATALOG, Workbench, written


@pytest.fixture
def scenario(bench: Workbench) -> Workbench:
    """Write a conversation with two judged criteria."""
    bench.write("late.yml", SCENARIO)
    return bench


@pytest.fixture
def judge() -> Iterator[Served]:
    """Return a judge with the same answer to the same question."""
    with Served(by_statement) as served:
        yield served


class Told:
    """An agent that accepts a history."""

    def on_history(self, history: History) -> None: ...

    def on_turn(self, message: Any) -> str:
        return "It snows."


def test_replay_with_a_missing_answer_writes_results(scenario: Workbench, judge: Served, tmp_path: Path) -> None:
    go(scenario, judge=who(judge), tape="record")
    scenario.write("late.yml", SCENARIO.replace("It does not ask", "It never asks"))
    missed = go(scenario, judge=who(judge), tape="replay")
    assert (missed.status, missed.criteria) == ("errored", ())
    targets = ReportTargets(results=ResultsFolder(tmp_path / "out"))
    write_reports(scenario.store, missed.run, targets)
    [file] = (tmp_path / "out").rglob("run_1.json")
    found = json.loads(file.read_bytes())
    assert (found["eval_passed"], found["criteria"]) == (False, [])
    assert found["error"].startswith("not recorded")


def test_fork_of_a_recorded_agent_needs_a_live_agent(scenario: Workbench, judge: Served) -> None:
    go(scenario, judge=who(judge), tape="record", tapes_agent=True)
    request = RunRequest(path=scenario.folder, agent="recorded", tape="replay")
    execute(plan_run(request, Settings(timeout=20), CATALOG), scenario.store, CATALOG)
    with pytest.raises(InputError, match=r"`recorded:agent` replays a recording.*; give --agent agent"):
        fork(scenario, task="Late order", turn=2)
    assert fork(scenario, Told, task="Late order", turn=2).verdict == "pass"
    with pytest.raises(InputError, match=r"`recorded` replays a recording.*; give --agent"):
        fork(scenario, agent="recorded", task="Late order", turn=2)


CONFTEST = """
evaluation:
  max_concurrent_llm_calls: 3
  llm:
    provider: openai
    model: some-model
    api_base: "${JUDGE_PLACE}/v1"
    api_key: "${JUDGES_OWN_KEY}"
    timeout: 30
    input_cost_per_token: 0.5
    output_cost_per_token: 0.25
"""


def test_fork_of_a_replay_uses_the_key_of_the_recording(
    scenario: Workbench, judge: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.write("conftest.yml", CONFTEST)
    monkeypatch.setenv("JUDGE_PLACE", judge.url)
    monkeypatch.setenv("JUDGES_OWN_KEY", "sk-of-the-judge")
    go(scenario, tape="record")
    here = scenario.store.run(go(scenario, tape="replay").run)
    assert here.judge is not None
    assert here.judge.who == "openai:some-model@${JUDGE_PLACE}/v1"
    assert (here.judge.key_from, here.judge.timeout, here.judge.at_once) == ("JUDGES_OWN_KEY", 30, 3)
    assert here.judge.prices == Prices(input=500_000, output=250_000)
    asked = len(judge.asked)
    forked = fork(scenario, Told, task="Late order", turn=2)
    assert forked.verdict == "pass"
    assert {one.headers["authorization"] for one in judge.asked[asked:]} == {"Bearer sk-of-the-judge"}
    monkeypatch.delenv("JUDGE_PLACE")
    monkeypatch.delenv("JUDGES_OWN_KEY")
    elsewhere = scenario.store.run(go(scenario, tape="replay").run)
    assert elsewhere.judge == here.judge  # the same on a machine that can ask nobody
    assert elsewhere.id == f"{here.id}-2"
    with pytest.raises(InputError, match="the environment variable JUDGE_PLACE is not set"):
        fork(scenario, Told, run=here.id, task="Late order", turn=2)


def test_replay_does_not_depend_on_local_settings(scenario: Workbench, judge: Served, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text("some-model: {input: 1, output: 2}\n")
    go(scenario, judge=who(judge), tape="record")
    first = go(scenario, judge=who(judge), tape="replay")
    with_prices = Settings(timeout=20, prices=str(prices), azure_api_version="2024-10-21")
    again = go(scenario, settings=with_prices, judge=who(judge), tape="replay")
    assert again.run == f"{first.run}-2"
    assert scenario.store.run(again.run).judge == scenario.store.run(first.run).judge


PLAYED = """
scenario:
  name: Late order
  simulation_context: You want to know where your order ORD-1 is.
  setup: {person: {opening: Where is my order ORD-1?}}
  goals: {assertions: [{bot_uttered: {text_matches: snows}}]}
"""


def person(bench: Workbench, message: str) -> str:
    """Write a person who opens with a message and leaves after the reply."""
    path = bench.folder.parent / "person.json"
    leaving = {"about": "person", "contains": "snows", "answer": {"message": "Thanks, bye.", "done": True}}
    path.write_text(json.dumps([leaving, {"about": "person", "answer": {"message": message, "done": False}}]))
    return f"scripted:{path}"


def test_fork_of_a_rescored_run_keeps_its_person(bench: Workbench) -> None:
    bench.write("late.yml", PLAYED)
    first = go(bench, person=person(bench, GOOD))
    again = rescore(bench.store, first.run, CATALOG)
    assert again.run.person == bench.store.run(first.run).person is not None
    forked = fork(bench, Told, run=again.run.id, task="Late order", turn=1)
    assert (forked.status, forked.verdict) == ("completed", "pass"), forked.error


MANY = """
scenario:
  name: Late order
  simulation_context: You are in a hurry.
  setup:
    person: {lines: [Where is my order?]}
  goals:
    criteria:
      - Agent is polite to the person
      - Agent gives the reason for the delay
      - Agent does not ask for the number of the order
      - Agent offers to do something about the delay
      - Agent answers in one sentence
"""


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("Agent gives the reason for the delay", "Agent states the reason for the delay"),
        ("Agent answers in one sentence", "Agent is brief in what it answers"),
        ("Agent is polite to the person", "Nobody is insulted"),
    ],
)
def test_reworded_criterion_is_shown_with_its_old_text(bench: Workbench, judge: Served, was: str, now: str) -> None:
    bench.write("late.yml", MANY)
    go_all(bench, judge=who(judge), tape="record", trials=2)
    bench.write("late.yml", MANY.replace(was, now))
    for missed in go_all(bench, judge=who(judge), tape="replay", trials=2):
        assert f"\n-{was}\n+{now}\n" in missed.error
        assert f"the nearest recorded request is of 'Late order', trial {missed.trial}" in missed.error


def test_each_reworded_criterion_is_matched_to_the_most_similar_entry(bench: Workbench, judge: Served) -> None:
    bench.write("late.yml", MANY)
    go(bench, judge=who(judge), tape="record")
    bench.write("late.yml", MANY.replace("gives the reason", "states the reason").replace("offers to", "promises to"))
    missed = go(bench, judge=who(judge), tape="replay")
    assert "\n-Agent offers to do something about the delay\n+Agent promises to do something" in missed.error


def test_recording_fewer_trials_drops_entries_of_the_others(scenario: Workbench, judge: Served) -> None:
    go_all(scenario, judge=who(judge), tape="record", trials=3)
    other = f"openai:other-model@{judge.url}/v1"
    go(scenario, judge=other, tape="record")
    assert (told(scenario).written, told(scenario).dropped) == (2, 6)
    assert {(line["model"], line["sample"]) for line in lines(scenario)} == {(other, "trial 1")}
    assert go(scenario, tape="replay").verdict == "pass"  # nobody need be named


def test_partial_recording_keeps_entries_of_higher_trials(scenario: Workbench, judge: Served) -> None:
    go_all(scenario, judge=who(judge), tape="record", trials=3)
    before = (scenario.folder / CASSETTE).read_bytes()
    go(scenario, judge="none", tape="record")
    assert (scenario.folder / CASSETTE).read_bytes() == before
    go(scenario, judge=who(judge), tape="refresh")
    assert (scenario.folder / CASSETTE).read_bytes() == before


def test_recorded_agent_is_looked_up_in_existing_trials(scenario: Workbench, judge: Served) -> None:
    other = f"openai:other-model@{judge.url}/v1"
    go(scenario, judge=other, tape="record")
    first = (scenario.folder / CASSETTE).read_text().splitlines()
    go_all(scenario, judge=who(judge), tape="record", trials=2)
    rest = [line for line in (scenario.folder / CASSETTE).read_text().splitlines() if '"sample":"trial 1"' not in line]
    (scenario.folder / CASSETTE).write_text("\n".join([*first, *(line for line in rest if line not in first)]) + "\n")
    assert {line["model"] for line in lines(scenario)} == {other, who(judge)}
    assert go(scenario, tape="replay").verdict == "pass"
    with pytest.raises(InputError, match="recorded with more than one model"):
        go_all(scenario, tape="replay", trials=2)


@pytest.mark.parametrize("wrong", ["half of a line", '{"kind":"cassette","version":7}\n'])
def test_damaged_cassette_is_replaced_with_a_warning(scenario: Workbench, judge: Served, wrong: str) -> None:
    cassette = scenario.write(CASSETTE, wrong)
    for tape in ("replay", "refresh"):
        with pytest.raises(InputError, match="record it again with --record"):
            go(scenario, judge=who(judge), tape=tape)
    request = RunRequest(path=scenario.folder, agent=PythonSolver("agent", agent), judge=who(judge), tape="record")
    plan = plan_run(request, Settings(timeout=20), CATALOG)
    [warning] = plan.warnings
    assert (warning.file, warning.line) == (str(cassette), 1)
    assert "it is replaced when something is recorded" in warning.hint
    assert cassette.read_text() == wrong
    result = execute(plan, scenario.store, CATALOG)
    assert result.tape is not None
    assert (result.tape.written, result.tape.failed) == (2, "")
    assert go(scenario, judge=who(judge), tape="replay").verdict == "pass"


def test_damaged_cassette_stays_if_nothing_was_recorded(
    scenario: Workbench, judge: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_waits(monkeypatch)
    cassette = scenario.write(CASSETTE, "half of a line")
    judge.__exit__(None, None, None)
    go(scenario, judge=who(judge), tape="record")
    assert cassette.read_text() == "half of a line"


def test_unreadable_cassette_is_not_overwritten(
    scenario: Workbench, judge: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(scenario, judge=who(judge), tape="record")
    cassette, read = scenario.folder / CASSETTE, Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path == cassette:
            raise PermissionError(13, "Permission denied")
        return read(path)

    before = cassette.read_bytes()
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError, match="it cannot be read: Permission denied"):
        go(scenario, judge=who(judge), tape="record")
    monkeypatch.undo()
    assert cassette.read_bytes() == before


GOOD, BAD = "Where is my order ORD-1, please?", "How can I help you today?"


def played(bench: Workbench) -> Workbench:
    """Write a person whose first message a model finds."""
    bench.write("late.yml", PLAYED.replace("  setup: {person: {opening: Where is my order ORD-1?}}\n", ""))
    return bench


def test_lines_of_an_invalid_person_are_not_recorded(bench: Workbench) -> None:
    played(bench)
    broken = go(bench, person=person(bench, BAD), tape="record")
    assert broken.status == "invalid_person"
    assert (told(bench).written, told(bench).forgotten) == (0, 3)
    assert not (bench.folder / CASSETTE).exists()
    good = go(bench, person=person(bench, GOOD), tape="refresh")
    assert good.verdict == "pass"
    assert (told(bench).written, told(bench).forgotten) == (2, 0)
    assert go(bench, tape="replay").head == good.head


def test_earlier_recording_stays_if_a_person_is_invalid(bench: Workbench) -> None:
    played(bench)
    good = go(bench, person=person(bench, GOOD), tape="record")
    before = (bench.folder / CASSETTE).read_bytes()
    broken = go(bench, person=person(bench, BAD), tape="record")
    assert (broken.status, told(bench).written, told(bench).dropped) == ("invalid_person", 0, 0)
    assert told(bench).forgotten > 0
    assert (bench.folder / CASSETTE).read_bytes() == before
    assert go(bench, tape="replay").head == good.head


def test_saved_lines_of_an_invalid_person_are_removed(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_person = RecordingSession.forget_person

    def late(session: RecordingSession, owner: tuple[str, int]) -> None:
        session.save()
        forget_person(session, owner)

    monkeypatch.setattr(RecordingSession, "forget_person", late)
    played(bench)
    go(bench, person=person(bench, BAD), tape="record")
    assert not (bench.folder / CASSETTE).exists()


def test_refresh_without_missing_answers_needs_no_key(
    scenario: Workbench, judge: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.write("conftest.yml", CONFTEST)
    monkeypatch.setenv("JUDGE_PLACE", judge.url)
    monkeypatch.setenv("JUDGES_OWN_KEY", "sk-of-the-judge")
    first = go(scenario, tape="record")
    monkeypatch.delenv("JUDGES_OWN_KEY")
    request = RunRequest(path=scenario.folder, agent=PythonSolver("agent", agent), tape="refresh")
    [warning] = plan_run(request, Settings(timeout=20), CATALOG).warnings
    assert "JUDGES_OWN_KEY is not set" in warning.message
    assert "only recorded answers are available" in warning.message
    before = (scenario.folder / CASSETTE).read_bytes()
    assert go(scenario, tape="refresh").criteria == first.criteria
    assert (told(scenario).replayed, told(scenario).written) == (3, 0)  # two criteria and the metrics
    scenario.write("late.yml", SCENARIO.replace("It does not ask", "It never asks"))
    missing = go(scenario, tape="refresh")
    assert [criterion.status for criterion in written(missing)] == ["judged", "error"]
    assert "JUDGES_OWN_KEY is not set" in missing.criteria[1].detail
    assert (scenario.exit_code(), (scenario.folder / CASSETTE).read_bytes()) == (2, before)
    with pytest.raises(InputError, match="it is not a file"):
        go(scenario, judge="scripted:nowhere.yml", tape="refresh")


def test_recorded_person_needs_no_key(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    played(bench)
    with Served(lambda asked: said(json.dumps({"message": GOOD, "press": None, "done": False}))) as served:
        keyed = CONFTEST.replace("evaluation", "simulation")
        bench.write("conftest.yml", keyed)
        monkeypatch.setenv("JUDGE_PLACE", served.url)
        monkeypatch.setenv("JUDGES_OWN_KEY", "sk-of-the-person")
        first = go(bench, tape="record", max_turns=1)
        asked = len(served.asked)
        monkeypatch.delenv("JUDGES_OWN_KEY")
        assert go(bench, tape="refresh", max_turns=1).head == first.head
        assert (first.verdict, len(served.asked)) == ("pass", asked)
