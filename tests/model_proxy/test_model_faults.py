"""Faults of model calls have the form of each provider, streamed or not, as the official clients read it."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from clerkship.actors.contract import History, Message, Say
from clerkship.events.lifecycle import FaultInjected
from clerkship.model.run import TaskRun
from clerkship.providers.connections import RequestStop
from clerkship.sandbox.faults.contract import ModelFault
from clerkship.sandbox.faults.model_faults import (
    ModelErrorFault,
    RateLimitedModelFault,
    RefusingModelFault,
    SlowModelFault,
    TruncatedAnswerFault,
)
from clerkship.sandbox.faults.registry import MODEL_FAULTS, load_model_fault
from clerkship.sandbox.model_access import ModelAccess
from clerkship.sandbox.request import Request
from clerkship.settings import Settings
from tests.actors.programs import suite
from tests.imports import anthropic, genai, openai
from tests.model_proxy.desk import CHAT, ModelDesk
from tests.model_proxy.provider import KEY, Call, ModelProvider
from tests.service.forks import fork
from tests.workbench import Workbench

TEXT = "The answer is forty-two."
QUESTION: list[Any] = [{"role": "user", "content": "six times seven?"}]
EACH_WIRE = pytest.mark.parametrize("wire", ["chat", "responses", "messages", "generate"])
EACH_MODE = pytest.mark.parametrize("stream", [False, True])


class Read(NamedTuple):
    """What a client read."""

    text: str
    stop: str
    refusal: str = ""
    arguments: str = ""


class Clients:
    """The official clients, which do not try again."""

    def __init__(self, desk: ModelDesk) -> None:
        self._stack = ExitStack()
        self.openai = self._keep(
            openai.OpenAI(base_url=desk.openai.base_url, api_key=desk.openai.api_key, max_retries=0)
        )
        self.anthropic = self._keep(
            anthropic.Anthropic(base_url=desk.anthropic.base_url, api_key=desk.anthropic.api_key, max_retries=0)
        )
        options = genai.types.HttpOptions(base_url=desk.gemini.base_url)
        self.gemini = self._keep(genai.Client(api_key=desk.gemini.api_key, http_options=options))
        self.close = self._stack.close

    def _keep(self, client: Any) -> Any:
        return self._stack.enter_context(closing(client))

    def ask(self, wire: str, stream: bool) -> Read:
        """Ask a model, and return what the client makes of the answer."""
        ask: Callable[[bool], Read] = getattr(self, f"_ask_{wire}")
        return ask(stream)

    def _ask_chat(self, stream: bool) -> Read:
        asked: dict[str, Any] = {"model": "gpt-4o", "messages": QUESTION}
        if stream:
            text, stop, refusal, arguments = "", "", "", ""
            for chunk in self.openai.chat.completions.create(**asked, stream=True):
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    refusal += choice.delta.refusal or ""
                    arguments += "".join(call.function.arguments for call in choice.delta.tool_calls or [])
                    stop = choice.finish_reason or stop
            return Read(text, stop, refusal, arguments)
        choice = self.openai.chat.completions.create(**asked).choices[0]
        arguments = "".join(call.function.arguments for call in choice.message.tool_calls or [])
        return Read(choice.message.content or "", choice.finish_reason, choice.message.refusal or "", arguments)

    def _ask_responses(self, stream: bool) -> Read:
        asked: dict[str, Any] = {"model": "gpt-4o", "input": "six times seven?"}
        if stream:
            with self.openai.responses.stream(**asked) as events:
                seen = list(events)
            deltas = "".join(event.delta for event in seen if event.type == "response.output_text.delta")
            response = seen[-1].response
            assert deltas == response.output_text
        else:
            response = self.openai.responses.create(**asked)
        parts = [part for item in response.output for part in getattr(item, "content", None) or []]
        reason = response.incomplete_details.reason if response.incomplete_details else response.status
        return Read(
            response.output_text,
            reason,
            "".join(part.refusal for part in parts if part.type == "refusal"),
            "".join(item.arguments for item in response.output if item.type == "function_call"),
        )

    def _ask_messages(self, stream: bool) -> Read:
        asked: dict[str, Any] = {"model": "claude-sonnet-4-6", "messages": QUESTION, "max_tokens": 100}
        if stream:
            with self.anthropic.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = self.anthropic.messages.create(**asked)
        arguments = "".join(json.dumps(block.input) for block in message.content if block.type == "tool_use")
        return Read(
            "".join(block.text for block in message.content if block.type == "text"), message.stop_reason, "", arguments
        )

    def _ask_generate(self, stream: bool) -> Read:
        asked = {"model": "gemini-2.5-flash", "contents": "six times seven?"}
        models = self.gemini.models
        answers = list(models.generate_content_stream(**asked)) if stream else [models.generate_content(**asked)]
        candidates = [answer.candidates[0] for answer in answers]
        parts = [part for each in candidates if each.content for part in each.content.parts or []]
        calls = "".join(json.dumps(part.function_call.args) for part in parts if part.function_call)
        return Read("".join(part.text or "" for part in parts), candidates[-1].finish_reason.name, "", calls)


class SharedDesk(ModelDesk):
    """A desk for all tests of this module, because clients take long to build."""

    clients: Clients
    first = 0
    """The number of events before the test."""


@pytest.fixture(scope="module")
def shared_desk() -> Iterator[SharedDesk]:
    with ModelProvider(TEXT) as provider, SharedDesk(provider) as opened:
        opened.clients = Clients(opened)
        yield opened
        opened.clients.close()


@pytest.fixture
def desk(shared_desk: SharedDesk) -> SharedDesk:
    shared_desk.playground.faults.calling.clear()
    shared_desk.provider.answers = [TEXT]
    shared_desk.provider.received.clear()
    shared_desk.first = len(shared_desk.events)
    return shared_desk


@pytest.fixture
def provider(desk: SharedDesk) -> ModelProvider:
    return desk.provider


@pytest.fixture
def clients(desk: SharedDesk) -> Clients:
    return desk.clients


def list_injected(desk: SharedDesk) -> list[tuple[str, str, dict[str, Any]]]:
    injected = [event.payload for event in desk.events[desk.first :] if isinstance(event.payload, FaultInjected)]
    return [(payload.fault, payload.operation, payload.details) for payload in injected]


@EACH_MODE
@EACH_WIRE
def test_truncated_answer_ends_at_the_limit_of_tokens(
    desk: SharedDesk, clients: Clients, wire: str, stream: bool
) -> None:
    desk.playground.inject(TruncatedAnswerFault(keep=10, times=1))
    stop = {"chat": "length", "responses": "max_output_tokens", "messages": "max_tokens", "generate": "MAX_TOKENS"}
    assert clients.ask(wire, stream) == Read(TEXT[:10], stop[wire])
    assert list_injected(desk) == [("model.truncated", wire, {"kept": 10, "of": len(TEXT)})]
    assert desk.calls[-1].finish_reason == stop[wire]
    assert desk.usage[-1]["prompt_tokens"] == 100
    assert clients.ask(wire, stream).text == TEXT


@EACH_MODE
@EACH_WIRE
def test_truncated_tool_call_has_incomplete_arguments(
    desk: SharedDesk, clients: Clients, provider: ModelProvider, wire: str, stream: bool
) -> None:
    provider.answers = [Call("add", {"a": 6, "b": 7})]
    desk.playground.inject(TruncatedAnswerFault())
    if wire == "messages" and stream:  # the client itself parses arguments that are incomplete
        assert clients.ask(wire, stream).arguments == '{"a": 6}'
    elif wire in ("messages", "generate"):
        assert clients.ask(wire, stream).arguments == "{}"
    else:
        assert clients.ask(wire, stream).arguments == '{"a": 6,'
    assert [details["of"] for _, _, details in list_injected(desk)] in ([16], [13])


@EACH_MODE
@EACH_WIRE
def test_refusal_has_the_form_of_the_provider(
    desk: SharedDesk, clients: Clients, provider: ModelProvider, wire: str, stream: bool
) -> None:
    desk.playground.inject(RefusingModelFault(text="Not that."))
    expected = {
        "chat": Read("", "stop", "Not that."),
        "responses": Read("", "completed", "Not that."),
        "messages": Read("", "refusal"),
        "generate": Read("", "SAFETY"),
    }
    assert clients.ask(wire, stream) == expected[wire]
    assert provider.received == []
    assert list_injected(desk) == [("model.refuses", wire, {})]
    assert (desk.calls[-1].status, desk.usage[-1]["cost"]) == (200, 0)


@EACH_MODE
@pytest.mark.parametrize(
    ("wire", "shape"),
    [
        ("chat", (500, {"error": {"type": "server_error", "code": "server_error"}})),
        ("responses", (500, {"error": {"type": "server_error"}})),
        ("messages", (529, {"type": "error", "error": {"type": "overloaded_error"}})),
        ("generate", (503, {"error": {"status": "UNAVAILABLE", "code": 503}})),
    ],
)
def test_error_has_the_form_of_the_provider(
    desk: SharedDesk, clients: Clients, wire: str, stream: bool, shape: tuple[int, Any]
) -> None:
    desk.playground.inject(ModelErrorFault())
    with pytest.raises((openai.APIStatusError, anthropic.APIStatusError, genai.errors.ServerError)) as raised:
        clients.ask(wire, stream)
    status, body = shape
    assert get_status(raised.value) == status
    assert contains(get_body(raised.value), body)
    assert list_injected(desk) == [("model.error", wire, {"status": status})]
    assert (desk.calls[-1].status, desk.provider.received) == (status, [])


@EACH_MODE
@pytest.mark.parametrize(
    ("wire", "shape"),
    [
        ("chat", {"error": {"type": "requests", "code": "rate_limit_exceeded"}}),
        ("responses", {"error": {"type": "requests", "code": "rate_limit_exceeded"}}),
        ("messages", {"type": "error", "error": {"type": "rate_limit_error"}}),
        ("generate", {"error": {"status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "2.5s"}]}}),
    ],
)
def test_rate_limit_has_the_form_of_the_provider(
    desk: SharedDesk, clients: Clients, wire: str, stream: bool, shape: Any
) -> None:
    desk.playground.inject(RateLimitedModelFault(retry_after=timedelta(seconds=2.5), times=1))
    with pytest.raises((openai.RateLimitError, anthropic.RateLimitError, genai.errors.ClientError)) as raised:
        clients.ask(wire, stream)
    headers = raised.value.response.headers
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("3", "2500")
    assert contains(get_body(raised.value), shape)
    assert list_injected(desk) == [("model.rate_limited", wire, {"status": 429, "retry_after": 3})]
    assert clients.ask(wire, stream).text == TEXT


def get_status(error: Any) -> int:
    return int(error.code if isinstance(error, genai.errors.APIError) else error.status_code)


def get_body(error: Any) -> Any:
    if isinstance(error, genai.errors.APIError):
        return error.details
    return {"error": error.body} if "error" not in error.body else error.body


def contains(whole: Any, part: Any) -> bool:
    """Return whether a value has all fields of another."""
    if isinstance(part, dict):
        return all(name in whole and contains(whole[name], value) for name, value in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return bool(whole == part)


def test_client_recovers_from_a_rate_limit(desk: SharedDesk, clients: Clients, provider: ModelProvider) -> None:
    desk.playground.inject(RateLimitedModelFault(retry_after=timedelta(milliseconds=10), times=2))
    patient = clients.openai.with_options(max_retries=2)
    assert patient.chat.completions.create(model="gpt-4o", messages=QUESTION).choices[0].message.content == TEXT
    assert [call.status for call in desk.calls[-3:]] == [429, 429, 200]
    assert len(provider.received) == 1


@EACH_MODE
def test_slow_model_takes_simulated_time(desk: SharedDesk, clients: Clients, stream: bool) -> None:
    desk.playground.inject(SlowModelFault(by=timedelta(minutes=5), jitter=timedelta(minutes=1)))
    before = desk.playground.now
    assert clients.ask("chat", stream).text == TEXT
    assert timedelta(minutes=5) <= desk.playground.now - before <= timedelta(minutes=6, seconds=1)
    assert [fault for fault, _, _ in list_injected(desk)] == ["model.slow"]


@EACH_MODE
def test_slow_model_takes_real_time_on_a_paced_clock(
    desk: SharedDesk, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    paced = desk.playground.environment.model_copy(update={"time": "paced"})
    monkeypatch.setattr(desk.playground, "environment", paced)
    desk.playground.inject(SlowModelFault(by=timedelta(minutes=2)))
    name = desk.openai.base_url.split("/")[-3]
    headers = {"authorization": f"Bearer {desk.openai.api_key}"}
    body = json.dumps({**CHAT, "stream": stream}).encode()
    reply = desk.proxy.answer(name, Request("POST", "/openai/v1/chat/completions", {}, headers, body))
    assert (reply.status, reply.delivery.delay) == (200, 120)  # for which the server waits before it sends the reply
    list(reply.stream or ())


def test_faults_apply_in_order_until_one_answers(desk: SharedDesk, clients: Clients) -> None:
    slow, fails = SlowModelFault(by=timedelta(seconds=1)), ModelErrorFault(status=529, times=1)
    for fault in (slow, TruncatedAnswerFault(), fails):
        desk.playground.inject(fault)
    with pytest.raises(openai.InternalServerError) as raised:
        clients.ask("chat", stream=False)
    assert raised.value.status_code == 503  # OpenAI has no 529
    assert [fault for fault, _, _ in list_injected(desk)] == ["model.slow", "model.error"]
    assert clients.ask("chat", stream=False).stop == "length"


@pytest.mark.parametrize("name", MODEL_FAULTS)
def test_skip_and_times_hold_for_every_fault(desk: SharedDesk, clients: Clients, name: str) -> None:
    fault: type[ModelFault] = load_model_fault(name)
    needed = {"by": "1s"} if name == "model.slow" else {}
    desk.playground.inject(fault.model_validate({**needed, "skip": 1, "times": 2}))
    for _ in range(2):
        clients.openai.models.list()  # asks no model
    for _ in range(5):
        with suppress(openai.APIStatusError):
            clients.ask("chat", stream=False)
    kinds = [event.kind for event in desk.events[desk.first :]]
    affected = ["fault.injected", "agent.model.called"]
    assert kinds == ["agent.model.called"] * 3 + affected * 2 + ["agent.model.called"] * 2


def test_embeddings_are_not_truncated_or_refused(desk: SharedDesk, clients: Clients) -> None:
    for fault in (TruncatedAnswerFault(), RefusingModelFault()):
        desk.playground.inject(fault)
    vectors = clients.openai.embeddings.create(model="text-embedding-3-small", input="x", encoding_format="float")
    assert vectors.data[0].embedding == [0.5, 0.25]
    assert list_injected(desk) == []


FLAKY = """
    environment: {name: desk, simulators: {drop: {kind: files}}}
    task:
      name: Work
      timeout: {timeout}
      task_item: {instruction: What is six times seven?}
      scenario:
        - model.rate_limited: {times: 1, retry_after: 10ms}
        - model.slow: {by: 10s}
        - model.truncated: {times: 1, keep: 1}
      criteria:
        - {label: answers, assertion: {answer_matches: 42}}
        - label: tried again
          assertion:
            sequencing: [{event: fault.injected, where: {fault: model.rate_limited}}, {event: agent.model.called}]
"""


@EACH_MODE
def test_faults_of_a_task_are_the_same_in_a_replay(
    bench: Workbench, clients: Clients, provider: ModelProvider, stream: bool
) -> None:
    def on_task(task_item: Any, sandboxes: Any) -> int:
        address, key = sandboxes.models["openai"]
        own: Any = SimpleNamespace(openai=clients.openai.with_options(base_url=address, api_key=key, max_retries=2))
        cut, whole = (Clients._ask_chat(own, stream) for _ in range(2))
        assert (cut.text, cut.stop) == ("4", "length")
        return int(whole.text)

    provider.answers = ["42"]
    suite(bench, FLAKY)
    settings = Settings(openai_base_url=f"{provider.url}/v1", openai_api_key=KEY)
    recorded = bench.run_one(on_task, settings=settings, judge="none", tape="record")
    assert (recorded.verdict, recorded.agent_error) == ("pass", "")
    assert len(provider.received) == 2
    replayed = bench.run_one(on_task, settings=Settings(), judge="none", tape="replay")
    assert (replayed.verdict, replayed.agent_error) == ("pass", "")
    assert list(bench.store.log(replayed)) == list(bench.store.log(recorded))
    assert len(provider.received) == 2


CONVERSATION = """
    environment: {name: desk, simulators: {chat: {kind: chat}}}
    task:
      name: Keep notes
      scenario:
        starts: person
        steps: [model.error: {skip: 1, times: 2}]
        person: {lines: [a, b, c, d]}
      criteria: [{label: said, assertion: {bot_uttered: {text_matches: "."}}}]
"""


class Asker:
    """Asks a model in each turn, and says the status."""

    def on_history(self, history: History) -> None:
        """It needs to know nothing."""

    def on_turn(self, message: Message, sandboxes: Any) -> Say:
        models: ModelAccess = sandboxes.models
        return Say(str(models.call("openai", "/chat/completions", json.dumps(CHAT).encode(), RequestStop()).status))


def test_fork_continues_to_count_calls(bench: Workbench, provider: ModelProvider) -> None:
    def list_replies(task_run: TaskRun) -> list[str]:
        events = [event for event in bench.events(task_run) if event["actor"] == "agent"]
        return [event["payload"]["text"] for event in events if "text" in event["payload"]]

    bench.write("a.yml", CONVERSATION)
    settings = Settings(openai_base_url=f"{provider.url}/v1", openai_api_key=KEY)
    first = bench.run_one(Asker, settings=settings)
    assert list_replies(first) == ["200", "500", "500", "200"]
    assert list_replies(fork(bench, Asker, settings, run=first.run, turn=3)) == list_replies(first)
