"""Traces of trials at a collector, decoded by the official classes."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from clerkship.model.errors import InputError
from clerkship.sandbox.handle import Sandboxes
from clerkship.settings import Settings
from clerkship.traces import exporter
from clerkship.traces.exporter import parse_otlp_headers
from tests.actors.programs import TALK, WORK, program, suite
from tests.actors.servers import Answered, Asked, Served
from tests.model_proxy.provider import KEY, ModelProvider
from tests.model_proxy.test_runs import ASK
from tests.traces.test_sdk import PROGRAM
from tests.workbench import Workbench

REJECTION = ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(rejected_spans=2, error_message="no"))
NO_HEADER = Settings(otlp="http://127.0.0.1:1", otlp_headers="x")
OK: Answered = (200, {"Content-Type": "application/x-protobuf"}, b"")


def accept(asked: Asked) -> Answered:
    return OK


def read_spans(served: Served) -> list[Span]:
    """Return the spans that a collector got."""
    requests = [ExportTraceServiceRequest.FromString(asked.body) for asked in served.asked]
    return [
        span
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def read_attributes(span: Span) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in span.attributes}


def read_tree(spans: list[Span]) -> dict[str, str]:
    """Return the name of the parent of each span; check that a child is within the time of a run."""
    names = {span.span_id: span.name for span in spans}
    assert len({span.trace_id for span in spans}) == 1
    assert len(names) == len(spans)
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    return {span.name: names.get(span.parent_span_id, "") for span in spans}


def look(task_item: Any, sandboxes: Sandboxes) -> int:
    sandboxes["drop"].request("GET", "/files")
    return 42


def test_trace_of_a_task(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(accept) as served:
        task_run = bench.run_one(look, otlp=served.url, settings=Settings(otlp_headers="x-key=a%20b"))
    assert (task_run.verdict, bench.result and bench.result.untraced) == ("pass", "")
    assert {(asked.path, asked.headers["x-key"]) for asked in served.asked} == {("/v1/traces", "a b")}
    spans = read_spans(served)
    assert read_tree(spans) == {
        "trial Work": "",
        "invoke_agent agent": "trial Work",
        "drop list_files": "invoke_agent agent",
        "grading": "trial Work",
    }
    root, *_ = spans
    about = read_attributes(root)
    assert (about["clerkship.task"], about["clerkship.verdict"], about["clerkship.score"]) == ("Work", "pass", 1.0)
    resource = ExportTraceServiceRequest.FromString(served.asked[0].body).resource_spans[0].resource
    assert resource.attributes[0].value.string_value == "clerkship"


def test_trace_of_a_conversation_has_turns(bench: Workbench) -> None:
    suite(bench, TALK)
    with Served(accept) as served:
        bench.run_one(lambda message: "bye" if message.turn == 2 else "hello", otlp=f"{served.url}/v1/traces")
    tree = read_tree(read_spans(served))
    assert tree["turn 1"] == tree["turn 2"] == "invoke_agent agent"


def test_trace_has_model_calls_and_the_spans_of_the_agent(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    suite(bench, WORK)
    call = f'{ASK}\nask(os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"])\n'
    source = PROGRAM.replace('say({"answer": 42})', f'{call}say({{"answer": 42}})')
    with ModelProvider("42") as provider, Served(accept) as served:
        settings = Settings(openai_base_url=f"{provider.url}/v1", openai_api_key=KEY, otlp=served.url)
        assert bench.run_one(program(tmp_path, source), settings=settings).agent_error == ""
    spans = read_spans(served)
    tree = read_tree(spans)
    agent = next(name for name in tree if name.startswith("invoke_agent"))
    assert tree["chat gpt-4o-2024-08-06"] == tree["execute_tool look"] == agent
    chat = read_attributes(next(span for span in spans if span.name.startswith("chat")))
    assert (chat["gen_ai.usage.input_tokens"], chat["gen_ai.provider.name"]) == (100, "openai")
    sent = b"".join(asked.body for asked in served.asked)
    assert KEY.encode() not in sent
    assert b"clk_" not in sent


def test_error_of_the_agent_is_redacted(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSPHRASE", "open-sesame-now")
    suite(bench, WORK.replace("What is six times seven?", "'${PASSPHRASE}'"))

    def fail(task_item: Any, sandboxes: Sandboxes) -> None:
        raise ValueError(task_item["instruction"])

    with Served(accept) as served:
        bench.run_one(fail, otlp=served.url)
    [agent] = [span for span in read_spans(served) if span.name == "invoke_agent agent"]
    assert agent.status.code == 2
    assert "${PASSPHRASE}" in agent.status.message
    assert b"open-sesame" not in b"".join(asked.body for asked in served.asked)


def test_trials_have_traces_of_their_own(bench: Workbench) -> None:
    suite(bench, WORK)
    with Served(accept) as served:
        bench.run(look, otlp=served.url, trials=20)
    assert len({span.trace_id for span in read_spans(served)}) == 20


# Collectors that fail.


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (403, b"", "it answered with status 403"),
        (503, b"", "it answered with status 503"),
        (200, b"\x0a\xff", "its answer is not that of a collector"),
        (200, REJECTION.SerializeToString(), "it rejected 2 spans: no"),
    ],
)
def test_failing_collector_is_one_warning(bench: Workbench, status: int, body: bytes, expected: str) -> None:
    suite(bench, WORK)
    with Served(lambda asked: (status, {"Content-Type": "application/x-protobuf"}, body)) as served:
        task_runs = bench.run(look, otlp=served.url, trials=3)
    assert {task_run.verdict for task_run in task_runs} == {"pass"}
    assert bench.result is not None
    assert bench.result.untraced.endswith(f"were not sent completely to {served.url}/v1/traces: {expected}")
    assert bench.exit_code() == 0


def test_no_collector_at_the_address(bench: Workbench) -> None:
    suite(bench, WORK)
    bench.run(look, otlp="http://127.0.0.1:1", trials=2)
    assert bench.result is not None
    assert "the traces of 2 trials were not sent completely" in bench.result.untraced


def test_collector_that_does_not_answer_is_not_waited_for(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "CLOSE_SECONDS", 0.1)
    suite(bench, WORK)
    done = Event()
    with Served(lambda asked: OK if done.wait(20) else None) as served:
        bench.run_one(look, otlp=served.url)
        done.set()
    assert bench.result is not None
    assert bench.result.untraced.endswith("it did not answer within 0.1 s")


def test_request_is_repeated_where_otlp_asks_for_it(bench: Workbench) -> None:
    suite(bench, WORK)
    answers: Iterator[Answered] = iter([(503, {}, b"")])
    with Served(lambda asked: next(answers, OK)) as served:
        bench.run_one(look, otlp=served.url)
    assert len(served.asked) == 2
    assert bench.result is not None
    assert bench.result.untraced == ""


@pytest.mark.parametrize("options", [{"otlp": "nowhere"}, {"settings": NO_HEADER}])
def test_mistakes_are_found_before_the_run(bench: Workbench, options: dict[str, Any]) -> None:
    suite(bench, WORK)
    with pytest.raises(InputError, match=r"not an address|header 1 has no name"):
        bench.run_one(look, **options)


def test_headers_are_read_as_opentelemetry_has_them() -> None:
    assert parse_otlp_headers(" Authorization=Bearer%20x , a-b=c=d,") == {"authorization": "Bearer x", "a-b": "c=d"}
