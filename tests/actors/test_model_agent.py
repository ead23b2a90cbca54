"""Agents behind a chat-completions endpoint: tool calls, retries, and redaction of the key."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest

from clerkship.actors.model_agent import MAX_ROUNDS, ModelSolver, load_openai
from clerkship.actors.toolbox import MAX_RESULT_LENGTH
from clerkship.llm.retry import ModelRetryPolicy
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings, load_settings
from tests.actors.models import model_at
from tests.actors.programs import TALK, WORK, suite
from tests.actors.servers import Answered, Asked, Served
from tests.workbench import CATALOG, Workbench

KEY = "sk-this-must-never-be-seen"
Script = Callable[[list[dict[str, Any]]], dict[str, Any]]


def says(text: str | None) -> dict[str, Any]:
    """Return a message with text."""
    return {"role": "assistant", "content": text}


def calls(*wanted: tuple[str, Any]) -> dict[str, Any]:
    """Return a message that calls tools; arguments given as text are sent unchanged."""
    functions = [
        {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)} for name, given in wanted
    ]
    made = [{"id": f"c{n}", "type": "function", "function": function} for n, function in enumerate(functions)]
    return {"role": "assistant", "content": None, "tool_calls": made}


def model(script: Script) -> Callable[[Asked], Answered]:
    """Return an endpoint that answers by a script over the messages so far."""

    def answer(asked: Asked) -> Answered:
        message = script(json.loads(asked.body)["messages"])
        usage = {"prompt_tokens": 10, "completion_tokens": 2}
        return 200, {}, json.dumps({"choices": [{"message": message}], "usage": usage}).encode()

    return answer


def solver(url: str, max_tokens: int | None = None, timeout: float | None = None) -> ModelSolver:
    """Return a solver with the test key and short retry delays."""
    policy = ModelRetryPolicy(backoff=0.001, timeout=timeout)
    return model_at(f"{url}/v1", "some-model", KEY, max_tokens=max_tokens, policy=policy)


def results(messages: list[dict[str, Any]]) -> list[str]:
    """Return the results of tool calls."""
    return [message["content"] for message in messages if message["role"] == "tool"]


def nowhere_is_the_key(bench: Workbench) -> None:
    """Assert that no file of the store contains the key."""
    bench.store.close()
    files = [path for path in bench.folder.parent.rglob("*") if path.is_file()]
    assert any(path.name == "store.db" for path in files)
    assert [path.name for path in files if KEY.encode() in path.read_bytes()] == []


def test_task_calls_tools_until_finish(bench: Workbench) -> None:
    steps = [
        calls(("drop__write_file", {"path": "a/b.txt", "data": "six"}), ("drop__list_files", {"prefix": "a"})),
        calls(("drop__read_file", {"path": "a/b.txt"}), ("wait", {"duration": "10m"})),
        calls(("finish", {"answer": 42})),
    ]
    seen: list[list[dict[str, Any]]] = []

    def script(messages: list[dict[str, Any]]) -> dict[str, Any]:
        seen.append(messages)
        return steps[len(seen) - 1]

    suite(bench, WORK)
    with Served(model(script)) as served:
        task_run = bench.run_one(solver(served.url))
    assert (task_run.verdict, task_run.agent_error, task_run.error) == ("pass", "", "")
    asked = json.loads(served.asked[0].body)
    assert (served.asked[0].path, asked["model"]) == ("/v1/chat/completions", "some-model")
    assert served.asked[0].headers["authorization"] == f"Bearer {KEY}"
    names = [tool["function"]["name"] for tool in asked["tools"]]
    assert {"chat__send_message", "drop__write_file", "finish", "wait"} <= set(names)
    assert asked["messages"][1] == {"role": "user", "content": "What is six times seven?"}
    assert results(seen[-1])[0] == "done (201)"
    assert json.loads(results(seen[-1])[1]) == {"files": [{"path": "a/b.txt", "size": 3}]}
    assert results(seen[-1])[2] == "six"
    done = [e["payload"] for e in bench.events(task_run) if e["kind"] == "agent.action.executed"]
    assert [payload["name"] for payload in done] == ["drop__write_file", "drop__list_files", "drop__read_file", "wait"]
    assert done[0]["arguments"] == {"path": "a/b.txt", "data": "six"}
    usage = orjson.loads(bench.store.sidecar(task_run))["model_usage"]
    assert usage == {"model": "some-model", "calls": 3, "prompt_tokens": 30, "completion_tokens": 6, "cost": None}
    called = [event["payload"] for event in bench.events(task_run) if event["kind"] == "agent.model.called"]
    assert [[call["name"] for call in payload["tool_calls"]] for payload in called][-1] == ["finish"]
    assert "agent.tool.executed" not in [event["kind"] for event in bench.events(task_run)]
    nowhere_is_the_key(bench)


def test_conversation_keeps_its_history_and_excludes_its_sandbox_from_tools(bench: Workbench) -> None:
    seen: list[Any] = []

    def script(messages: list[dict[str, Any]]) -> dict[str, Any]:
        seen.append(messages)
        spoken = [message["role"] for message in messages]
        if spoken.count("user") == 2 and spoken[-1] != "tool":
            return calls(("write_file", {"path": "note.txt", "data": "x"}))
        return says("bye" if spoken.count("user") == 2 else "Yes?")

    suite(bench, TALK)
    with Served(model(script)) as served:
        task_run = bench.run_one(solver(served.url))
    assert (task_run.verdict, task_run.ending) == ("pass", "person_done")
    assert [message["role"] for message in seen[-1]] == ["system", "user", "assistant", "user", "assistant", "tool"]
    assert seen[-1][0]["content"].startswith("Be brief.\n\nIt is ")
    assert [message["content"] for message in seen[-1] if message["role"] == "user"] == ["Hello", "Go on"]
    names = [tool["function"]["name"] for tool in json.loads(served.asked[0].body)["tools"]]
    files, folders = ["list_files", "read_file", "write_file", "delete_file"], ["list", "make", "remove"]
    assert names == [
        *files,
        *(f"{name}_folder" for name in folders),
        "rename",
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("drop__read_flie", {"path": "x"}, "error: no tool `drop__read_flie`; did you mean `drop__read_file`?"),
        ("drop__read_file", "{nonsense", "error: the arguments are not JSON"),
        ("drop__read_file", "[1]", "error: the arguments are not a JSON object"),
        ("drop__read_file", {}, "error: `path` is missing"),
        ("drop__read_file", {"path": ""}, "error: path: not a value that fits /files/{path*}"),
        ("drop__read_file", {"path": ["x"]}, "error: `path` must be text, not array"),
        ("drop__read_file", {"path": "x", "mood": "good"}, "error: unknown argument `mood`; known: path"),
        ("drop__read_file", {"path": "nowhere.txt"}, "refused with status 404: "),
        ("drop__read_file", {"path": "../../x"}, "refused with status 400: "),
        ("drop__write_file", {"path": "x", "data_base64": "???"}, "error: `data_base64` is not base64"),
        ("chat__send_message", {"text": "hello"}, "refused with status 409: "),
        ("chat__send_message", {"text": ""}, "refused with status 422: "),
        ("chat__send_message", {"txt": "hello"}, "error: unknown argument `txt`; known: text, buttons"),
        ("wait", {"duration": "soon"}, "error: "),
        ("wait", {}, "Nothing more is going to happen by itself."),
        ("finish", {"anser": 1}, "error: finish takes `answer`"),
    ],
)
def test_failed_tool_call_is_reported_to_the_model(bench: Workbench, name: str, arguments: Any, said: str) -> None:
    told: list[str] = []

    def script(messages: list[dict[str, Any]]) -> dict[str, Any]:
        told.extend(results(messages))
        return calls(("finish", {"answer": 42})) if told else calls((name, arguments))

    suite(bench, WORK)
    with Served(model(script)) as served:
        task_run = bench.run_one(solver(served.url))
    assert told[0].startswith(said)
    assert task_run.verdict == "pass"


def test_malformed_tool_call_is_reported_to_the_model(bench: Workbench) -> None:
    def script(messages: list[dict[str, Any]]) -> dict[str, Any]:
        if results(messages):
            assert all(result.startswith("error: not a function call") for result in results(messages))
            return calls(("finish", {"answer": 42}))
        return {"role": "assistant", "tool_calls": [{"id": "c"}, 5]}

    suite(bench, WORK)
    with Served(model(script)) as served:
        assert bench.run_one(solver(served.url)).verdict == "pass"


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (says("It is 42."), "It is 42."),
        (says(None), None),
        (
            {"role": "assistant", "content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]},
            "in parts",
        ),
        ({"role": "assistant", "content": None, "refusal": "I would rather not."}, "I would rather not."),
    ],
)
def test_plain_text_is_an_answer(bench: Workbench, message: dict[str, Any], answer: Any) -> None:
    suite(bench, WORK)
    with Served(model(lambda messages: message)) as served:
        task_run = bench.run_one(solver(served.url))
    assert (task_run.ending, task_run.answer) == ("agent_done", answer)


def test_a_model_that_only_ever_calls_tools_is_stopped(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(model(lambda messages: calls(("wait", {"duration": "1s"})))) as served:
        task_run = bench.run_one(solver(served.url))
    assert (task_run.status, task_run.ending) == ("completed", "agent_failed")
    assert f"called tools {MAX_ROUNDS} times" in task_run.agent_error
    assert len(served.asked) == MAX_ROUNDS


@pytest.mark.parametrize("trouble", [(429, {"Retry-After": "0"}), (503, {}), (529, {}), None])
def test_busy_server_is_retried(bench: Workbench, trouble: tuple[int, dict[str, str]] | None) -> None:
    good = model(lambda messages: calls(("finish", {"answer": 42})))
    asked_before: list[Asked] = []

    def busy_twice(asked: Asked) -> Answered | None:
        asked_before.append(asked)
        if len(asked_before) > 2:
            return good(asked)
        return None if trouble is None else (*trouble, b'{"error": {"message": "busy"}}')

    suite(bench, WORK)
    with Served(busy_twice) as served:
        task_run = bench.run_one(solver(served.url))
    assert (task_run.verdict, len(served.asked)) == ("pass", 3)


def errored(bench: Workbench, served: Served) -> TaskRun:
    """Run, and return a trial that is errored without a verdict."""
    suite(bench, WORK)
    task_run = bench.run_one(solver(served.url))
    assert (task_run.status, task_run.verdict, task_run.agent_error) == ("errored", None, "")
    assert bench.exit_code() == 2
    return task_run


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_outage_is_not_the_agents_fault(bench: Workbench, status: int) -> None:
    body = json.dumps({"error": {"message": f"sorry, {KEY}, all busy"}}).encode()
    with Served(lambda asked: (status, {"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, body)) as served:
        task_run = errored(bench, served)
    said = f"status {status}: sorry, ${{OPENAI_API_KEY}}, all busy, in 4 attempts"
    assert f"the model cannot be reached: {said}" in task_run.error
    assert len(served.asked) == 4
    nowhere_is_the_key(bench)


def test_a_server_that_goes_away_after_the_preflight_is_an_outage(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(model(lambda messages: says("42"))) as served:
        plan = plan_run(RunRequest(path=bench.folder, agent=solver(served.url)), Settings(timeout=20), CATALOG)
    [task_run] = bench.store.task_runs(execute(plan, bench.store, CATALOG).run.id)
    assert task_run.status == "errored"
    assert "cannot be reached: [Errno 111] Connection refused, in 4 attempts" in task_run.error


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (
            401,
            b'{"error": {"message": "bad key %s"}}' % KEY.encode(),
            "status 401: bad key ${OPENAI_API_KEY}; set CLERKSHIP_OPENAI",
        ),
        (404, b"no such model", "refuses model `some-model` with status 404: no such model; check the model's name"),
        (307, b"", "with status 307"),
        (200, b"<html>", "is not JSON: '<html>'"),
        (200, b'{"choices": []}', 'has no message: {"choices":[]}'),
        (200, b"[]", "has no message: []"),
    ],
)
def test_mistake_in_the_setup_is_an_error_with_a_hint(bench: Workbench, status: int, body: bytes, said: str) -> None:
    with Served(lambda asked: (status, {}, body)) as served:
        task_run = errored(bench, served)
    assert said in task_run.error
    assert len(served.asked) == 1
    nowhere_is_the_key(bench)


TOO_LONG = [
    {"message": "too long", "code": "context_length_exceeded"},
    {"message": "This model's maximum context length is 4096 tokens.", "code": 400},
]


@pytest.mark.parametrize("error", TOO_LONG, ids=["by its code", "in words"])
def test_a_history_that_outgrows_the_context_after_tool_calls_is_the_agents_error(
    bench: Workbench, error: dict[str, Any]
) -> None:
    read = calls(("drop_list", {}))

    def answer(asked: Asked) -> Answered:
        if len(served.asked) > 2:
            return 400, {}, json.dumps({"error": error}).encode()
        return model(lambda messages: read)(asked)

    suite(bench, WORK)
    with Served(answer) as served:
        task_run = bench.run_one(solver(served.url))
    assert (task_run.status, task_run.verdict) == ("completed", "fail")
    assert "its history is too long for the model" in task_run.agent_error
    assert bench.exit_code() == 1


@pytest.mark.parametrize("error", TOO_LONG, ids=["by its code", "in words"])
def test_a_first_message_that_is_too_long_is_a_mistake_in_the_setup(bench: Workbench, error: dict[str, Any]) -> None:
    with Served(lambda asked: (400, {}, json.dumps({"error": error}).encode())) as served:
        assert error["message"] in errored(bench, served).error


def test_key_in_a_models_answer_is_not_logged(bench: Workbench) -> None:
    suite(bench, TALK)
    with Served(model(lambda messages: says(f"bye, and my key is {KEY}"))) as served:
        task_run = bench.run_one(solver(served.url))
    assert "bye, and my key is ${OPENAI_API_KEY}" in [event["payload"].get("text") for event in bench.events(task_run)]
    nowhere_is_the_key(bench)


def test_model_and_address_come_from_the_reference_or_the_settings() -> None:
    given = Settings(openai_base_url="http://here/v1")
    assert load_openai("m", given).name == "openai:m@http://here/v1"
    assert load_openai("gpt@2", given).name == "openai:gpt@2@http://here/v1"
    assert load_openai("@cf/meta/m@https://there/v1", given).name == "openai:@cf/meta/m@https://there/v1"
    for rest, said in (
        ("", "no model"),
        ("m@https://u:p@h/v1", "password"),
        ("m@https://h/v1?key=x", "has a query"),
        ("m@h:80/v1", "has no http"),
    ):
        with pytest.raises(InputError, match=said):
            load_openai(rest, given)


def test_openai_variables_are_used_if_clerkship_settings_are_missing() -> None:
    theirs = {"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": "http://theirs"}
    found = load_settings(theirs)
    assert (found.openai_api_key, found.openai_base_url) == ("k1", "http://theirs")
    found = load_settings(theirs | {"CLERKSHIP_OPENAI_API_KEY": "k2", "CLERKSHIP_OPENAI_BASE_URL": "http://ours"})
    assert (found.openai_api_key, found.openai_base_url) == ("k2", "http://ours")
    with pytest.raises(InputError, match="CLERKSHIP_OPENAI_BASE_URL is 'here'; expected an address"):
        load_settings({"CLERKSHIP_OPENAI_BASE_URL": "here"})


def test_dropped_connection_is_reported_to_the_model(bench: Workbench) -> None:
    bench.write(
        "a.yml",
        """
        environment: {name: desk, simulators: {drop: {kind: files}}}
        task:
          name: List
          task_item: {instruction: list them}
          scenario: [{fault.drop: {times: 1}}, {fault.truncated: {times: 1, keep: 3}}]
          criteria: [{label: answered, assertion: {answer_matches: done}}]
        """,
    )
    told: list[str] = []

    def script(messages: list[dict[str, Any]]) -> dict[str, Any]:
        told[:] = results(messages)
        return calls(("list_files", {})) if len(told) < 3 else says("done")

    with Served(model(script)) as served:
        task_run = bench.run_one(solver(served.url))
    assert (task_run.status, task_run.verdict, task_run.error) == ("completed", "pass", "")
    assert told[0].startswith("error: the connection to drop broke")
    assert "3 of" in told[1]
    assert told[2].endswith('{"files":[]}')


def test_key_is_trimmed_and_an_invalid_key_is_not_shown() -> None:
    assert load_settings({"OPENAI_API_KEY": " sk-secret\r\n"}).openai_api_key == "sk-secret"
    for broken in ("sk-sec\x07ret", "sk-sécret"):
        with pytest.raises(InputError, match="cannot be part of a key") as found:
            load_settings({"OPENAI_API_KEY": broken})
        assert "ret" not in str(found.value)


CHART_WORK = """
    dataset: {name: chart, type: fhir, file: chart.ndjson}
    environment: {name: clinic, now: 2026-03-02T09:00:00Z, datasets: [chart], simulators: {ehr: {kind: fhir}}}
    task:
      name: Count
      task_item: {instruction: How many readings are there?}
      criteria:
        - {label: answers, assertion: {answer_matches: 120}}
"""


def test_cut_result_says_how_to_get_the_rest(bench: Workbench) -> None:
    note = "x" * 800
    patient = {"resourceType": "Patient", "id": "ada"}
    readings = [
        {
            "resourceType": "Observation",
            "id": f"r{number:03}",
            "status": "final",
            "code": {"text": "weight"},
            "subject": {"reference": "Patient/ada"},
            "note": [{"text": note}],
        }
        for number in range(120)
    ]
    bench.write("chart.ndjson", "\n".join(json.dumps(line) for line in [patient, *readings]))
    suite(bench, CHART_WORK)
    said: list[str] = []
    found: set[str] = set()

    def script(messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Request everything; if that is cut, request pages by cursor."""
        if len(messages) == 2:
            return calls(("everything", {"id": "ada"}))
        result = results(messages)[-1]
        if result.startswith("[cut"):
            said.append(result)
            return calls(("everything", {"id": "ada", "_count": 50}))
        page = json.loads(result)
        found.update(entry["resource"]["id"] for entry in page["entry"])
        after = [link["url"] for link in page["link"] if link["relation"] == "next"]
        if not after:
            return calls(("finish", {"answer": len(found - {"ada"})}))
        cursor = parse_qs(urlsplit(after[0]).query)["_cursor"][0]
        return calls(("everything", {"id": "ada", "_count": 50, "_cursor": cursor}))

    with Served(model(script)) as served:
        task_run = bench.run_one(solver(served.url))
    assert (task_run.verdict, task_run.agent_error, task_run.error) == ("pass", "", "")
    [cut] = said
    first, *_, last = cut.splitlines()
    assert first.startswith(f"[cut at {MAX_RESULT_LENGTH:,} of 1")
    assert "ask for fewer with `_count`" in first
    assert last == f"[… {first[1:]}"
