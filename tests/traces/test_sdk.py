"""The official SDK and its exporter send to the receiver, with the variables that a program gets."""

import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from clerkship.model.run import TaskRun
from clerkship.report.detail import parse_detail
from clerkship.report.trial_card import build_body
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.trace_access import TraceAddress, list_trace_variables
from clerkship.service.up import PlaygroundRequest, open_playground
from clerkship.settings import Settings
from tests.actors.programs import WORK, program, suite
from tests.actors.servers import Answered, Asked, Served
from tests.traces.desk import TraceDesk
from tests.workbench import CATALOG, Workbench

SENDER = """
from urllib.request import Request, urlopen
def send(endpoint, headers, traceparent, **attributes):
    _, trace, parent, _ = traceparent.split("-")
    now = str(time.time_ns())
    values = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    span = {"traceId": trace, "spanId": "00f067aa0ba902b7", "parentSpanId": parent, "name": "execute_tool look",
            "startTimeUnixNano": now, "endTimeUnixNano": now, "attributes": values}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    headers = {**headers, "Content-Type": "application/json"}
    urlopen(Request(endpoint + "/v1/traces", body, headers)).read()
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
"""
FROM_VARIABLES = """
headers = dict(pair.split("=", 1) for pair in os.environ["OTEL_EXPORTER_OTLP_HEADERS"].split(","))
assert os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "http/protobuf"
assert os.environ["OTEL_BSP_SCHEDULE_DELAY"] == "200"
"""
PROGRAM = (
    SENDER
    + FROM_VARIABLES
    + """
say({"answer": 42})
sys.stdin.read()  # it flushes when its input is closed, after its answer
send(os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"], headers, os.environ["TRACEPARENT"], **TOOL)
"""
)
TASK = f"""{WORK.rstrip()}
        - {{label: looked, assertion: {{tool_called: {{tool_name: look}}}}}}
        - label: a span of that tool, and then what it did
          assertion:
            sequencing:
              - {{event: agent.span, where: {{operation: execute_tool, tool_name: look}}}}
              - {{event: agent.tool.executed}}
"""


def check(bench: Workbench, task_run: TaskRun) -> None:
    """Check that the span of the agent is in the log, once, and its token is not."""
    assert (task_run.verdict, task_run.agent_error) == ("pass", "")
    kinds = bench.kinds(task_run)
    assert (kinds.count("agent.span"), kinds.count("agent.tool.executed")) == (1, 1)
    assert b"clk_otl" not in b"".join(bench.store.log(task_run)) + bench.store.sidecar(task_run)


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_official_exporter(compression: Compression, monkeypatch: pytest.MonkeyPatch) -> None:
    with TraceDesk() as desk:
        for name, value in list_trace_variables(desk.address).items():
            monkeypatch.setenv(name, value)
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(compression=compression)))
        tracer = provider.get_tracer("test")
        context = TraceContextTextMapPropagator().extract({"traceparent": desk.address.traceparent})
        agent = tracer.start_span("invoke_agent a", context, attributes={"gen_ai.operation.name": "invoke_agent"})
        attributes: dict[str, Any] = {"gen_ai.tool.name": "look", "gen_ai.tool.call.arguments": '{"id": "ü"}'}
        tool = tracer.start_span("execute_tool look", set_span_in_context(agent), attributes=attributes)
        tool.set_status(StatusCode.ERROR, "not there")
        tool.end()
        agent.end()
        provider.shutdown()
        desk.end()
        first, second = desk.spans
        assert (first.operation, second.operation, second.parent) == ("invoke_agent", "execute_tool", 1)
        assert (second.arguments, second.is_error, second.error_message) == ({"id": "ü"}, True, "not there")


def test_program_that_sends_spans_while_it_exits(bench: Workbench, tmp_path: Path) -> None:
    suite(bench, TASK)
    check(bench, bench.run_one(program(tmp_path, PROGRAM)))


def test_python_agent_in_a_process(bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        f"import json, os, time\n{SENDER}\n"
        "def on_task(task_item, sandboxes):\n"
        '    headers = dict([os.environ["OTEL_EXPORTER_OTLP_HEADERS"].split("=")])\n'
        "    assert sandboxes.traces.headers == headers\n"
        '    send(sandboxes.traces.endpoint, headers, os.environ["TRACEPARENT"], **TOOL)\n'
        "    return 42\n"
    )
    (tmp_path / "own_traces.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    suite(bench, TASK)
    check(bench, bench.run_one("python:own_traces:on_task", agent_process=True))


def post_span(address: TraceAddress) -> None:
    scope: dict[str, Any] = {}
    exec(f"import json, time\n{SENDER}", scope)
    scope["send"](address.endpoint, address.headers, address.traceparent, **scope["TOOL"])


def test_function(bench: Workbench) -> None:
    def on_task(task_item: Any, sandboxes: Sandboxes) -> int:
        assert sandboxes.traces is not None
        post_span(sandboxes.traces)
        return 42

    suite(bench, TASK)
    check(bench, bench.run_one(on_task))


def test_agent_behind_an_address(bench: Workbench) -> None:
    def answer(asked: Asked) -> Answered:
        given = json.loads(asked.body)["traces"]
        post_span(TraceAddress(given["endpoint"], given["headers"]["x-clerkship-token"], given["traceparent"]))
        return 200, {"Content-Type": "application/json"}, b'{"answer": 42}'

    suite(bench, TASK)
    with Served(answer) as served:
        check(bench, bench.run_one(f"http:{served.url}"))


def test_setting_off_leaves_the_variables_alone(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://own.invalid")
    suite(bench, WORK)
    source = """
    own = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://own.invalid" and "TRACEPARENT" not in os.environ
    say({"answer": 42 if own and "traces" not in json.loads(sys.stdin.readline()) else 0})
    """
    assert bench.run_one(program(tmp_path, source), settings=Settings(traces="off")).verdict == "pass"


def test_report_shows_span_with_its_duration(bench: Workbench, tmp_path: Path) -> None:
    suite(bench, TASK)
    task_run = bench.run_one(program(tmp_path, PROGRAM))
    detail = parse_detail(task_run, bench.store.log(task_run), bench.store.sidecar(task_run), bench.store.blob)
    [line] = [event["line"] for event in detail.events if event["kind"] == "agent.span"]
    assert line == "execute_tool look, 0 s"
    assert "spans" not in json.dumps(build_body(detail)["facts"])


def test_running_playground_logs_spans_as_they_arrive(bench: Workbench) -> None:
    suite(bench, TASK)
    request = PlaygroundRequest(path=bench.folder, task="Work")
    with open_playground(request, Settings(store=bench.folder / "store.db"), CATALOG) as running:
        assert running.traces is not None
        assert running.variables["OTEL_EXPORTER_OTLP_ENDPOINT"] == running.traces.endpoint
        post_span(running.traces)
        assert [event.kind for event in running.playground.log.events][-2:] == ["agent.span", "agent.tool.executed"]
    off = Settings(store=bench.folder / "store.db", traces="off")
    with open_playground(request, off, CATALOG) as running:
        assert running.variables == {}


def test_equal_runs_have_equal_logs(bench: Workbench, tmp_path: Path) -> None:
    suite(bench, TASK)
    agent = program(tmp_path, PROGRAM)
    heads = {bench.run_one(agent).head for _ in range(2)}
    assert len(heads) == 1
