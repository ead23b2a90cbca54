"""Spans on the time axis of a trial, and beside what the run saw itself."""

from collections.abc import Iterator
from typing import Any

import pytest

from clerkship.assertions.model_calls import ModelUsage, UsageUnknown
from clerkship.events.agent import ActionExecuted, ToolExecuted
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import ModelCalled, ProposedToolCall, SpanRecorded
from clerkship.events.sidecar import read_measurements
from clerkship.kit.wall import time_ns
from clerkship.model.task import Task
from clerkship.model.usage import MODEL_USAGE
from clerkship.traces.times import ClockBounds
from tests.traces.desk import SECOND, TraceDesk, build_span

TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 5}


@pytest.fixture
def desk() -> Iterator[TraceDesk]:
    with TraceDesk() as opened:
        yield opened


def tool(name: str = "look", id: str = "", **more: Any) -> dict[str, Any]:
    """Return the attributes of the span of a tool."""
    called = {"gen_ai.tool.call.id": id} if id else {}
    return {**TOOL, "gen_ai.tool.name": name, **called, **more}


def log_note(desk: TraceDesk, seconds: float) -> int:
    """Let simulated time pass, log an event, and return the wall time after it."""
    desk.pass_time(seconds)
    with desk.playground.lock:
        desk.playground.emit("run", ModelCalled(provider="p", operation="models", model="", status=200), "run")
    return time_ns()


# Times.


def test_span_stands_after_the_event_that_preceded_it(desk: TraceDesk) -> None:
    first = log_note(desk, 10)
    second = log_note(desk, 10)
    desk.send(
        build_span("late", 1, start=second, end=second),
        build_span("early", 2, start=first, end=second),
    )
    desk.end()
    at = {event.payload.name: event.at for event in desk.events if isinstance(event.payload, SpanRecorded)}
    assert [event.kind for event in desk.events] == [
        *("agent.model.called", "agent.span", "agent.model.called", "agent.span")
    ]
    assert (at["late"] - at["early"]).total_seconds() == 10


def test_spans_are_logged_in_the_order_in_which_they_started(desk: TraceDesk) -> None:
    start = time_ns()
    spans = [build_span(f"s{number}", number, start=start - number, end=start) for number in range(1, 20)]
    for span in spans[::-1] + spans:
        desk.send(span)
    desk.end()
    assert [span.name for span in desk.spans] == [f"s{number}" for number in range(19, 0, -1)]


def test_parent_precedes_its_child_and_is_named_by_its_event(desk: TraceDesk) -> None:
    start = time_ns()
    desk.send(build_span("child", 1, start=start, end=start, parent=2))
    desk.send(build_span("parent", 2, start=start, end=start))
    desk.end()
    parent, child = desk.spans
    assert (parent.name, child.name) == ("parent", "child")
    assert child.parent == desk.events[0].seq


def test_spans_that_are_each_others_parents_are_logged(desk: TraceDesk) -> None:
    desk.send(build_span("a", 1, parent=2, attributes=TOOL), build_span("b", 2, parent=1, attributes=TOOL))
    desk.end()
    assert {span.name for span in desk.spans} == {"a", "b"}


@pytest.mark.parametrize("hours", [-5, 5])
def test_clock_of_another_machine_is_corrected(desk: TraceDesk, hours: int) -> None:
    off = hours * 3600 * SECOND
    first = log_note(desk, 60)
    second = log_note(desk, 60)
    desk.send(build_span("a", 1, start=first + off, end=second + off), build_span("b", 2, start=second + off, end=0))
    desk.end()
    assert all(abs(measured["offset_ms"] + hours * 3_600_000) < 60_000 for measured in desk.measured)
    times = [event.at for event in desk.events if event.kind == "agent.span"]
    assert times == sorted(times)
    assert times[-1] <= desk.playground.now


def test_offset_is_the_smallest_that_fits() -> None:
    assert ClockBounds(first=100, lead=50).find_offset(opened=90) == 0
    assert ClockBounds(first=100, lead=5000).find_offset(opened=1100) == 1000
    assert ClockBounds(first=5000, lead=-3000).find_offset(opened=1000) == -3000
    assert ClockBounds(first=1, lead=2).find_offset(opened=10**18) == 0  # a single wrong time


def test_span_of_1970_is_moved_into_the_trial(desk: TraceDesk) -> None:
    desk.send(build_span("wrong", 1, start=1, end=2), build_span("right", 2))
    desk.end()
    assert len(desk.spans) == 2
    assert min(event.at for event in desk.events) == desk.playground.started_at


def test_nothing_of_wall_time_is_in_the_log() -> None:
    logs = []
    for _ in range(2):
        with TraceDesk() as desk:
            span = build_span("t", 1, attributes=tool(id="c1"))
            desk.send(span, build_span("c", 2, attributes=CHAT | {"gen_ai.response.id": "r"}))
            desk.end()
            logs.append(desk.playground.log.data())
            assert desk.measured[0]["wall_ms"] == 1000
    assert logs[0] == logs[1]


def test_live_trial_logs_spans_when_they_arrive() -> None:
    with TraceDesk(is_live=True) as desk:
        desk.send(build_span("first", attributes=TOOL))
        assert [span.name for span in desk.spans] == ["first"]
        assert len(desk.tools) == 1


# Tools.


def test_tool_span_becomes_a_tool_that_follows_from_it(desk: TraceDesk) -> None:
    desk.send(build_span(attributes=tool("look", "c1", **{"gen_ai.tool.call.arguments": '{"a": 1}'}), error="failed"))
    desk.end()
    span, executed = desk.events
    assert (executed.source, executed.cause) == ("agent", span.seq)
    assert desk.tools[0].model_dump() == {
        **ToolExecuted(tool_name="look").model_dump(),
        "arguments": {"a": 1},
        "is_error": True,
        "error_message": "failed",
    }


def test_tool_that_two_libraries_report_is_logged_once(desk: TraceDesk) -> None:
    desk.send(
        build_span("outer", 1, attributes=tool()),
        build_span("client", 2, parent=1),
        build_span("inner", 3, parent=2, attributes=tool()),
        build_span("another", 4, parent=2, attributes=tool("other")),
    )
    desk.end()
    assert [one.tool_name for one in desk.tools] == ["look", "other"]


def test_agent_that_reports_its_tools_is_not_asked_twice(desk: TraceDesk) -> None:
    with desk.playground.lock:
        desk.playground.emit("agent", ToolExecuted(tool_name="look"), "agent")
    desk.send(build_span(attributes=tool("another")))
    desk.end()
    assert [one.tool_name for one in desk.tools] == ["look"]


def call_model(desk: TraceDesk, id: str, *proposed: str, executed: tuple[str, ...] = ()) -> int:
    """Log a model call as the proxy does, and the tools whose results came back; return its number."""
    calls = tuple(ProposedToolCall(id=f"{id}-{name}", name=name) for name in proposed)
    response = f'{{"object": "x", "id": "{id}"}}'
    called = ModelCalled(
        provider="openai", operation="chat", model="m", status=200, tool_calls=calls, response=response
    )
    with desk.playground.lock:
        seq = desk.playground.emit("models", called, "agent").seq
        for name in executed:
            desk.playground.emit("agent", ToolExecuted(tool_name=name), "agent", seq)
    return seq


def test_tools_that_the_proxy_saw_are_not_logged_again(desk: TraceDesk) -> None:
    call_model(desk, "r1", "look", "last", executed=("look",))
    call_model(desk, "r2", "by_name", executed=("by_name",))
    desk.send(
        build_span("seen by its id", 1, attributes=tool("mcp_look", "r1-look")),
        build_span("proposed, and its result not sent to a model", 2, attributes=tool("last", "r1-last")),
        build_span("seen by its name", 3, attributes=tool("by_name")),
        build_span("the same tool, once more", 4, attributes=tool("by_name")),
    )
    desk.end()
    assert [one.tool_name for one in desk.tools] == ["look", "by_name", "last", "by_name"]


def test_tool_over_mcp_is_the_action_that_was_logged(desk: TraceDesk) -> None:
    with desk.playground.lock:
        desk.playground.emit("agent", ActionExecuted(name="read_file"), "agent")
    desk.send(
        build_span("over MCP", 1, attributes=tool("mcp__clerkship__read_file")),
        build_span("a tool of its own", 2, attributes=tool("my_read_file")),
        build_span("once more, and not over MCP", 3, attributes=tool("read_file")),
    )
    desk.end()
    assert [one.tool_name for one in desk.tools] == ["my_read_file", "read_file"]


def test_live_trial_waits_for_the_tools_of_the_proxy() -> None:
    with TraceDesk(is_live=True) as desk:
        call_model(desk, "r1", "look")
        desk.send(build_span(attributes=tool("look", "r1-look")))
        assert desk.tools == []


# Model calls.


def test_model_call_is_joined_by_its_response_id(desk: TraceDesk) -> None:
    seq = call_model(desk, "chatcmpl-1")
    desk.send(
        build_span("a", 1, attributes=CHAT | {"gen_ai.response.id": "chatcmpl-1"}),
        build_span("b", 2, attributes=CHAT | {"gen_ai.response.id": "elsewhere"}),
        build_span("c", 3, attributes=CHAT),
    )
    desk.end()
    assert [span.model_call for span in sorted(desk.spans, key=lambda span: span.name)] == [seq, None, None]
    assert MODEL_USAGE not in desk.playground.sidecar.facts


def test_model_calls_of_spans_alone_are_counted_once(desk: TraceDesk) -> None:
    desk.send(
        build_span("framework", 1, attributes=CHAT),
        build_span("client", 2, parent=1, attributes=CHAT),
        build_span("one", 3, attributes=CHAT | {"gen_ai.response.id": "r"}),
        build_span("the same", 4, attributes=CHAT | {"gen_ai.response.id": "r"}),
        build_span("agent", 5, attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 99}),
    )
    desk.end()
    used = desk.playground.sidecar.facts[MODEL_USAGE]
    assert used == {"calls": 2, "prompt_tokens": 10, "completion_tokens": 0}


def test_usage_that_the_agent_reports_stays(desk: TraceDesk) -> None:
    desk.playground.sidecar.facts[MODEL_USAGE] = {"calls": 7}
    desk.send(build_span(attributes=CHAT))
    desk.end()
    assert desk.playground.sidecar.facts[MODEL_USAGE] == {"calls": 7}


def check_usage(desk: TraceDesk, **expected: Any) -> bool:
    """Return whether the usage of the models is as expected, as it is graded later from what is stored."""
    measured = read_measurements(desk.playground.sidecar.data())
    evidence = Evidence(
        task=Task(name="t"),
        events=desk.events,
        states={},
        ending="agent_done",
        model_calls=measured.model_calls,
        spans=measured.spans,
    )
    return ModelUsage(**expected).check(evidence).passed


def test_model_usage_counts_spans_only_if_the_proxy_saw_no_call(desk: TraceDesk) -> None:
    answered = {**CHAT, "gen_ai.usage.output_tokens": 2, "gen_ai.response.id": "r1"}
    desk.send(
        build_span("outer", 1, attributes=answered),
        build_span("the same, of another library", 2, attributes=answered, parent=1),
        build_span("another", 3, attributes=CHAT),
    )
    desk.end()
    assert check_usage(desk, calls=2, prompt_tokens=10, completion_tokens=2, slowest_ms={"gt": 0})
    assert not check_usage(desk, calls=3)
    with pytest.raises(UsageUnknown, match="cost of 2 of 2 calls"):
        check_usage(desk, cost={"lte": 1})


def test_model_usage_of_the_proxy_wins_over_spans(desk: TraceDesk) -> None:
    call_model(desk, "r1")
    desk.send(build_span("the same call", 1, attributes=CHAT))
    desk.end()
    assert check_usage(desk, calls=1)
