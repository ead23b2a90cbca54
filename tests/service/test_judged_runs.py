"""Runs with a judge over HTTP: verdicts, outages, skipped criteria, rescores, and no key in any output."""

import asyncio
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.python import PythonSolver
from clerkship.engine.model_resolver import ModelNeeds, ModelRequest, resolve_models
from clerkship.llm.prompts import BUILT_IN
from clerkship.model.errors import InputError
from clerkship.model.model_choice import ModelChoice
from clerkship.model.run import CriterionRun, TaskRun
from clerkship.report.markdown import render_markdown
from clerkship.service.exporting import write_reports
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.report_targets import ReportTargets
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import RescoreOptions, rescore
from clerkship.service.resume import plan_resume
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import KEY, bodies, refused, said, shorten_waits
from tests.workbench import CATALOG, Workbench, written

SCENARIO = """
scenario:
  name: Late order
  simulation_context: You are in a hurry.
  setup:
    person: {lines: [Where is my order?, Why?]}
  goals:
    criteria: [It says why the order is late, It does not ask for the number]
    assertions: [{bot_uttered: {text_matches: snow}}]
"""


def agent(message: Any) -> str:
    """Answer the same each time, and try a tool."""
    return "It snows."


@pytest.fixture
def scenario(bench: Workbench) -> Workbench:
    """A conversation with two criteria in plain language."""
    bench.write("late.yml", SCENARIO)
    return bench


def answer_by_criterion(verdict: Callable[[str], Answered]) -> Callable[[Asked], Answered]:
    """Return an endpoint that answers by the criterion, which comes last in the request."""
    return lambda asked: verdict(json.loads(asked.body)["messages"][1]["content"].splitlines()[-1])


def build_verdict(passed: bool, reasoning: str) -> Answered:
    """Return a verdict that quotes the conversation."""
    cites = [{"where": "T1", "quote": "It snows."}]
    return said(json.dumps({"reasoning": reasoning, "citations": cites, "passed": passed}))


def answer_pass(statement: str) -> Answered:
    return build_verdict(True, f"[T1] {statement}")


def judge_reference(served: Served) -> str:
    return f"openai:some-model@{served.url}/v1"


def judged(task_run: TaskRun) -> list[CriterionRun]:
    """Return the criteria in plain language."""
    return [criterion for criterion in task_run.criteria if criterion.assertion == "judged"]


def run_with_key(bench: Workbench, served: Served) -> TaskRun:
    """Run one task with the key of the environment."""
    settings = Settings(timeout=20, openai_api_key=KEY)
    request = RunRequest(path=bench.folder, agent=PythonSolver("agent", agent), judge=judge_reference(served))
    bench.result = execute(plan_run(request, settings, CATALOG), bench.store, CATALOG)
    [task_run] = bench.store.task_runs(bench.result.run.id)
    return task_run


def assert_key_is_not_in(bench: Workbench, *texts: str) -> None:
    """Assert that the key is in no file of the store and in none of these texts."""
    bench.store.close()
    found = [path for path in bench.folder.parent.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert found == []
    assert not any(KEY in text for text in texts)


def test_each_criterion_is_judged_in_its_own_request(scenario: Workbench) -> None:
    def verdict(statement: str) -> Answered:
        return build_verdict("why" in statement, f"[T1] on {statement}")

    with Served(answer_by_criterion(verdict)) as served:
        task_run = run_with_key(scenario, served)
    assert (task_run.status, task_run.verdict, scenario.exit_code()) == ("completed", "fail", 1)
    first, second = judged(task_run)
    assert (first.passed, first.status, first.detail) == (True, "judged", "[T1] on It says why the order is late")
    assert (second.passed, second.detail) == (False, "[T1] on It does not ask for the number")
    mark = BUILT_IN["criterion"].version
    assert first.evidence[-1].actual == {"model": judge_reference(served), "prompt": mark, "parameters": {}}
    assert (first.evidence[0].path, first.evidence[0].expected) == ("T1", {"contains": "It snows."})
    cited = scenario.events(task_run)[(first.evidence[0].seq or 0) - 1]
    assert (cited["actor"], cited["payload"]["text"]) == ("agent", agent(None))
    run = scenario.store.run(task_run.run)
    assert run.judge is not None
    assert run.judge.who == judge_reference(served)
    prompts = [body["messages"][1]["content"] for body in bodies(served)]
    assert len(prompts) == 2
    for prompt in prompts:
        assert '[T1.2] agent: "It snows."' in prompt.splitlines()
    assert_key_is_not_in(scenario)


def test_criteria_of_one_trial_are_judged_concurrently(scenario: Workbench) -> None:
    both = threading.Barrier(2)

    def verdict(statement: str) -> Answered:
        both.wait(20)
        return answer_pass(statement)

    with Served(answer_by_criterion(verdict)) as served:
        task_run = run_with_key(scenario, served)
    assert task_run.verdict == "pass"
    assert [criterion.detail for criterion in judged(task_run)] == [
        "[T1] It says why the order is late",
        "[T1] It does not ask for the number",
    ]


@pytest.mark.parametrize("failing", ["why", "number"])
def test_failed_criterion_fails_the_run(scenario: Workbench, failing: str) -> None:
    with Served(answer_by_criterion(lambda statement: build_verdict(failing not in statement, "So."))) as served:
        task_run = run_with_key(scenario, served)
    assert (task_run.verdict, scenario.exit_code()) == ("fail", 1)
    assert [criterion.passed for criterion in judged(task_run)] == [failing != "why", failing != "number"]


def test_invalid_citation_makes_only_its_criterion_an_error(scenario: Workbench) -> None:
    def verdict(statement: str) -> Answered:
        if "number" not in statement:
            return answer_pass(statement)
        cites = [{"where": "T7", "quote": "Your number?"}]
        return said(json.dumps({"reasoning": "So.", "citations": cites, "passed": True}))

    with Served(answer_by_criterion(verdict)) as served:
        task_run = run_with_key(scenario, served)
    first, second = judged(task_run)
    assert (first.status, first.passed) == ("judged", True)
    assert (second.status, second.passed) == ("error", False)
    assert second.detail == "the judge gives wrong citations: there is no turn T7 in the transcript"
    assert (task_run.verdict, len(served.asked)) == ("inconclusive", 4)
    talks = [[message["role"] for message in body["messages"]] for body in bodies(served)]
    assert ["system", "user", "assistant", "user"] in talks


def test_votes_can_be_set_for_a_run_and_a_scenario(scenario: Workbench) -> None:
    cast = itertools.count()

    def verdict(statement: str) -> Answered:
        return build_verdict("why" in statement or next(cast) > 0, "So.")

    with Served(answer_by_criterion(verdict)) as served:
        task_run = scenario.run_one(agent, judge=judge_reference(served), votes=3)
    first, second = judged(task_run)
    assert (task_run.verdict, len(served.asked)) == ("pass", 6)
    assert first.detail == "So."
    assert second.detail == "2 of 3 votes say it holds: So.; against it: So."
    assert scenario.store.run(task_run.run).asking.votes == 3
    scenario.write("late.yml", SCENARIO.replace("  goals:", "  goals:\n    votes: 5"))
    with Served(answer_by_criterion(answer_pass)) as served:
        task_run = scenario.run_one(agent, judge=judge_reference(served))
    assert (task_run.verdict, len(served.asked)) == ("pass", 10)
    assert judged(task_run)[0].label == "It says why the order is late"
    scenario.write("late.yml", SCENARIO.replace("  goals:", "  goals:\n    votes: 2"))
    with pytest.raises(InputError, match=r"goals\.votes: expected an odd number of votes"):
        scenario.run_one(agent)


def test_outage_of_the_judge_is_an_error_of_the_criterion(scenario: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)
    with Served(lambda asked: refused(500, f"down {KEY}", **{"Retry-After": "0"})) as served:
        task_run = run_with_key(scenario, served)
    assert (task_run.status, task_run.verdict, task_run.score) == ("completed", "inconclusive", None)
    assert scenario.exit_code() == 2
    assert [criterion.status for criterion in written(task_run)] == ["judged", "error", "error"]
    assert not any(criterion.passed for criterion in judged(task_run))
    assert judged(task_run)[0].detail.startswith("the model cannot be reached: status 500: down [key], in 4 attempts")
    assert_key_is_not_in(scenario, *(criterion.detail for criterion in task_run.criteria))


def test_malformed_answer_makes_only_its_criterion_an_error(scenario: Workbench) -> None:
    def verdict(statement: str) -> Answered:
        return said("It passed!") if "number" in statement else answer_pass(statement)

    with Served(
        lambda asked: answer_by_criterion(verdict)(asked) if b"It passed!" not in asked.body else said("It passed!")
    ) as served:
        task_run = run_with_key(scenario, served)
    first, second = judged(task_run)
    assert (first.status, first.passed) == ("judged", True)
    assert (second.status, second.passed) == ("error", False)
    assert "gave no answer of the right shape in 3 attempts" in second.detail
    assert (task_run.verdict, scenario.exit_code()) == ("inconclusive", 2)


def test_failed_gate_fails_the_trial_despite_unjudged_criteria(scenario: Workbench) -> None:
    scenario.write("late.yml", SCENARIO.replace("snow", "rain"))
    with Served(lambda asked: refused(401, "no")) as served:
        task_run = run_with_key(scenario, served)
    assert (task_run.verdict, scenario.exit_code()) == ("fail", 1)
    assert "status 401" in judged(task_run)[0].detail


def test_missing_judge_is_an_error_with_a_hint(scenario: Workbench) -> None:
    task_run = scenario.run_one(agent)
    assert (task_run.verdict, scenario.exit_code()) == ("inconclusive", 2)
    assert "none is configured; add --judge, or --no-judge to skip the criterion" in judged(task_run)[0].detail
    assert scenario.store.run(task_run.run).judge is None


def test_skipped_criteria_are_shown_and_not_counted(scenario: Workbench, tmp_path: Path) -> None:
    task_run = scenario.run_one(agent, judge="none")
    assert (task_run.verdict, task_run.score, scenario.exit_code()) == ("pass", 1.0, 0)
    assert [criterion.status for criterion in written(task_run)] == ["judged", "skipped", "skipped"]
    run = scenario.store.run(task_run.run)
    assert (run.judge, run.options) == (ModelChoice(who="none"), ("--no-judge",))
    targets = ReportTargets(html=tmp_path / "r.html", junit=tmp_path / "r.xml", markdown=tmp_path / "r.md")
    write_reports(scenario.store, run.id, targets)
    junit = (tmp_path / "r.xml").read_text()
    assert 'failures="0" errors="0" skipped="0"' in junit
    assert "skipped: It says why the order is late" in junit
    assert "--no-judge" in junit
    page = (tmp_path / "r.html").read_text()
    assert '"status":"skipped"' in page.replace(" ", "")
    assert "1 of 1 criteria passed, 2 were skipped" in page
    markdown = (tmp_path / "r.md").read_text()
    assert "Skipped criteria" in markdown
    assert "It does not ask for the number</code>: in 1 trial" in markdown
    assert "**1 of 1** graded trials passed" in markdown


def test_trial_with_only_skipped_criteria_is_ungraded(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO.replace("    assertions: [{bot_uttered: {text_matches: snow}}]\n", ""))
    task_run = bench.run_one(agent, judge="none")
    assert (task_run.verdict, task_run.score, bench.exit_code()) == ("ungraded", None, 2)
    run, counts = bench.store.run(task_run.run), bench.store.counts(task_run.run)
    assert "No trial was graded" in render_markdown(run, counts, lambda: [task_run])


def test_interrupted_trial_is_not_judged(scenario: Workbench) -> None:
    scenario.write("late.yml", SCENARIO.replace("setup:", "timeout: 0.2\n  setup:"))

    async def slow(message: Any) -> str:
        await asyncio.Event().wait()
        return "never"

    with Served(answer_by_criterion(answer_pass)) as served:
        task_run = scenario.run_one(slow, judge=judge_reference(served))
    assert (task_run.status, task_run.verdict, served.asked) == ("timed_out", "fail", [])
    assert judged(task_run)[0].detail == "no model was asked, because the trial is timed out"


def test_rescore_judges_a_stored_run_again(scenario: Workbench) -> None:
    first = scenario.run_one(agent, judge="none")
    with Served(answer_by_criterion(answer_pass)) as served:
        again = rescore(scenario.store, first.run, CATALOG, judging=RescoreOptions(judge_reference(served)))
    [task_run] = scenario.store.task_runs(again.run.id)
    assert task_run.verdict == "pass"
    assert [criterion.status for criterion in written(task_run)] == ["judged"] * 3
    assert again.run.judge is not None
    assert again.run.judge.who == judge_reference(served)
    assert again.run.options == ("--judge", judge_reference(served))
    assert task_run.head == first.head
    with Served(answer_by_criterion(answer_pass)) as other:
        third = rescore(scenario.store, again.run.id, CATALOG, judging=RescoreOptions(judge_reference(other)))
    assert third.run.options == ("--judge", judge_reference(other))
    skipped = rescore(scenario.store, again.run.id, CATALOG, judging=RescoreOptions("none"))
    assert skipped.run.options == ("--no-judge",)


def test_rerun_uses_the_same_judge(scenario: Workbench) -> None:
    with Served(answer_by_criterion(answer_pass)) as served:
        first = scenario.run_one(agent, judge=judge_reference(served))
        solver = PythonSolver("agent", agent)
        plan = plan_rerun(scenario.store, first.run, CATALOG, Settings(judge="none"), solver)
        result = execute(plan, scenario.store, CATALOG)
        resumed = plan_resume(scenario.store, first.run, CATALOG, Settings(), agent=solver)
    assert result.exit_code() == 0
    assert len(served.asked) == 4
    assert result.run.judge == scenario.store.run(first.run).judge
    assert resumed.plan.models.judge is not None
    assert resumed.plan.models.judge.name == judge_reference(served)


def test_concurrent_trials_get_their_own_verdicts(scenario: Workbench) -> None:
    with Served(answer_by_criterion(answer_pass)) as served:
        found = scenario.run(agent, judge=judge_reference(served), trials=12, concurrency=6)
    assert [task_run.verdict for task_run in found] == ["pass"] * 12
    assert len(served.asked) == 24


CONFTEST = """
simulation: {llm: {provider: openai, model: gpt-5.1}}
evaluation:
  llm: {provider: openai, model: some-model, api_base: URL, temperature: 0, cache: {no-cache: true}}
  max_concurrent_llm_calls: 2
"""


def test_conftest_of_the_folder_can_name_the_judge(scenario: Workbench) -> None:
    with Served(answer_by_criterion(answer_pass)) as served:
        scenario.write("conftest.yml", CONFTEST.replace("URL", f"{served.url}/v1"))
        task_run = scenario.run_one(agent)
    assert task_run.verdict == "pass"
    judge = scenario.store.run(task_run.run).judge
    assert judge is not None
    assert (judge.who, judge.parameters, judge.at_once) == (judge_reference(served), {"temperature": 0}, 2)
    assert bodies(served)[0]["temperature"] == 0
    assert "cache" not in bodies(served)[0]


@pytest.fixture
def served() -> Iterator[Served]:
    """An endpoint that passes everything."""
    with Served(answer_by_criterion(answer_pass)) as found:
        yield found


def test_judge_option_takes_precedence_over_settings_and_conftest(scenario: Workbench, served: Served) -> None:
    scenario.write("conftest.yml", CONFTEST.replace("URL", f"{served.url}/v1"))
    assert written(scenario.run_one(agent, judge="none"))[-1].status == "skipped"
    request = RunRequest(path=scenario.folder, agent=PythonSolver("agent", agent))
    assert plan_run(request, Settings(judge="none"), CATALOG).run.judge == ModelChoice(who="none")
    assert served.asked == []


@pytest.mark.parametrize(
    ("llm", "told"),
    [
        ("{provider: anthropic, model: claude}", "api.anthropic.com requires a key; set ANTHROPIC_API_KEY"),
        ("{provider: azure, model: m, api_base: 'https://x'}", "x requires a key; set AZURE_API_KEY"),
        ("{provider: azure, model: m}", "model `azure:m`: no address"),
        ("{provider: bedrock, model: m}", "the provider `bedrock` is not available; use openai, azure, anthropic"),
        ("{provider: openai, model: gpt-5.1}", "api.openai.com requires a key; set OPENAI_API_KEY"),
        ("{provider: openai, model: m, api_key: '${NO_SUCH_KEY}'}", "variable NO_SUCH_KEY is not set"),
        ("{provider: openai, model: '${NO_SUCH_MODEL}'}", "variable NO_SUCH_MODEL is not set"),
    ],
)
def test_unavailable_judge_of_a_conftest_is_reported_when_needed(scenario: Workbench, llm: str, told: str) -> None:
    scenario.write("conftest.yml", f"evaluation: {{llm: {llm}}}")
    task_run = scenario.run_one(agent)
    assert (task_run.verdict, scenario.exit_code()) == ("inconclusive", 2)
    assert told in judged(task_run)[0].detail
    assert "--no-judge" in judged(task_run)[0].detail
    assert scenario.run_one(agent, judge="none").verdict == "pass"


def test_unneeded_judge_is_not_built(bench: Workbench) -> None:
    assert resolve_models(ModelRequest(), Settings(judge="openai:"), ModelNeeds(judge=False)).judge is None
    with pytest.raises(InputError, match="no model"):
        resolve_models(ModelRequest("openai:"), Settings(), ModelNeeds(judge=False))


def test_lone_surrogate_in_a_rationale_is_stored(scenario: Workbench) -> None:
    half = '{"reasoning": "half \\ud83d", "citations": [{"where": "T1", "quote": "It snows."}], "passed": true}'
    with Served(lambda asked: said(half)) as served:
        task_run = scenario.run_one(agent, judge=judge_reference(served))
    assert all("half ?" in criterion.detail for criterion in task_run.criteria if criterion.assertion == "judged")
