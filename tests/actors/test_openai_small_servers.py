"""`openai:` agents with the servers of small models: strict about schemas, truncated answers, slow answers."""

import json
from typing import Any

import pytest

from tests.actors.picky_server import completion, require_types
from tests.actors.programs import WORK, suite
from tests.actors.servers import Served
from tests.actors.test_openai_chat import calls, solver
from tests.workbench import Workbench

SERVICE = """
    environment:
      name: desk
      now: 2026-03-02T09:00:00Z
      simulators: {chart: {kind: fhir}, hooks: {kind: cds}, drop: {kind: files}, chat: {kind: chat}}
    task:
      name: Sum
      task_item: {instruction: What is six times seven?}
      criteria: [{label: answers, assertion: {answer_matches: 42}}]
"""


def test_every_part_of_each_tool_schema_has_a_type(bench: Workbench) -> None:
    suite(bench, SERVICE)
    with Served(require_types(lambda body: completion(calls(("finish", {"answer": 42}))))) as served:
        task_run = bench.run_one(solver(served.url))
    assert (task_run.error, task_run.verdict) == ("", "pass")
    tools = {
        tool["function"]["name"]: tool["function"]["parameters"] for tool in json.loads(served.asked[-1].body)["tools"]
    }
    types = ["string", "number", "boolean", "object", "null", "array"]
    assert tools["finish"]["properties"]["answer"]["type"] == types


@pytest.mark.parametrize("answer", ["forty-two", 42, 4.2, True, None, {"sum": 42}, [[42], ["x"]]])
def test_finish_accepts_an_answer_of_any_type(bench: Workbench, answer: Any) -> None:
    suite(bench, WORK)
    with Served(require_types(lambda body: completion(calls(("finish", {"answer": answer}))))) as served:
        assert bench.run_one(solver(served.url)).answer == answer
