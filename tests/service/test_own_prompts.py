"""Own prompts: a run uses them as they were at its start, even if the files change."""

import json
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.python import PythonSolver
from clerkship.llm.prompts import BUILT_IN, Prompt, list_prompts
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import RescoreOptions, rescore
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.actors.servers import Answered, Asked, Served
from tests.assertions.prompt_sections import parse_sections
from tests.llm.endpoint import bodies, said
from tests.workbench import CATALOG, Workbench, written

SCENARIO = """
scenario:
  name: Late order
  simulation_context: You are in a hurry.
  setup: {person: {lines: [Where is my order?]}}
  goals: {criteria: [It says why]}
"""
CRITERIA = """You are a judge for {{ engine_version }}.
Criteria:
{{ criteria_text }}
Conversation:
{{ transcript }}
Events:
{{ event_ledger }}
Answer with {"criteria": [{"criterion_index": 1, "passed": true, "reasoning": "..."}]}.
"""
METRICS = """Rate `warmth` from 1 to 5 and say whether it was `honest`, as scale_metrics and binary_metrics.
{{ transcript }}
"""
LISTED = {"criteria": [{"criterion_index": 1, "criterion_text": "It says", "passed": True, "reasoning": "Snow."}]}
RATED = {
    "scale_metrics": {"warmth": {"score": 2, "reasoning": "Cold."}},
    "binary_metrics": {"honest": {"passed": True, "reasoning": "It is."}},
    "summary": "Snow.",
}


def agent(message: Any) -> str:
    """Says why."""
    return "It snows."


def answer_as_rasa(asked: Asked) -> Answered:
    """Answer in the format of Rasa's templates."""
    return said(json.dumps(RATED if b"warmth" in asked.body else LISTED))


def conftest(bench: Workbench, served: Served, **templates: str) -> None:
    """Write a conftest with this judge and these templates."""
    named = "".join(f"\n  {key}: {key}.jinja2" for key in templates)
    llm = f"{{provider: openai, model: m, api_base: {served.url}/v1, temperature: 0, user: '${{JUDGED_BY}}'}}"
    bench.write("conftest.yml", f"evaluation:\n  llm: {llm}{named}\n")
    for key, text in templates.items():
        bench.write(f"{key}.jinja2", text)


@pytest.fixture(autouse=True)
def _set_person_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGED_BY", "somebody-secret")


def test_own_prompt_is_one_message_and_its_own_answer_format_is_accepted(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO)
    with Served(answer_as_rasa) as served:
        conftest(bench, served, criteria_judge_prompt=CRITERIA)
        task_run = bench.run_one(agent, metrics=False)
    [criterion] = written(task_run)
    assert (criterion.status, criterion.passed, criterion.detail, task_run.verdict) == ("judged", True, "Snow.", "pass")
    mark = Prompt("criterion", CRITERIA).version
    assert mark != BUILT_IN["criterion"].version
    parameters = {"temperature": 0, "user": "${JUDGED_BY}"}
    asked = {"model": f"openai:m@{served.url}/v1", "prompt": mark, "parameters": parameters}
    assert criterion.evidence[-1].actual == asked
    [body] = bodies(served)
    assert (body["temperature"], body["user"]) == (0, "somebody-secret")
    system, user = body["messages"]
    found = parse_sections(user["content"])
    assert list(found.sections) == ["TRANSCRIPT", "LEDGER"]
    assert found.outside.startswith("You are a judge for calm.\nCriteria:\n1. It says why\nConversation:\n")
    assert system["content"].startswith("What you are given stands in sections")
    assert "You decide whether" not in system["content"]


def test_unrequested_citations_are_ignored(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO)
    invented = {"passed": True, "reasoning": "x", "citations": [{"where": "T1", "quote": "It rains."}]}
    with Served(lambda asked: said(json.dumps(invented))) as served:
        conftest(bench, served, criteria_judge_prompt=CRITERIA)
        task_run = bench.run_one(agent)
    assert (task_run.criteria[0].status, task_run.verdict) == ("judged", "pass")
    assert [row.path for row in task_run.criteria[0].evidence] == ["judge"]
    schema = bodies(served)[0]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["reasoning", "passed"]


def test_prompt_that_extends_the_built_in_one_requests_citations(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO)
    own = '{% extends "criterion.jinja2" %}{% block orders %}{{ super() }}\nBe lenient.\n{% endblock %}'
    with Served(lambda asked: said(json.dumps({"passed": True, "reasoning": "x", "citations": []}))) as served:
        conftest(bench, served, criteria_judge_prompt=own)
        task_run = bench.run_one(agent)
    assert task_run.criteria[0].detail == "the judge passes the criterion without any citation"
    assert "Be lenient." in bodies(served)[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    "listed",
    [
        {"criteria": []},
        {"criteria": [*LISTED["criteria"], *LISTED["criteria"]]},
        {"criteria": [{**LISTED["criteria"][0], "criterion_index": 2}]},
        {"criteria": [{**LISTED["criteria"][0], "passed": "yes"}]},
    ],
)
def test_answer_about_other_criteria_is_not_a_verdict(bench: Workbench, listed: dict[str, Any]) -> None:
    bench.write("late.yml", SCENARIO)
    with Served(lambda asked: said(json.dumps(listed))) as served:
        conftest(bench, served, criteria_judge_prompt=CRITERIA)
        assert bench.run_one(agent).criteria[0].status == "error"


def test_metrics_prompt_alone_enables_ratings(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO.replace("{criteria: [It says why]}", "{}"))
    with Served(answer_as_rasa) as served:
        conftest(bench, served, metrics_judge_prompt=METRICS)
        task_run = bench.run_one(agent)
    quality = task_run.quality
    assert quality is not None
    assert (quality.ratings["warmth"].score, quality.ratings["honest"].passed) == (2, True)
    assert (quality.bot_quality, quality.prompt) == (None, Prompt("metrics", METRICS).version)
    assert quality.parameters == {"temperature": 0, "user": "${JUDGED_BY}"}
    assert task_run.verdict == "ungraded"


def _judged_by(task_run: TaskRun) -> str:
    return str(task_run.criteria[0].evidence[-1].actual["prompt"])


def test_rescore_uses_the_prompts_of_the_run(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO)
    with Served(answer_as_rasa) as served:
        conftest(bench, served, criteria_judge_prompt=CRITERIA, metrics_judge_prompt=METRICS)
        first = bench.run_one(agent)
        for path in bench.folder.glob("*.jinja2"):
            path.write_text("{{ criterion }} {{ transcript }} Changed.")
        plan = plan_rerun(bench.store, first.run, CATALOG, Settings(), PythonSolver("agent", agent))
        [again] = bench.store.task_runs(execute(plan, bench.store, CATALOG).run.id)
        [rescored] = bench.store.task_runs(rescore(bench.store, first.run, CATALOG).run.id)
        for task_run in (again, rescored):
            assert _judged_by(task_run) == Prompt("criterion", CRITERIA).version
            assert task_run.quality is not None
            assert task_run.quality.prompt == Prompt("metrics", METRICS).version
        (bench.folder / "metrics_judge_prompt.jinja2").write_text(METRICS)
        by_files = rescore(bench.store, first.run, CATALOG, bench.folder, judging=RescoreOptions(settings=Settings()))
        [new] = bench.store.task_runs(by_files.run.id)
        assert _judged_by(new) == Prompt("criterion", "{{ criterion }} {{ transcript }} Changed.").version


def test_invalid_prompt_template_stops_the_run_before_it_starts(bench: Workbench) -> None:
    bench.write("late.yml", SCENARIO)
    with Served(answer_as_rasa) as served:
        conftest(bench, served, criteria_judge_prompt="{{ criteria_text }}\n{{ transcript }}\n{{ goal }}\n")
        with pytest.raises(InputError) as wrong:
            plan_run(RunRequest(path=bench.folder, agent=PythonSolver("agent", agent)), Settings(), CATALOG)
        assert served.asked == []
    told = str(wrong.value)
    assert (
        f"{Path('criteria_judge_prompt.jinja2')}:3:1: 'goal' is undefined; available variables: criteria_text, " in told
    )


@pytest.mark.skipif("person" not in list_prompts(), reason="no model plays people here")
def test_person_prompt_is_used_and_stored(bench: Workbench) -> None:
    bench.write(
        "late.yml",
        SCENARIO.replace("  setup: {person: {lines: [Where is my order?]}}\n", "").replace(
            "{criteria: [It says why]}", "{}"
        ),
    )
    own = "You are a sailor. {{ simulation_context }} Answer with message, press and done."

    def plays(asked: Asked) -> Answered:
        is_later = len(json.loads(asked.body)["messages"]) > 2
        return said(json.dumps({"message": "Ahoy, why is it late?", "press": None, "done": is_later}))

    with Served(plays) as served:
        llm = f"{{provider: openai, model: m, api_base: {served.url}/v1}}"
        bench.write("conftest.yml", f"simulation:\n  llm: {llm}\n  simulated_user_prompt: sailor.jinja2\n")
        bench.write("sailor.jinja2", own)
        task_run = bench.run_one(agent)
    assert task_run.status == "completed", task_run.error
    assert bench.store.run(task_run.run).asking.prompts == {"person": own}
    orders = bodies(served)[0]["messages"][0]["content"]
    assert orders.startswith("You are a sailor. You are in a hurry.")
