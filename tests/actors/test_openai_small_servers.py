"""`openai:` agents with the servers of small models: strict about schemas, truncated answers, slow answers."""

import json
import threading
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from clerkship.actors.toolbox import MAX_REPORTED_ARGUMENTS, find_tool_in_text
from clerkship.events.agent import ToolCallRejected
from clerkship.events.evidence import Evidence
from clerkship.events.ledger import render_ledger
from clerkship.events.log import open_log
from clerkship.llm.token_limit import DEFAULT_MAX_TOKENS
from clerkship.model.task import Task
from clerkship.report.judging_summary import JudgingSummary
from clerkship.service.checking import ValidationRequest, validate
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.actors.picky_server import completion, error, require_types
from tests.actors.programs import WORK, suite
from tests.actors.servers import Answered, Served
from tests.actors.test_model_agent import calls, results, solver
from tests.workbench import CATALOG, Workbench

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


@pytest.mark.parametrize(
    ("name", "arguments", "wrong", "reason"),
    [
        ("browse_the_web", '{"path": ', None, "no tool `browse_the_web`; known: chat__show_session, "),
        ("drop__read_flie", {"path": "x"}, None, "no tool `drop__read_flie`; did you mean `drop__read_file`?"),
        ("drop__read_file", '{"path": "a.t', None, "the arguments are not JSON"),
        ("drop__read_file", "[1]", None, "the arguments are not a JSON object (expected: a JSON object with path)"),
        ("drop__read_file", {}, "path", "`path` is missing (expected: string"),
        ("drop__read_file", {"path": ["x"]}, "path", "`path` must be text, not array"),
        ("drop__read_file", {"path": ""}, "path", "path: not a value that fits /files/{path*}"),
        ("drop__read_file", {"path": "x", "mood": "good"}, "mood", "unknown argument `mood`; known: path"),
        ("drop__write_file", {"path": "x", "data_base64": "???"}, "data_base64", "`data_base64` is not base64"),
        ("wait", {"duration": "soon"}, "duration", "soon"),
        ("wait", {"hours": 2}, "hours", "wait takes `duration`"),
        ("finish", {"anser": 1}, "anser", "finish takes `answer`"),
        ("finish", {}, "answer", "finish takes `answer`"),
    ],
)
def test_malformed_tool_call_is_logged_with_the_argument_and_the_reason(
    bench: Workbench, name: str, arguments: Any, wrong: str | None, reason: str
) -> None:
    def reply(body: dict[str, Any]) -> Answered:
        is_done = bool(results(body["messages"]))
        return completion(calls(("finish", {"answer": 42})) if is_done else calls((name, arguments)))

    suite(bench, WORK)
    with Served(require_types(reply)) as served:
        task_run = bench.run_one(solver(served.url))
    [rejected] = [event["payload"] for event in bench.events(task_run) if event["kind"] == "agent.tool.rejected"]
    assert (rejected["tool_name"], rejected.get("argument")) == (name, wrong)
    assert reason in rejected["reason"]
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    assert rejected["arguments"] == written
    assert results(json.loads(served.asked[-1].body)["messages"]) == [f"error: {rejected['reason']}"]
    assert not [event for event in bench.events(task_run) if event["kind"] == "agent.action.executed"]


def test_call_without_a_function_is_logged(bench: Workbench) -> None:
    def reply(body: dict[str, Any]) -> Answered:
        is_done = bool(results(body["messages"]))
        return completion(calls(("finish", {"answer": 42})) if is_done else {"tool_calls": [{"id": "c"}, 5]})

    suite(bench, WORK)
    with Served(require_types(reply)) as served:
        task_run = bench.run_one(solver(served.url))
    rejected = [event["payload"] for event in bench.events(task_run) if event["kind"] == "agent.tool.rejected"]
    assert [(payload["tool_name"], payload["reason"]) for payload in rejected] == [
        ("", "not a function call (expected: a function with a name and arguments)")
    ] * 2


def test_long_arguments_of_a_malformed_call_are_shortened_in_the_log(bench: Workbench) -> None:
    def reply(body: dict[str, Any]) -> Answered:
        is_done = bool(results(body["messages"]))
        return completion(calls(("finish", {"answer": 42} if is_done else {"note": "x" * 50_000})))

    suite(bench, WORK)
    with Served(require_types(reply)) as served:
        task_run = bench.run_one(solver(served.url))
    [rejected] = [event["payload"] for event in bench.events(task_run) if event["kind"] == "agent.tool.rejected"]
    assert len(rejected["arguments"]) == MAX_REPORTED_ARGUMENTS + 1


def test_malformed_arguments_are_not_sent_back(bench: Workbench) -> None:
    def reply(body: dict[str, Any]) -> Answered:
        past = [call for message in body["messages"] for call in message.get("tool_calls", ())]
        try:
            given = [json.loads(call["function"]["arguments"]) for call in past]
        except (TypeError, KeyError, ValueError) as broken:
            return error(500, f"Failed to parse tool call arguments: {broken}")
        if len(given) == 3:
            return completion(calls(("finish", {"answer": 42})))
        broken_call = {"id": "c1", "function": {"name": "drop__read_file", "arguments": '{"path": "a'}}
        no_arguments = {"id": "c2", "function": {"name": "drop__list_files", "arguments": ""}}
        return completion({"tool_calls": [broken_call, no_arguments, "nonsense"]})

    suite(bench, WORK)
    with Served(require_types(reply)) as served:
        task_run = bench.run_one(solver(served.url))
    assert (task_run.error, task_run.verdict) == ("", "pass")


def test_malformed_tool_call_is_in_the_ledger_that_a_judge_reads() -> None:
    log, writer = open_log()
    rejected = ToolCallRejected(tool_name="drop__read_file", argument="path", reason="`path` is missing")
    writer.append("agent", rejected, actor="agent", at=datetime(2026, 3, 2, 9, tzinfo=UTC))
    ledger = render_ledger(Evidence(Task(name="Read"), log.ordered(), {}, "agent_done"))
    assert 'tool call not executed: drop__read_file: "`path` is missing"' in ledger


def test_default_limit_of_tokens_is_sent(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(require_types(lambda body: completion(calls(("finish", {"answer": 42}))))) as served:
        bench.run_one(solver(served.url))
        bench.run_one(solver(served.url, max_tokens=300))
    sent = [json.loads(asked.body)["max_tokens"] for asked in served.asked if asked.method == "POST"]
    assert sent == [DEFAULT_MAX_TOKENS, 300]


def test_limit_settings_apply_to_the_agent(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(require_types(lambda body: completion(calls(("finish", {"answer": 42}))))) as served:
        agent = f"openai:small@{served.url}/v1"
        for settings, options in (
            (Settings(max_tokens=500), RunRequest(path=bench.folder, agent=agent)),
            (Settings(max_tokens=500), RunRequest(path=bench.folder, agent=agent, max_tokens=900)),
        ):
            execute(plan_run(options, settings, CATALOG), bench.store, CATALOG)
        first = bench.store.run("latest")
        execute(plan_rerun(bench.store, first.id, CATALOG, Settings(max_tokens=500)), bench.store, CATALOG)
    sent = [json.loads(asked.body)["max_tokens"] for asked in served.asked if asked.method == "POST"]
    assert sent == [500, 900, 900]
    assert first.options[-2:] == ("--max-tokens", "900")


def test_answer_of_the_agents_model_that_is_too_late_is_an_outage(bench: Workbench) -> None:
    release = threading.Event()

    def slow(body: dict[str, Any]) -> Answered:
        release.wait(20)
        return completion({"content": "42"})

    suite(bench, WORK)
    with Served(require_types(slow)) as served:
        task_run = bench.run_one(solver(served.url, timeout=0.05))
        release.set()
    assert (task_run.status, task_run.agent_error) == ("errored", "")
    assert "no answer in time (0.05 seconds; --model-timeout allows more), in 4 attempts" in task_run.error


def test_tool_call_that_is_cut_off_is_reported_as_cut_off(bench: Workbench) -> None:
    def reply(body: dict[str, Any]) -> Answered:
        if results(body["messages"]):
            return completion(calls(("finish", {"answer": 42})))
        return completion(calls(("drop__write_file", '{"path": "a.txt", "data": "a long')), finish="length")

    suite(bench, WORK)
    with Served(require_types(reply)) as served:
        task_run = bench.run_one(solver(served.url))
    events = [event["payload"] for event in bench.events(task_run) if event["kind"].startswith("agent.")]
    assert {"what": "model_answer_cut_off"} in [{"what": payload.get("what")} for payload in events]
    [reason] = [payload["reason"] for payload in events if "reason" in payload]
    assert reason.endswith("the call was cut off at the limit of tokens")
    assert task_run.verdict == "pass"
    [note] = task_run.notes
    assert note == "an answer of the agent's model was cut off at the limit of tokens; --max-tokens allows more"


def test_answer_that_is_cut_off_before_any_text_is_the_agents_error(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(require_types(lambda body: completion({"content": ""}, finish="length"))) as served:
        task_run = bench.run_one(solver(served.url))
    assert task_run.ending == "agent_failed"
    assert (
        "cut off at the limit of tokens before it said anything; allow more with --max-tokens" in task_run.agent_error
    )


def test_requests_of_the_agent_that_were_sent_again_are_counted(bench: Workbench) -> None:
    replies = iter(
        [
            (429, {"Retry-After": "0"}, b"{}"),
            error(500, "broken"),
            (200, {}, b'{"choices": [{"message"'),
            completion(calls(("finish", {"answer": 42}))),
        ]
    )
    suite(bench, WORK)
    with Served(require_types(lambda body: next(replies))) as served:
        task_run = bench.run_one(solver(served.url))
    again = {"rate limit": 1, "server error": 2}
    assert task_run.models["agent"].retries == again
    assert orjson.loads(bench.store.sidecar(task_run))["model_usage"]["retries"] == again
    summary = JudgingSummary.of(bench.store.run(task_run.run), [task_run])
    lines = dict(summary.lines())
    assert lines["models"].startswith("agent: 1 question, 10 tokens in, 2 out, cost not known, 3 sent again (")
    assert "(2 server errors, 1 rate limit)" in lines["models"]
    assert lines["retries"] == "requests to models were sent again in 1 of 1 trial: Work 3"


def test_rejected_calls_and_cut_off_answers_are_no_actions(bench: Workbench) -> None:
    def reply(body: dict[str, Any]) -> Answered:
        if results(body["messages"]):
            return completion({"content": None})
        return completion(calls(("drop__read_file", '{"path": "a')), finish="length")

    suite(bench, WORK)
    with Served(require_types(reply)) as served:
        task_run = bench.run_one(solver(served.url))
    kinds = [event["kind"] for event in bench.events(task_run)]
    assert "agent.tool.rejected" in kinds
    assert "agent.noted" in kinds
    [gate] = [criterion for criterion in task_run.criteria if criterion.assertion == "agent_acted"]
    assert not gate.passed


CALL = {"name": "drop__write_file", "arguments": {"path": "a.txt", "data": "x"}}
FENCED = f"I will write the file.\n```json\n{json.dumps(CALL, indent=2)}\n```"
FINISH = '```json\n{"name": "finish", "arguments": {"answer": 42}}\n```'
TOOLS = {"drop__write_file", "finish"}


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        (FENCED, "drop__write_file"),
        (json.dumps(CALL), "drop__write_file"),
        (json.dumps([CALL, CALL]), "drop__write_file"),
        (f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>", "drop__write_file"),
        (f"<tool_call>{json.dumps(CALL)}", "drop__write_file"),
        (json.dumps({"type": "function", "function": CALL}), "drop__write_file"),
        ('```\n{"tool": "finish", "answer": 42}\n```', "finish"),
        ('{"name": "send_mail", "parameters": {}}', "send_mail"),
        ("finish(answer=42)", "finish"),
        ("42", None),
        ('{"name": "Ann Lee"}', None),
        ('{"answer": 42}', None),
        ("I call finish now.", None),
        ("print(42)", None),
        ("```json\n{broken\n```", None),
        ("", None),
    ],
)
def test_tool_call_in_text_is_found(text: str, tool: str | None) -> None:
    assert find_tool_in_text(text, TOOLS) == tool
    assert find_tool_in_text(text, set()) is None


def test_tool_call_as_text_is_named_in_the_record_and_is_no_action(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(require_types(lambda body: completion({"content": FENCED}))) as served:
        task_run = bench.run_one(solver(served.url))
    [note] = [event["payload"] for event in bench.events(task_run) if event["kind"] == "agent.noted"]
    assert note == {"what": "tool_call_as_text", "data": {"tool": "drop__write_file"}}
    assert task_run.notes == (
        "an answer of the agent's model looks like a tool call; the endpoint returned no tool call",
    )
    assert task_run.verdict == "fail"


@pytest.mark.parametrize(
    ("message", "warning"),
    [
        (calls(("finish", {"answer": 42})), ""),
        (
            {"content": '```json\n{"name": "finish", "arguments": {"answer": 42}}\n```'},
            "text that looks like a tool call",
        ),
        ({"content": "42"}, "with '42'; the endpoint returned no tool call"),
    ],
)
def test_validate_asks_the_model_for_a_tool_call(bench: Workbench, message: dict[str, Any], warning: str) -> None:
    suite(bench, WORK)
    with Served(require_types(lambda body: completion(message))) as served:
        agent = solver(served.url)
        result = validate(ValidationRequest(path=bench.folder, agent=agent), Settings(), CATALOG)
    assert result.exit_code() == 0
    warnings = [problem.message for problem in result.warnings]
    assert [text for text in warnings if "call a tool" in text] == [
        text for text in warnings if warning and warning in text
    ]
    assert bool(warning) == any(text.startswith(f"agent {agent.name}: the model answered") for text in warnings)


def test_model_that_refuses_tools_is_a_warning_of_validate(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(require_types(lambda body: error(400, "tools are not supported"))) as served:
        result = validate(ValidationRequest(path=bench.folder, agent=solver(served.url)), Settings(), CATALOG)
    [warning] = [problem.message for problem in result.warnings if "call a tool" in problem.message]
    assert "did not answer" in warning
    assert "tools are not supported" in warning
