"""The trace of one trial: what the run did, as spans that go to a collector."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from clerkship.events.event import Event, Utterance, is_by_agent
from clerkship.events.lifecycle import AgentAnswered, AgentFailed, AgentStarted, ModelCalled, SpanRecorded
from clerkship.events.sidecar import Sidecar
from clerkship.model.run import TaskRun
from clerkship.traces.times import EventTimes
from clerkship.traces.trace_ids import TraceIds

INTERNAL: Literal[1] = 1
SERVER: Literal[2] = 2
CLIENT: Literal[3] = 3
"""Kinds of spans, as OTLP numbers them."""
_MILLISECOND = 1_000_000
_OPERATIONS = {"embeddings": "embeddings", "generate": "generate_content"}
"""The operations of the conventions for generative AI, by that of a model call; `chat` for others."""
AttributeValue = str | bool | int | float


class OwnSpan(NamedTuple):
    """A span to send. Times are nanoseconds since 1970."""

    span_id: str
    parent_id: str
    name: str
    kind: int
    started: int
    ended: int
    attributes: Mapping[str, AttributeValue]
    error: str | None = None
    """Why it is an error; None if it is none."""
    trace_id: str = ""
    """Set when the trace is complete."""


class TracedTrial(NamedTuple):
    """A finished trial, with what its trace consists of."""

    ids: TraceIds
    run: str
    solver: str
    task_run: TaskRun
    events: list[Event]
    sidecar: Sidecar
    times: EventTimes
    agent_ended: int
    """When the agent had ended and grading began."""
    ended: int
    redact: Callable[[str], str]


def build_trace(trial: TracedTrial) -> list[OwnSpan]:
    """Return the spans of a trial: its root, the agent with what it did, and the grading."""
    agent = _build_agent_span(trial)
    turns = list(_build_turns(trial, agent))
    inner = [*_build_requests(trial), *_build_model_calls(trial)]
    placed = [span._replace(parent_id=_find_parent(span, turns, agent)) for span in inner]
    spans = [_build_root(trial), agent, *turns, *placed, *_build_agents_own(trial), _build_grading(trial)]
    return [_redact(span, trial.redact)._replace(trace_id=trial.ids.trace_id) for span in spans]


def _build_root(trial: TracedTrial) -> OwnSpan:
    task_run = trial.task_run
    facts: dict[str, AttributeValue | None] = {
        "clerkship.run": trial.run,
        "clerkship.task": task_run.task,
        "clerkship.trial": task_run.trial,
        "clerkship.attempt": task_run.attempt,
        "clerkship.agent": trial.solver,
        "clerkship.status": task_run.status,
        "clerkship.ending": task_run.ending,
        "clerkship.verdict": task_run.verdict,
        "clerkship.score": task_run.score,
    }
    attributes = {name: value for name, value in facts.items() if value is not None}
    error = task_run.error or None if task_run.status == "errored" else None
    name = f"trial {task_run.task}"
    return OwnSpan(trial.ids.span_id("trial"), "", name, INTERNAL, trial.times.started, trial.ended, attributes, error)


def _build_agent_span(trial: TracedTrial) -> OwnSpan:
    """Return the span of all that the agent did, which is the parent of the agent's own spans."""
    started = next((event for event in trial.events if isinstance(event.payload, AgentStarted)), None)
    ended = next((event for event in trial.events if isinstance(event.payload, AgentAnswered | AgentFailed)), None)
    begin = None if started is None else trial.times.find_wall(started.seq)
    end = None if ended is None else trial.times.find_wall(ended.seq)
    error = ended.payload.error if ended is not None and isinstance(ended.payload, AgentFailed) else None
    attributes: dict[str, AttributeValue] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": trial.solver}
    return OwnSpan(
        trial.ids.agent_span_id,
        trial.ids.span_id("trial"),
        f"invoke_agent {trial.solver}",
        INTERNAL,
        begin or trial.times.started,
        end or trial.agent_ended,
        attributes,
        error,
    )


def _build_turns(trial: TracedTrial, agent: OwnSpan) -> Iterator[OwnSpan]:
    """Yield a span for each message of a person that the agent got, until its reply or the end."""
    handed = trial.sidecar.handed
    for number, (count, until) in enumerate(zip(handed, [*handed[1:], None], strict=False), 1):
        said = [event for event in trial.events[count:until] if isinstance(event.payload, Utterance)]
        replies = [event.seq for event in said if is_by_agent(event)]
        begin = trial.times.find_wall(count) or agent.started
        end = (trial.times.find_wall(replies[-1]) if replies else None) or agent.ended
        attributes: dict[str, AttributeValue] = {"clerkship.turn": number}
        span_id = trial.ids.span_id("turn", number)
        yield OwnSpan(span_id, agent.span_id, f"turn {number}", INTERNAL, begin, max(begin, end), attributes)


def _build_requests(trial: TracedTrial) -> Iterator[OwnSpan]:
    """Yield a span for each request to a sandbox."""
    for number, (seq, sandbox, operation, status, wall_ms) in enumerate(trial.sidecar.requests):
        ended = trial.times.find_wall(seq)
        if ended is None:
            continue
        attributes: dict[str, AttributeValue] = {"clerkship.sandbox": sandbox, "http.response.status_code": status}
        started = ended - int(wall_ms * _MILLISECOND)
        name = f"{sandbox} {operation}".rstrip()
        error = f"status {status}" if status >= 500 or status == 0 else None
        yield OwnSpan(trial.ids.span_id("request", number), "", name, SERVER, started, ended, attributes, error)


def _build_model_calls(trial: TracedTrial) -> Iterator[OwnSpan]:
    for seq, call in trial.sidecar.model_calls.items():
        called, ended = trial.events[seq - 1].payload, trial.times.find_wall(seq)
        if ended is None or not isinstance(called, ModelCalled):
            continue
        operation = _OPERATIONS.get(called.operation, "chat")
        attributes: dict[str, AttributeValue] = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": called.provider,
            "gen_ai.request.model": called.model,
            "gen_ai.usage.input_tokens": call["prompt_tokens"],
            "gen_ai.usage.output_tokens": call["completion_tokens"],
            "http.response.status_code": called.status,
        }
        started = ended - int(call.get("wall_ms", 0.0) * _MILLISECOND)
        name = f"{operation} {called.model}".rstrip()
        error = called.error or None
        yield OwnSpan(trial.ids.span_id("model call", seq), "", name, CLIENT, started, ended, attributes, error)


def _build_agents_own(trial: TracedTrial) -> Iterator[OwnSpan]:
    """Yield the spans that the agent sent: its exporter sends them to the run, and nowhere else.

    A model call that the proxy saw is there already.
    """
    for seq, fields in trial.sidecar.spans.items():
        recorded = trial.events[seq - 1].payload
        if not isinstance(recorded, SpanRecorded) or recorded.model_call is not None:
            continue
        parent = trial.sidecar.spans.get(recorded.parent or 0)
        facts = {
            "gen_ai.operation.name": recorded.operation if recorded.operation != "other" else "",
            "gen_ai.provider.name": recorded.provider,
            "gen_ai.request.model": recorded.model,
            "gen_ai.tool.name": recorded.tool_name,
            "gen_ai.usage.input_tokens": fields.get("input_tokens"),
            "gen_ai.usage.output_tokens": fields.get("output_tokens"),
        }
        started = fields["start_ns"] + int(fields.get("offset_ms", 0.0) * _MILLISECOND)
        yield OwnSpan(
            fields["span_id"],
            trial.ids.agent_span_id if parent is None else parent["span_id"],
            recorded.name,
            INTERNAL,
            started,
            started + int(fields.get("wall_ms", 0.0) * _MILLISECOND),
            {name: value for name, value in facts.items() if value not in (None, "")},
            recorded.error_message if recorded.is_error else None,
        )


def _build_grading(trial: TracedTrial) -> OwnSpan:
    criteria = [criterion for criterion in trial.task_run.criteria if not criterion.is_implied]
    attributes: dict[str, AttributeValue] = {
        "clerkship.criteria": len(criteria),
        "clerkship.criteria.passed": sum(criterion.passed for criterion in criteria),
    }
    ids = trial.ids
    return OwnSpan(
        ids.span_id("grading"), ids.span_id("trial"), "grading", INTERNAL, trial.agent_ended, trial.ended, attributes
    )


def _find_parent(span: OwnSpan, turns: list[OwnSpan], agent: OwnSpan) -> str:
    """Return the id of the turn in which a span ended; else that of the agent."""
    return next((turn.span_id for turn in turns if turn.started <= span.ended <= turn.ended), agent.span_id)


def _redact(span: OwnSpan, redact: Callable[[str], str]) -> OwnSpan:
    attributes: dict[str, Any] = {
        name: redact(value) if isinstance(value, str) else value for name, value in span.attributes.items()
    }
    error = None if span.error is None else redact(span.error)
    return span._replace(name=redact(span.name), attributes=attributes, error=error)
