"""Models of Anthropic and Google as agents, over their own APIs; and each kind of model, recorded and replayed."""

import json
import threading
from typing import Any

import pytest

from clerkship.actors.model_agent import load_anthropic, load_gemini, load_openai
from clerkship.model.errors import InputError
from clerkship.providers.apis import APIS
from clerkship.settings import Settings
from tests.actors.models import model_at
from tests.actors.programs import TALK, WORK, suite
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import in_turn
from tests.llm.generated import generated
from tests.llm.messages import text, wrote
from tests.workbench import Workbench

KEY = "key-that-must-never-be-seen"
THOUGHT = {"type": "thinking", "thinking": "Six sevens…", "signature": "c2lnbmVk"}


def tool_use(name: str, arguments: Any, id: str) -> dict[str, Any]:
    """Return a block of Anthropic's API that calls a tool."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def completed(message: dict[str, Any]) -> Answered:
    """Return a completion of OpenAI's API with a message."""
    return 200, {}, json.dumps({"choices": [{"message": message}]}).encode()


def function(name: str, arguments: Any, id: str) -> dict[str, Any]:
    """Return a tool call of OpenAI's API."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("drop__write_file", {"path": "a.txt", "data": "six"}),
    ("drop__read_file", {"path": "a.txt"}),
    ("finish", {"answer": 42}),
]
ANSWERS = {
    "openai": [completed({"tool_calls": [function(*call, f"c{n}")]}) for n, call in enumerate(CALLS)],
    "anthropic": [wrote(THOUGHT, tool_use(*call, f"t{n}"), stop="tool_use") for n, call in enumerate(CALLS)],
    "gemini": [
        generated({"functionCall": {"name": name, "args": args}, "thoughtSignature": "c2ln"}) for name, args in CALLS
    ],
}
PATHS = {
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/small:generateContent",
}


def at(provider: str, url: str, key: str = KEY) -> Any:
    """Return a model of a provider as an agent."""
    return model_at(f"{url}/v1" if provider == "openai" else url, "small", key, provider)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_task_calls_tools_until_finish(bench: Workbench, provider: str) -> None:
    suite(bench, WORK)
    with Served(in_turn(ANSWERS[provider])) as served:
        task_run = bench.run_one(at(provider, served.url))
    assert (task_run.verdict, task_run.agent_error, task_run.error) == ("pass", "", "")
    assert [asked.path for asked in served.asked] == [PATHS[provider]] * 3
    assert all(KEY in "".join(asked.headers.values()) for asked in served.asked)
    events = bench.events(task_run)
    called = [event["payload"] for event in events if event["kind"] == "agent.model.called"]
    assert [[call["name"] for call in payload["tool_calls"]] for payload in called] == [[name] for name, _ in CALLS]
    done = [event["payload"]["name"] for event in events if event["kind"] == "agent.action.executed"]
    assert done == ["drop__write_file", "drop__read_file"]
    assert KEY not in json.dumps(events)


def test_anthropic_gets_tools_results_and_its_own_thoughts(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(in_turn(ANSWERS["anthropic"])) as served:
        bench.run_one(at("anthropic", served.url))
    first, *_, last = [json.loads(asked.body) for asked in served.asked]
    assert first["system"].startswith("It is ")
    assert first["max_tokens"] == 8192
    assert {"drop__read_file", "finish", "wait"} <= {tool["name"] for tool in first["tools"]}
    assert all(tool["input_schema"]["type"] == "object" for tool in first["tools"])
    assert [message["role"] for message in last["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    assert last["messages"][1]["content"][0] == THOUGHT
    assert last["messages"][4]["content"] == [{"type": "tool_result", "tool_use_id": "t1", "content": "six"}]


def test_gemini_gets_tools_results_and_its_own_signatures(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(in_turn(ANSWERS["gemini"])) as served:
        bench.run_one(at("gemini", served.url))
    first, *_, last = [json.loads(asked.body) for asked in served.asked]
    [functions] = [tool["functionDeclarations"] for tool in first["tools"]]
    assert {"drop__read_file", "finish", "wait"} <= {tool["name"] for tool in functions}
    assert first["generationConfig"] == {"maxOutputTokens": 8192}
    assert first["systemInstruction"]["parts"][0]["text"].startswith("It is ")
    assert last["contents"][1]["parts"][0]["thoughtSignature"] == "c2ln"
    answer = {"name": "drop__read_file", "response": {"result": "six"}}
    assert last["contents"][4] == {"role": "user", "parts": [{"functionResponse": answer}]}


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_conversation_keeps_its_history(bench: Workbench, provider: str) -> None:
    said = ["Yes?", "bye"]
    answers = {"anthropic": [wrote(text(words)) for words in said], "gemini": [generated({"text": w}) for w in said]}
    suite(bench, TALK)
    with Served(in_turn(answers[provider])) as served:
        task_run = bench.run_one(at(provider, served.url))
    assert (task_run.verdict, task_run.ending) == ("pass", "person_done")
    body = json.loads(served.asked[-1].body)
    roles = [message["role"] for message in body["messages" if provider == "anthropic" else "contents"]]
    assert roles == ["user", "assistant" if provider == "anthropic" else "model", "user"]


@pytest.mark.parametrize(
    ("provider", "answer"),
    [
        ("anthropic", wrote(text("On and"), stop="max_tokens")),
        ("gemini", generated({"text": "On and"}, finish="MAX_TOKENS")),
    ],
)
def test_answer_that_is_cut_off_is_noted(bench: Workbench, provider: str, answer: Answered) -> None:
    suite(bench, WORK)
    with Served(lambda asked: answer) as served:
        task_run = bench.run_one(at(provider, served.url))
    noted = [event["payload"]["what"] for event in bench.events(task_run) if event["kind"] == "agent.noted"]
    assert (task_run.answer, noted) == ("On and", ["model_answer_cut_off"])


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_run_is_replayed_without_the_provider_and_a_key(bench: Workbench, provider: str) -> None:
    suite(bench, WORK)
    with Served(in_turn(ANSWERS[provider])) as served:
        first = bench.run_one(at(provider, served.url), tape="record")
    again = bench.run_one(at(provider, served.url, ""), tape="replay")
    assert (again.verdict, again.error) == ("pass", "")
    assert [event["payload"] for event in bench.events(again)] == [event["payload"] for event in bench.events(first)]


ONE = """
    environment: {name: NAME, simulators: {drop: {kind: files}}}
    task:
      name: NAME
      environment: NAME
      task_item: {instruction: NAME}
      criteria: [{label: answers, assertion: {answer_matches: 42}}]
"""


def test_call_that_gemini_cannot_read_is_rejected_and_made_again(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(in_turn([generated(finish="MALFORMED_FUNCTION_CALL"), ANSWERS["gemini"][-1]])) as served:
        task_run = bench.run_one(at("gemini", served.url))
    assert task_run.verdict == "pass"
    assert "agent.tool.rejected" in bench.kinds(task_run)
    *_, last = json.loads(served.asked[-1].body)["contents"]
    assert last["parts"][0]["text"].startswith("Your tool call could not be read")


def test_task_is_replayed_without_those_recorded_before_it(bench: Workbench) -> None:
    def answer(asked: Asked) -> Answered:
        if "max_tokens" in json.loads(asked.body):
            return 400, {}, b'{"error": {"message": "max_tokens is not supported, use max_completion_tokens"}}'
        return completed({"tool_calls": [function("finish", {"answer": 42}, "c")]})

    for name in ("one", "two"):
        bench.write(f"{name}.yml", ONE.replace("NAME", name))
    with Served(answer) as served:
        first = bench.run(at("openai", served.url), tape="record", concurrency=1)
    again = bench.run(at("openai", served.url, ""), tape="replay", tasks=["two"])
    assert [(task_run.verdict, task_run.error) for task_run in [*first, *again]] == [("pass", "")] * 3


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        ("anthropic", {"type": "error", "error": {"message": "input length and `max_tokens` exceed context limit: 9"}}),
        (
            "gemini",
            {"error": {"message": "The input token count (9) exceeds the maximum number of tokens"}},
        ),
    ],
)
def test_history_that_outgrows_the_context_is_the_agents_error(
    bench: Workbench, provider: str, body: dict[str, Any]
) -> None:
    def answer(asked: Asked) -> Answered:
        return ANSWERS[provider][1] if len(served.asked) == 1 else (400, {}, json.dumps(body).encode())

    suite(bench, WORK)
    with Served(answer) as served:
        task_run = bench.run_one(at(provider, served.url))
    assert (task_run.ending, task_run.error) == ("agent_failed", "")
    assert "its history is too long for the model" in task_run.agent_error


def test_thoughts_of_openai_servers_go_back_and_empty_messages_do_not(bench: Workbench) -> None:
    thinking = completed({"reasoning_content": "Hm.", "tool_calls": [function("drop__list_files", {}, "c")]})
    suite(bench, WORK)
    with Served(in_turn([thinking, completed({"content": "42"})])) as served:
        bench.run_one(at("openai", served.url))
    assert json.loads(served.asked[-1].body)["messages"][2]["reasoning_content"] == "Hm."
    empty = APIS["openai"].parse_chat({"choices": [{"message": {"content": ""}}]})
    assert empty is not None
    assert (empty.message.text, empty.message.original["content"]) == ("", "(nothing)")


def test_blank_text_of_anthropic_does_not_go_back(bench: Workbench) -> None:
    suite(bench, WORK)
    calls = wrote(text(" "), tool_use("drop__no_such_tool", {}, "t"), stop="tool_use")
    with Served(in_turn([calls, wrote(text("42"))])) as served:
        bench.run_one(at("anthropic", served.url))
    _, answered, result = json.loads(served.asked[-1].body)["messages"]
    assert [block["type"] for block in answered["content"]] == ["tool_use"]
    assert result["content"][0]["is_error"] is True


def test_replay_of_a_hosted_model_needs_no_key(bench: Workbench) -> None:
    suite(bench, WORK)
    with pytest.raises(InputError, match=r"api\.openai\.com requires a key; set OPENAI_API_KEY"):
        bench.run("openai:gpt-x")
    missed = bench.run_one("openai:gpt-x", tape="replay")
    assert missed.status == "errored"
    assert "not recorded: a call of the agent to openai/chat/completions" in missed.error


def test_recording_at_another_address_is_replayed_without_it(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(in_turn(ANSWERS["openai"])) as served:
        bench.run_one("openai:small", tape="record", settings=Settings(openai_base_url=f"{served.url}/v1"))
    assert json.loads(served.asked[-1].body)["max_tokens"]  # api.openai.com has another name for it
    again = bench.run_one("openai:small", tape="replay", settings=Settings())
    assert (again.verdict, again.error) == ("pass", "")


def test_models_of_each_provider_come_from_the_reference_or_the_settings() -> None:
    given = Settings(anthropic_base_url="http://here", gemini_base_url="http://there")
    assert load_anthropic("m", given).name == "anthropic:m@http://here"
    assert load_gemini("m@http://else", given).name == "gemini:m@http://else"
    assert load_gemini("m", Settings()).name == "gemini:m"
    assert load_openai("m", given).model_account.variable == "OPENAI_API_KEY"


def test_model_that_fills_the_log_has_failed(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.events.log.MAX_EVENTS", 10)
    suite(bench, WORK)
    reads = completed({"tool_calls": [function("drop__list_files", {}, "c")]})
    with Served(lambda asked: reads) as served:
        task_run = bench.run_one(at("openai", served.url))
    assert (task_run.ending, task_run.verdict) == ("agent_failed", "fail")
    assert task_run.agent_error.startswith("the log of the trial is full")
    assert len(served.asked) < 10


def test_model_that_reaches_a_limit_of_its_calls_has_failed(bench: Workbench) -> None:
    suite(bench, WORK)
    reads = completed({"tool_calls": [function("drop__list_files", {}, "c")]})
    with Served(lambda asked: reads) as served:
        task_run = bench.run_one(at("openai", served.url), max_calls_per_trial=2)
    assert (task_run.ending, len(served.asked)) == ("agent_failed", 2)
    assert "--max-calls-per-trial allows no more than 2" in task_run.agent_error


def test_agent_that_is_out_of_time_ends_its_model_call(bench: Workbench) -> None:
    bench.write("a.yml", WORK.replace("{timeout}", "1"))

    over = threading.Event()

    def never(asked: Asked) -> Answered | None:
        over.wait(20)
        return None

    with Served(never) as served:
        task_run = bench.run_one(at("openai", served.url))
        over.set()
    assert task_run.ending == "timed_out"
