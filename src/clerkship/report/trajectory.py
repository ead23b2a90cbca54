"""A trial as the steps of its agent: what it was told, what it said, the tools it called and what they returned."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import orjson

from clerkship.actors.messages import render_task_item
from clerkship.events.agent import ActionExecuted, ToolExecuted
from clerkship.events.event import Utterance, parse_line
from clerkship.events.lifecycle import ModelCalled
from clerkship.events.request_line import render_logged_request
from clerkship.model.run import TaskRun
from clerkship.providers.stored_call import read_answer_text, read_system_prompt, read_tool_results
from clerkship.report.detail import StoredTrial
from clerkship.report.trial_card import find_payload, is_by_agent_itself
from clerkship.sandbox.faults.contract import EMBEDDINGS, FREE_OPERATIONS

ReadBody = Callable[[str], bytes]
_MAPPED = (ModelCalled.kind, ToolExecuted.kind, ActionExecuted.kind)


@dataclass
class ToolUse:
    """A tool that the agent called."""

    id: str
    """Unique in the trial."""
    name: str
    arguments: Mapping[str, Any]
    result: str | None = None
    """None if no result is known."""
    error: str = ""
    """The message, if the tool failed."""


@dataclass
class TrajectoryStep:
    """Something that was said, or done by the agent."""

    source: Literal["system", "user", "agent"]
    text: str = ""
    at: str | None = None
    """The simulated time; None for what the agent was told before."""
    model: str = ""
    """The model that was called in this step; empty if none was."""
    calls: list[ToolUse] = field(default_factory=list)
    usage: Mapping[str, Any] = field(default_factory=dict)
    """Tokens, cost and milliseconds of the model call, from the sidecar."""
    error: str = ""
    """Why the model call has no complete answer."""
    requests: list[str] = field(default_factory=list)
    """Requests to sandboxes, made while the tools that the model called were executed."""


@dataclass(frozen=True)
class Trajectory:
    """A trial and its steps."""

    task_run: TaskRun
    task_item: Mapping[str, Any] | None
    sidecar: Mapping[str, Any]
    steps: list[TrajectoryStep]

    @property
    def model(self) -> str:
        """The model that the agent called first; empty if it called none."""
        return next((step.model for step in self.steps if step.model), "")

    @property
    def seconds(self) -> float | None:
        """How long the trial took in wall time; None for a replay."""
        wall = self.sidecar.get("wall_ms")
        return round(wall / 1000, 3) if isinstance(wall, int | float) else None

    def sum_tokens(self, name: str) -> int:
        """Return the sum of a count, such as `cached_tokens`, over all model calls of the agent."""
        return sum(call.get(name) or 0 for call in self.sidecar.get("model_calls", ()))


def build_trajectory(trial: StoredTrial, task_item: Mapping[str, Any] | None, read_body: ReadBody) -> Trajectory:
    """Return the steps of a stored trial. `read_body` returns the bodies that its log names."""
    sidecar: dict[str, Any] = orjson.loads(trial.sidecar) if trial.sidecar else {}
    builder = _TrajectoryBuilder({call["seq"]: call for call in sidecar.get("model_calls", ())}, read_body)
    if task_item is not None:
        builder.steps.append(TrajectoryStep("user", render_task_item(task_item)))
    events = [parse_line(line) for line in trial.lines]
    for event in sorted(events, key=lambda event: (datetime.fromisoformat(event["at"]), event["seq"])):
        builder.add(event)
    if trial.task_run.answer is not None:
        builder.add_answer(trial.task_run.answer)
    return Trajectory(trial.task_run, task_item, sidecar, builder.steps)


def render_content(value: Any) -> str:
    """Return a text as it is, and other data as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


class _TrajectoryBuilder:
    """Adds one event of a log after another."""

    def __init__(self, usage: Mapping[int, Mapping[str, Any]], read_body: ReadBody) -> None:
        self.steps: list[TrajectoryStep] = []
        self._usage, self._read_body = usage, read_body
        self._by_event: dict[int, TrajectoryStep] = {}
        """The steps of model calls, by the number of their event."""
        self._ids: set[str] = set()
        self._proposed: dict[str, list[ToolUse]] = {}
        """The calls that models proposed, by their ids, and by their names where they have none."""

    def add(self, event: dict[str, Any]) -> None:
        """Add a step for an event, or complete the step that it belongs to."""
        kind = event["kind"]
        is_said = issubclass(find_payload(kind), Utterance)
        payload = self._read_payload(event) if is_said or kind in _MAPPED else event["payload"]
        if kind == ModelCalled.kind:
            self._add_model_call(event, payload)
        elif kind == ToolExecuted.kind:
            self._add_result(event, payload)
        elif kind == ActionExecuted.kind and not self._is_executing():
            self._add_agent_step(event, calls=[self._build_call(event, payload["name"], payload.get("arguments"))])
        elif is_said:
            self._add_utterance(event, payload)
        elif event.get("request") is not None and is_by_agent_itself(event):
            self._add_request(event)

    def _read_payload(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Return the payload, with the bodies that are stored apart from the log."""
        payload: dict[str, Any] = dict(event["payload"])
        for name, stored in event.get("blobs", {}).items():
            if stored["form"] != "bytes":
                data = self._read_body(stored["sha256"])
                payload[name] = orjson.loads(data) if stored["form"] == "json" else data.decode(errors="replace")
        return payload

    def _add_agent_step(self, event: Mapping[str, Any], **fields: Any) -> TrajectoryStep:
        step = TrajectoryStep("agent", at=event["at"], **fields)
        self.steps.append(step)
        return step

    def _build_call(self, event: Mapping[str, Any], name: str, arguments: Any, id: str = "") -> ToolUse:
        """Return a call with an id that no other call of the trial has."""
        wanted = id or f"event_{event['seq']}"
        unique = wanted if wanted not in self._ids else f"{wanted}_{event['seq']}_{len(self._ids)}"
        self._ids.add(unique)
        return ToolUse(unique, name, arguments if isinstance(arguments, Mapping) else {"input": arguments})

    def _add_model_call(self, event: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        if payload["operation"] in FREE_OPERATIONS or payload["operation"] == EMBEDDINGS:
            return
        provider, seq = payload["provider"], event["seq"]
        self._add_sent_results(provider, payload.get("request", ""))
        if not self._by_event and (prompt := read_system_prompt(provider, payload.get("request", ""))):
            self.steps.insert(0, TrajectoryStep("system", prompt))
        proposed = [(call, call.get("id", "")) for call in payload.get("tool_calls", ())]
        calls = [self._build_call(event, call["name"], call.get("arguments"), id) for call, id in proposed]
        for (_, id), call in zip(proposed, calls, strict=True):
            self._proposed.setdefault(id or call.name, []).append(call)
        failed = "" if 0 < payload["status"] < 400 else f"status {payload['status'] or 'unknown: no answer'}"
        self._by_event[seq] = self._add_agent_step(
            event,
            text=read_answer_text(provider, payload.get("response", "")),
            model=payload["model"],
            calls=calls,
            usage=self._usage.get(seq, {}),
            error=payload.get("error") or failed,
        )

    def _add_sent_results(self, provider: str, request: str) -> None:
        """Add the results that a request carries, where no event has them: a tool over MCP is logged as an action."""
        for result in read_tool_results(provider, request):
            waiting = (call for call in self._proposed.get(result.id or result.name, ()) if not _has_result(call))
            if (call := next(waiting, None)) is not None:
                call.result = render_content(result.content)
                call.error = (call.result or "the tool failed") if result.is_error else ""

    def _add_result(self, event: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        """Add a result to the call that the model proposed; a tool that the agent reports by itself is a step."""
        proposed = self._by_event.get(event["cause"] or 0)
        name, arguments = payload["tool_name"], payload.get("arguments")
        waiting = [call for call in (proposed.calls if proposed else ()) if call.name == name and not _has_result(call)]
        call = next((call for call in waiting if call.arguments == arguments), next(iter(waiting), None))
        if call is None:
            call = self._build_call(event, name, arguments)
            self._add_agent_step(event, calls=[call])
        result = payload.get("result")
        call.result = None if result is None else render_content(result)
        if payload.get("is_error"):
            call.error = payload.get("error_message") or call.result or "the tool failed"

    def _add_utterance(self, event: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        text = str(payload.get("text", ""))
        if not (find_payload(event["kind"]).is_outgoing or is_by_agent_itself(event)):  # type: ignore[attr-defined]
            self.steps.append(TrajectoryStep("user", text, event["at"]))
        elif not self._is_last_text(text):
            self._add_agent_step(event, text=text)

    def add_answer(self, answer: Any) -> None:
        """Add the answer to the task, unless the last step of the agent has it."""
        text = render_content(answer)
        if not self._is_last_text(text):
            self.steps.append(TrajectoryStep("agent", text))

    def _is_last_text(self, text: str) -> bool:
        """Return whether the last step has this text, which a model wrote before the agent sent it."""
        last = self.steps[-1] if self.steps else None
        return last is not None and last.source == "agent" and last.text.strip() == text.strip()

    def _is_executing(self) -> bool:
        """Return whether the agent executes the tools that its model called last."""
        return bool(self.steps and self.steps[-1].model and self.steps[-1].calls)

    def _add_request(self, event: Mapping[str, Any]) -> None:
        """Add a request to a sandbox: a call of its own, unless the agent executes a tool that its model called."""
        line = render_logged_request(event) or event["kind"]
        if self._is_executing():
            self.steps[-1].requests.append(f"{event['source']}: {line}")
            return
        request = event["request"]
        shown = {key: request[key] for key in ("method", "path", "query", "body") if key in request}
        call = self._build_call(event, event["source"], shown)
        call.result = line.partition(" → ")[2]
        self._add_agent_step(event, calls=[call])


def _has_result(call: ToolUse) -> bool:
    return call.result is not None or bool(call.error)
