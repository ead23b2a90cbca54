"""Metrics: rated in one request after the criteria, stored with reasons, and not part of a verdict."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.actors.python import PythonSolver
from clerkship.engine.grader import RatingsAnswer
from clerkship.engine.model_resolver import ModelNeeds, ModelRequest, find_missing_models, resolve_models
from clerkship.llm.prompts import BUILT_IN
from clerkship.model.errors import InputError
from clerkship.model.quality import Quality
from clerkship.model.run import ModelOptions
from clerkship.service.exporting import write_reports
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.report_targets import ReportTargets, ResultsFolder
from clerkship.service.rescore import RescoreOptions, rescore
from clerkship.settings import Settings
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import bodies, refused, said
from tests.workbench import CATALOG, Workbench

SCENARIO = """
scenario:
  name: Late order
  simulation_context: You are in a hurry.
  setup: {person: {lines: [Where is my order?]}}
  goals:
    assertions: [{bot_uttered: {text_matches: snow}}]
"""
METRICS = """
    metrics:
      - {name: brevity, description: Says no more than it must.}
      - {name: named_the_day, description: It names the day., scale: yes/no}
"""
GOOD = {
    "binary_metrics": {
        "task_completion": {"passed": False, "reasoning": "No day in [T1]."},
        "named_the_day": {"passed": False, "reasoning": "None."},
    },
    "scale_metrics": {
        "helpfulness": {"score": 2, "reasoning": "Little."},
        "repair_quality": {"score": "5", "reasoning": "Nothing to repair."},
        "coherence": {"score": 5.0, "reasoning": "Fits."},
        "tone": {"score": 4, "reasoning": "Plain."},
        "brevity": {"score": 5, "reasoning": "Two words."},
        "something_else": {"score": 1, "reasoning": "Nobody asked."},
    },
    "summary": "It says that it snows.",
}


def agent(message: Any) -> str:
    """Says why."""
    return "It snows."


def rates(answer: Any) -> Callable[[Asked], Answered]:
    """Return an endpoint that rates with this answer, and passes every criterion."""

    def answers(asked: Asked) -> Answered:
        if b"scale_metrics" in asked.body:
            return said(json.dumps(answer))
        cites = [{"where": "T1", "quote": "It snows."}]
        return said(json.dumps({"reasoning": "Yes.", "citations": cites, "passed": True}))

    return answers


def judge_reference(served: Served) -> str:
    return f"openai:some-model@{served.url}/v1"


def test_ratings_are_stored_with_reasons_and_do_not_change_the_verdict(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO)
    with Served(rates(GOOD)) as served:
        task_run = bench.run_one(agent, judge=judge_reference(served), metrics=True)
    quality = task_run.quality
    assert quality is not None
    assert (task_run.verdict, task_run.score, bench.exit_code()) == ("pass", 1.0, 0)
    assert {name: rating.score for name, rating in quality.ratings.items() if rating.score} == {
        "helpfulness": 2,
        "repair_quality": 5,
        "coherence": 5,
        "tone": 4,
        "brevity": 5,
        "something_else": 1,
    }
    assert quality.ratings["task_completion"].passed is False
    assert quality.ratings["helpfulness"].reason == "Little."
    assert (quality.bot_quality, quality.summary, quality.error) == (4.0, "It says that it snows.", "")
    assert (quality.model, quality.prompt) == (judge_reference(served), BUILT_IN["metrics"].version)
    assert list(task_run.models) == ["metrics"]
    run = bench.store.run(task_run.run)
    assert (run.asking.metrics, run.options) == ("all", ("--metrics", "--judge", judge_reference(served)))


def test_rating_prompt_has_each_metric_and_the_person(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO + METRICS)
    with Served(rates(GOOD)) as served:
        task_run = bench.run_one(agent, judge=judge_reference(served))
    assert task_run.quality is not None
    assert task_run.quality.ratings["named_the_day"].passed is False
    [body] = bodies(served)
    orders, matter = (message["content"] for message in body["messages"])
    for name in ("helpfulness", "repair_quality", "coherence", "tone", "task_completion"):
        assert f"\n`{name}`: " in orders
    assert "`brevity`, where 5 is the best and 1 the worst: Says no more than it must." in orders
    assert (
        orders.index("`brevity`") < orders.index("binary_metrics") < orders.index("`named_the_day`: It names the day.")
    )
    assert "You are in a hurry." in matter
    assert '[T1.2] agent: "It snows."' in matter
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["scale_metrics", "binary_metrics", "summary"]
    assert not {"pattern", "maxLength", "maxItems"} & set(json.dumps(schema).split('"'))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"scale_metrics": {"tone": {"score": 6}}}, "less than or equal to 5"),
        ({"scale_metrics": {"tone": {"score": 0}}}, "greater than or equal to 1"),
        ({"scale_metrics": {"tone": {"score": True}}}, "expected a whole number from 1 to 5"),
        ({"scale_metrics": {"tone": {"score": 3.5}}}, "fractional part"),
        ({"scale_metrics": {"tone": {"score": "3.5"}}}, "fractional part"),
        ({"scale_metrics": {"tone": {"score": "good"}}}, "valid integer"),
        ({"scale_metrics": {"tone": 3}}, "valid dictionary"),
        ({"scale_metrics": {" ": {"score": 3}}}, "expected the name of a metric"),
        ({"binary_metrics": {"done": {"passed": "yes"}}}, "valid boolean"),
        (
            {"binary_metrics": {"tone": {"passed": True}}, "scale_metrics": {"tone": {"score": 3}}},
            "tone occurs twice",
        ),
        ({"scale_metrics": {}, "binary_metrics": None, "summary": "x"}, "expected at least one metric"),
        ({}, "expected at least one metric"),
    ],
)
def test_invalid_rating_is_an_error(wrong: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        RatingsAnswer.model_validate(wrong)


def test_ratings_can_be_a_list_or_a_map() -> None:
    found = RatingsAnswer.model_validate(
        {"scale_metrics": [{"name": "tone", "reasoning": "x", "score": "4"}]}
    ).by_name()
    assert (found["tone"].score, found["tone"].reason) == (4, "x")


@pytest.mark.parametrize("broken", [refused(401, "no"), said("Very good!"), said(json.dumps({"summary": "x"}))])
def test_failed_rating_is_stored_and_does_not_change_the_verdict(bench: Workbench, broken: Answered) -> None:
    bench.write("late.yml", SCENARIO)
    with Served(lambda asked: broken) as served:
        task_run = bench.run_one(agent, judge=judge_reference(served), metrics=True)
    assert (task_run.verdict, bench.exit_code()) == ("pass", 0)
    assert task_run.quality is not None
    assert task_run.quality.error
    assert (task_run.quality.ratings, task_run.quality.bot_quality) == ({}, None)


def test_ratings_do_not_decide_verdicts(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO.replace("snow", "rain") + METRICS)
    with Served(rates(GOOD)) as served:
        assert bench.run_one(agent, judge=judge_reference(served)).verdict == "fail"


def test_conversations_are_rated_only_on_request_and_with_a_judge(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO)
    with Served(rates(GOOD)) as served:
        assert bench.run_one(agent, judge=judge_reference(served)).quality is None
        with pytest.raises(InputError, match="--metrics needs a judge, and --no-judge turns it off"):
            bench.run_one(agent, judge="none", metrics=True)
        assert bench.run_one(agent, metrics=True).quality is None
        bench.write("late.yml", SCENARIO.replace("setup: {", "setup: {turn_timeout: 0.1, "))

        async def slow(message: Any) -> str:
            await asyncio.Event().wait()
            return ""

        cut = bench.run_one(slow, judge=judge_reference(served), metrics=True)
        assert (cut.status, cut.quality) == ("timed_out", None)
        assert served.asked == []


def conftest_for(address: str) -> str:
    """Return the settings of an evaluation folder whose judge is at an address."""
    return f"evaluation:\n  llm: {{provider: lm_studio, model: some-model, api_base: '{address}/v1'}}\n"


def test_scenarios_are_rated_by_default_if_their_conftest_names_a_judge(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO)
    with Served(rates(GOOD)) as served:
        bench.write("conftest.yml", conftest_for(served.url))
        task_run = bench.run_one(agent)
        assert task_run.quality is not None
        assert (task_run.quality.bot_quality, task_run.verdict) == (4.0, "pass")
        run = bench.store.run(task_run.run)
        assert (run.asking.metrics, run.options) == ("scenarios", ())
        again = rescore(bench.store, task_run.run, CATALOG, judging=RescoreOptions(metrics=False))
        assert [each.quality for each in bench.store.task_runs(again.run.id)] == [None]
        assert again.run.options == ("--no-metrics",)


def test_metrics_can_be_turned_off(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO + METRICS)
    with Served(rates(GOOD)) as served:
        bench.write("conftest.yml", conftest_for(served.url))
        task_run = bench.run_one(agent, metrics=False)
        assert bench.run_one(agent, judge="none").quality is None
    assert (task_run.quality, served.asked) == (None, [])
    assert bench.store.run(task_run.run).options == ("--no-metrics",)


def test_e2e_test_cases_are_not_rated_by_default(bench: Workbench) -> None:
    bench.write("e2e.yml", "test_cases:\n  - test_case: why\n    steps: [{user: Why?}, {bot: It snows.}]\n")
    bench.write("late.yml", SCENARIO)
    with Served(rates(GOOD)) as served:
        bench.write("conftest.yml", conftest_for(served.url))
        runs = {task_run.task: task_run.quality is not None for task_run in bench.run(agent)}
        assert sorted(runs.values()) == [False, True]
        assert runs["Late order"]
        assert all(task_run.quality is not None for task_run in bench.run(agent, metrics=True))


def test_default_ratings_need_an_available_judge(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISSING_KEY", raising=False)
    bench.write("late.yml", SCENARIO)
    bench.write("conftest.yml", "evaluation: {llm: {provider: openai, model: gpt-5.1, api_key: '${MISSING_KEY}'}}\n")
    task_run = bench.run_one(agent)
    assert (task_run.verdict, task_run.quality) == ("pass", None)


def test_run_without_default_ratings_names_the_reason(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISSING_KEY", raising=False)
    bench.write("late.yml", SCENARIO)
    bench.write("conftest.yml", "evaluation: {llm: {provider: openai, model: gpt-5.1, api_key: '${MISSING_KEY}'}}\n")

    def list_warnings(**options: Any) -> list[str]:
        request = RunRequest(path=bench.folder, agent=PythonSolver("agent", agent), **options)
        return [str(warning) for warning in plan_run(request, Settings(), CATALOG).warnings]

    [warning] = list_warnings()
    assert warning.startswith("scenarios are not rated by metrics: the conftest's judge is not available: ")
    assert "MISSING_KEY" in warning
    assert warning.endswith("; or give --judge; or turn ratings off with --no-metrics")
    assert list_warnings(metrics=False) == list_warnings(judge="none") == []
    bench.write("late.yml", SCENARIO + "    criteria: [It gives a reason.]\n")
    [warning] = list_warnings()
    assert warning.startswith("the conftest's judge is not available: ")


def test_replay_of_a_cassette_without_ratings_does_not_ask_for_them(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO + "    criteria: [It gives a reason.]\n")
    with Served(rates(GOOD)) as served:
        bench.write("conftest.yml", conftest_for(served.url))
        assert bench.run_one(agent, tape="record", metrics=False).verdict == "pass"
        task_run = bench.run_one(agent, tape="replay")
        assert (task_run.status, task_run.verdict, task_run.quality) == ("completed", "pass", None)
        bench.run_one(agent, tape="refresh")
        replayed = bench.run_one(agent, tape="replay")
    assert replayed.quality is not None
    assert replayed.quality.bot_quality == 4.0


def test_earlier_records_of_a_run_keep_their_metrics() -> None:
    assert ModelOptions.model_validate({"metrics": True}).metrics == "all"
    assert ModelOptions.model_validate({"metrics": False}).metrics == "own"


def test_rescore_rates_a_stored_run_again(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO)
    first = bench.run_one(agent, judge="none")
    with Served(rates(GOOD)) as served:
        again = rescore(bench.store, first.run, CATALOG, judging=RescoreOptions(judge_reference(served), metrics=True))
        [task_run] = bench.store.task_runs(again.run.id)
        assert task_run.quality is not None
        assert task_run.quality.bot_quality == 4.0
        assert again.run.options == ("--metrics", "--judge", judge_reference(served))
        third = rescore(bench.store, again.run.id, CATALOG)
        [task_run] = bench.store.task_runs(third.run.id)
        assert task_run.quality is not None
        assert task_run.quality.summary == "It says that it snows."
        bench.write("late.yml", SCENARIO + METRICS)
        rescore(bench.store, first.run, CATALOG, bench.folder, judging=RescoreOptions(judge_reference(served)))
        assert b"Says no more than it must." in served.asked[-1].body


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ("[{name: tone, description: x}]", "`tone` is a built-in metric: choose another name"),
        ("[{name: task_completion, description: x, scale: yes/no}]", "`task_completion` is a built-in metric"),
        ("[{name: a, description: x}, {name: a, description: y}]", "two metrics are called `a`"),
        ("[{name: a, description: ' '}]", "metrics.0.description: expected text that is not empty"),
        ("[{name: a b, description: x}]", "metrics.0.name: expected a letter, then letters, digits, `_` and `-`"),
        ("[{name: a, description: x, scale: 1-10}]", "metrics.0.scale: expected 1-5 or yes/no"),
        ("[{name: a}]", "`description` is missing"),
    ],
)
def test_invalid_metrics_are_reported_with_file_and_line(bench: Workbench, metrics: str, told: str) -> None:
    bench.write("late.yml", f"{SCENARIO}    metrics: {metrics}\n")
    with pytest.raises(InputError) as wrong:
        bench.run(agent)
    assert told in str(wrong.value)
    assert "late.yml:8:" in str(wrong.value)


def test_metrics_without_a_judge_give_a_warning() -> None:
    models = resolve_models(ModelRequest(), Settings())
    assert find_missing_models(models, ModelNeeds(judge=False)) == ()
    [told] = find_missing_models(models, ModelNeeds(judge=False, rated=True))
    assert str(told) == "no judge is configured to rate conversations by metrics; give --judge"


def test_rasa_results_contain_ratings(bench: Workbench, tmp_path: Path) -> None:
    bench.write("late.yml", SCENARIO + METRICS)
    with Served(rates(GOOD)) as served:
        task_run = bench.run_one(agent, judge=judge_reference(served))
    targets = ReportTargets(results=ResultsFolder(tmp_path / "results"))
    folder = write_reports(bench.store, task_run.run, targets)["results"]
    [text] = [path.read_text() for path in folder.rglob("run_1.txt")]
    section = text.split("--- Quality Metrics ---\n")[1].split("\n\n")[0].splitlines()
    assert section == [
        "bot_quality: 4/5",
        "  helpfulness: 2/5 — Little.",
        "  repair_quality: 5/5 — Nothing to repair.",
        "  coherence: 5/5 — Fits.",
        "  tone: 4/5 — Plain.",
        "  brevity: 5/5 — Two words.",
        "  something_else: 1/5 — Nobody asked.",
        "  task_completion: FAIL — No day in [T1].",
        "  named_the_day: FAIL — None.",
        "summary: It says that it snows.",
    ]
    [data] = [json.loads(path.read_text()) for path in folder.rglob("run_1.json")]
    assert (data["task_completion"], data["bot_quality"], data["scale_metrics"]["tone"]) == (False, 4.0, 4)
    assert data["quality"]["ratings"]["tone"]["reason"] == "Plain."


def test_quality_without_a_scale_has_no_mean() -> None:
    assert Quality().bot_quality is None
