"""What is made from replayed runs, and recordings that have to be made anew."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.contract import History
from clerkship.actors.python import PythonSolver
from clerkship.model.problem import InputError
from clerkship.model.usage import Prices
from clerkship.service.exporting import ResultsFolder, Targets, write_reports
from clerkship.service.running import RunRequest, execute, plan_run
from clerkship.service.second_looks import rescore
from clerkship.settings import Settings
from tests.actors.servers import Served
from tests.service.forks import fork
from tests.service.test_taping import CASSETTE, SCENARIO, agent, by_statement, go, go_all, lines, told, who
from tests.workbench import CATALOG, Workbench


@pytest.fixture
def scenario(bench: Workbench) -> Workbench:
    """A conversation with two criteria in words."""
    bench.write("late.yml", SCENARIO)
    return bench


@pytest.fixture
def judge() -> Iterator[Served]:
    """Answers the same question in the same way."""
    with Served(by_statement) as served:
        yield served


class Told:
    """An agent that can be told what was."""

    def on_history(self, history: History) -> None:
        """Nothing to keep."""

    def on_turn(self, message: Any) -> str:
        return "It snows."


def test_a_replay_that_misses_has_its_folder_of_results(scenario: Workbench, judge: Served, tmp_path: Path) -> None:
    go(scenario, judge=who(judge), tape="record")
    scenario.write("late.yml", SCENARIO.replace("It does not ask", "It never asks"))
    missed = go(scenario, judge=who(judge), tape="replay")
    assert (missed.status, missed.criteria) == ("errored", ())
    targets = Targets(results=ResultsFolder(tmp_path / "out"))
    write_reports(scenario.store, missed.run, targets)
    [file] = (tmp_path / "out").rglob("run_1.json")
    found = json.loads(file.read_bytes())
    assert (found["eval_passed"], found["criteria"]) == (False, [])
    assert found["error"].startswith("not recorded")


def test_a_fork_of_a_recorded_agent_needs_another(scenario: Workbench, judge: Served) -> None:
    go(scenario, judge=who(judge), tape="record", tapes_agent=True)
    request = RunRequest(path=scenario.folder, agent="recorded", tape="replay")
    execute(plan_run(request, Settings(timeout=20), CATALOG), scenario.store, CATALOG)
    with pytest.raises(InputError, match=r"`recorded:agent` plays what was recorded.*; give --agent agent"):
        fork(scenario, task="Late order", turn=2)
    assert fork(scenario, Told, task="Late order", turn=2).verdict == "pass"
    with pytest.raises(InputError, match=r"`recorded` plays what was recorded.*; give --agent"):
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


def test_a_fork_of_a_replay_asks_with_the_key_it_was_recorded_with(
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


def test_settings_of_a_machine_do_not_show_in_a_replay(scenario: Workbench, judge: Served, tmp_path: Path) -> None:
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
    """Somebody whose every line is this."""
    path = bench.folder.parent / "person.json"
    path.write_text(json.dumps([{"about": "person", "answer": {"message": message, "done": True}}]))
    return f"scripted:{path}"


def test_a_fork_of_a_rescored_run_has_its_person(bench: Workbench) -> None:
    bench.write("late.yml", PLAYED)
    first = go(bench, person=person(bench, "Thanks, bye."))
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
def test_a_criterion_that_was_reworded_is_shown_beside_its_old_self(
    bench: Workbench, judge: Served, was: str, now: str
) -> None:
    bench.write("late.yml", MANY)
    go_all(bench, judge=who(judge), tape="record", trials=2)
    bench.write("late.yml", MANY.replace(was, now))
    for missed in go_all(bench, judge=who(judge), tape="replay", trials=2):
        assert f"\n-{was}\n+{now}\n" in missed.error
        assert f"the nearest recorded request is of 'Late order', trial {missed.trial}" in missed.error


def test_where_two_were_reworded_each_is_shown_beside_what_is_most_like_it(bench: Workbench, judge: Served) -> None:
    bench.write("late.yml", MANY)
    go(bench, judge=who(judge), tape="record")
    bench.write("late.yml", MANY.replace("gives the reason", "states the reason").replace("offers to", "promises to"))
    missed = go(bench, judge=who(judge), tape="replay")
    assert "\n-Agent offers to do something about the delay\n+Agent promises to do something" in missed.error
