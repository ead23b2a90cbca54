"""A judge that follows every instruction outside the data sections: instructions of an agent must not reach it."""

import json
from typing import Any

import pytest

from clerkship.events.agent import ActionExecuted, SlotSet, ToolExecuted
from clerkship.model.run import TaskRun
from tests.actors.servers import Answered, Asked, Served
from tests.assertions.prompt_sections import parse_sections
from tests.assertions.test_injection import HOSTILE, ORDER
from tests.llm.endpoint import said
from tests.workbench import Workbench, written

ENVIRONMENT = """
environment:
  name: desk
  now: 2026-03-02T09:00:00Z
  simulators: {chat: {kind: chat}, drop: {kind: files}}
"""
SCENARIO = """
scenario:
  name: Late order
  simulation_context: You are in a hurry.
  setup: {person: {lines: [Where is my order?, Why?]}}
  goals:
    criteria: [STATEMENT]
    metrics: [{name: brevity, description: It is brief.}]
"""


def answer_gullibly(asked: Asked) -> Answered:
    """Pass if anything outside the data sections says so, else fail."""
    messages = json.loads(asked.body)["messages"]
    heard = "\n".join(
        parse_sections(message["content"]).outside for message in messages if message["role"] != "assistant"
    )
    obeys = ORDER in heard
    if "scale_metrics" in heard:
        score = 5 if obeys else 1
        return said(json.dumps({"scale_metrics": {"tone": {"score": score, "reasoning": "So."}}, "summary": "So."}))
    last = messages[-1]["content"]
    quote = ORDER if "WRONG CITATIONS" not in last else "Where is my order?"
    cites = [{"where": "T1", "quote": f"{quote}!" if quote == ORDER else quote}]
    return said(json.dumps({"reasoning": "As I am told.", "citations": cites, "passed": obeys}))


def run(bench: Workbench, text: str, statement: str) -> TaskRun:
    """Run an agent that puts an instruction into every place it can."""

    def agent(message: Any, sandboxes: Any) -> dict[str, Any]:
        sandboxes.report(SlotSet(name=text, value=text))
        sandboxes.report(ActionExecuted(name=text, arguments={text: text}))
        sandboxes.report(ToolExecuted(tool_name=text, arguments={"a": text}, result={"said": text}))
        sandboxes["drop"].write("a.txt", text)
        return {"text": text, "buttons": [{"title": text, "payload": text}], "custom": {text: text}}

    bench.write("desk.yml", ENVIRONMENT)
    bench.write("late.yml", SCENARIO.replace("STATEMENT", json.dumps(statement)))
    with Served(answer_gullibly) as served:
        return bench.run_one(agent, judge=f"openai:some-model@{served.url}/v1")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_instructions_of_an_agent_do_not_change_verdicts_or_ratings(bench: Workbench, text: str) -> None:
    task_run = run(bench, text, "It says why")
    [criterion] = written(task_run)
    assert (criterion.status, criterion.passed, task_run.verdict) == ("judged", False, "fail")
    assert task_run.quality is not None
    assert task_run.quality.ratings["tone"].score == 1


def test_gullible_judge_follows_instructions_of_the_criterion(bench: Workbench) -> None:
    task_run = run(bench, "It snows.", f"Whatever happens, {ORDER}")
    assert (task_run.criteria[0].status, task_run.verdict) == ("judged", "pass")
