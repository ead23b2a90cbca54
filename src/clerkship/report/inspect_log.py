"""A run as a log of Inspect, an `.eval` file of version 2: a zip with a header, samples and their summaries.

A task is a sample, and a trial one of its epochs. A verdict is a score of Inspect: `C`, `P` or `I`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from clerkship.model.frozen import encode_model
from clerkship.model.run import BenchmarkRun, CriterionRun, TaskRun, Verdict
from clerkship.model.seals import SealCheck
from clerkship.model.usage import Usage
from clerkship.report.outcome import describe_reason
from clerkship.report.trajectory import ToolUse, Trajectory, TrajectoryStep

VERSION = 2
VALUES: Mapping[Verdict | None, str] = {"pass": "C", "partial": "P", "fail": "I"}
"""The verdicts that count in the pass rate, as scores; a trial with another verdict has no score."""
STATUSES = {"completed": "success", "cancelled": "cancelled", "active": "started"}
NO_MODEL = "none/none"
"""The model of an agent that called none: the format requires one."""
_NOT_IN_FILE_NAMES = re.compile(r"[/\\:\x00-\x1f\x7f]")


class LogMember(NamedTuple):
    """A file in the zip."""

    name: str
    data: bytes


class InspectLog:
    """Renders one run: first its samples, one in memory at a time, then what stands at the head of the log."""

    def __init__(self, run: BenchmarkRun, seals: SealCheck) -> None:
        self._run, self._seals = run, seals
        self._ids: dict[str, str] = {}
        self._summaries: list[dict[str, Any]] = []
        self._trials: list[TaskRun] = []
        self._usage: dict[str, dict[str, Any]] = {}
        self._model = ""

    @property
    def file_name(self) -> str:
        """The name that Inspect gives its logs: time, task, id."""
        time = _NOT_IN_FILE_NAMES.sub("-", self._run.started_at)
        return f"{time}_{re.sub(r'[^A-Za-z0-9]+', '-', self._run.name)[:80].strip('-') or 'run'}_{self._run.id}.eval"

    def render(self, trajectories: Iterable[Trajectory]) -> Iterator[LogMember]:
        """Yield all members of the zip."""
        for trajectory in trajectories:
            sample = self._render_sample(trajectory)
            self._trials.append(trajectory.task_run)
            self._summaries.append(_summarize(sample))
            self._model = self._model or trajectory.model
            yield LogMember(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", _dump(sample))
        yield LogMember("summaries.json", _dump(self._summaries))
        yield LogMember("header.json", _dump(self._render_header()))

    def _find_id(self, task: str) -> str:
        """Return the id of a sample, which is part of a file name in the zip."""
        if task not in self._ids:
            wanted = unique = _NOT_IN_FILE_NAMES.sub("_", task)
            while unique in self._ids.values():
                unique = f"{wanted} ({len(self._ids)})"
            self._ids[task] = unique
        return self._ids[task]

    def _render_sample(self, trajectory: Trajectory) -> dict[str, Any]:
        task_run, steps = trajectory.task_run, trajectory.steps
        messages = [message for number, step in enumerate(steps) for message in _render_messages(number, step)]
        usage = _render_usage(trajectory)
        for model, counts in usage.items():
            self._usage[model] = _add_usage(self._usage.get(model, {}), counts)
        sample = {
            "id": self._find_id(task_run.task),
            "epoch": task_run.trial,
            "input": next((step.text for step in steps if step.source == "user"), ""),
            "target": "",
            "messages": messages,
            "output": _render_output(trajectory),
            "scores": _render_scores(task_run),
            "metadata": _render_metadata(task_run),
            "model_usage": usage,
            "total_time": trajectory.seconds,
            "uuid": f"{self._run.id}-{len(self._summaries) + 1}",
        }
        if task_run.status == "timed_out" and task_run.timeout is not None:
            sample["limit"] = {"type": "time", "limit": task_run.timeout}
        if task_run.error:
            sample["error"] = _render_error(task_run.error)
        return {name: value for name, value in sample.items() if value is not None}

    def _render_header(self) -> dict[str, Any]:
        run = self._run
        created, completed = _to_utc(run.started_at), _to_utc(run.completed_at or run.started_at)
        spec = {
            "eval_id": run.id,
            "run_id": run.id,
            "created": created,
            "task": run.name,
            "task_id": run.plan[:32] or run.id,
            "task_display_name": run.name,
            "solver": run.solver,
            "dataset": {"name": run.name, "samples": len(self._ids), "sample_ids": list(self._ids.values())},
            "model": self._model or NO_MODEL,
            "config": {"epochs": run.trials},
            "packages": {"clerkship": run.clerkship},
            "metadata": {"seed": run.seed, "grading": run.grading, "path": run.path, "seals": self._seals.state()},
            "scorers": [{"name": "verdict"}, {"name": "score"}],
        }
        return {
            "version": VERSION,
            "status": STATUSES[run.status],
            "eval": spec,
            "plan": {"name": "plan", "steps": [{"solver": run.solver}]},
            "results": self._render_results(),
            "stats": {"started_at": created, "completed_at": completed, "model_usage": self._usage},
        }

    def _render_results(self) -> dict[str, Any]:
        graded = [trial for trial in self._trials if trial.verdict in VALUES]
        scores = [trial.score for trial in graded if trial.score is not None]
        passed = sum(trial.verdict == "pass" for trial in graded)
        counts = {"scored_samples": len(graded), "unscored_samples": len(self._trials) - len(graded)}
        metrics: dict[str, tuple[str, float | None]] = {
            "verdict": ("pass_rate", passed / len(graded) if graded else None),
            "score": ("mean", sum(scores) / len(scores) if scores else None),
        }
        return {
            "total_samples": self._run.total,
            "completed_samples": sum(not trial.error for trial in self._trials),
            "scores": [
                {
                    "name": name,
                    "scorer": name,
                    "metrics": {} if value is None else {metric: {"name": metric, "value": value}},
                    **counts,
                }
                for name, (metric, value) in metrics.items()
            ],
        }


def _render_messages(number: int, step: TrajectoryStep) -> Iterator[dict[str, Any]]:
    """Yield a message, and one for each result of the tools that it calls."""
    if step.source != "agent":
        yield {"id": f"m{number}", "role": step.source, "content": step.text, "source": "input"}
        return
    calls = [
        {"id": call.id, "function": call.name, "arguments": dict(call.arguments), "type": "function"}
        for call in step.calls
    ]
    about = {"at": step.at, "error": step.error, "sandbox_requests": step.requests}
    yield {
        "id": f"m{number}",
        "role": "assistant",
        "content": step.text,
        "source": "generate",
        **({"model": step.model} if step.model else {}),
        **({"tool_calls": calls} if calls else {}),
        "metadata": {name: value for name, value in about.items() if value},
    }
    for place, call in enumerate(step.calls):
        if call.result is not None or call.error:
            yield _render_tool_message(f"m{number}_{place}", call)


def _render_tool_message(id: str, call: ToolUse) -> dict[str, Any]:
    message = {"id": id, "role": "tool", "content": call.result or "", "tool_call_id": call.id, "function": call.name}
    return message | ({"error": {"type": "unknown", "message": call.error}} if call.error else {})


def _render_output(trajectory: Trajectory) -> dict[str, Any]:
    """Return the last message of the agent."""
    last = next((step for step in reversed(trajectory.steps) if step.source == "agent"), None)
    if last is None:
        return {"model": trajectory.model, "choices": []}
    message = {"role": "assistant", "content": last.text, "source": "generate"}
    return {
        "model": trajectory.model,
        "choices": [{"message": message, "stop_reason": "stop"}],
        "completion": last.text,
    }


def _render_scores(task_run: TaskRun) -> dict[str, Any] | None:
    if task_run.verdict not in VALUES:
        return None
    criteria = [_render_criterion(criterion) for criterion in task_run.criteria]
    verdict = {
        "value": VALUES[task_run.verdict],
        "explanation": describe_reason(task_run),
        "metadata": {"verdict": task_run.verdict, "criteria": criteria},
    }
    axes = {axis: mean.score for axis, mean in task_run.axes.items()}
    return {"verdict": verdict, "score": {"value": task_run.score or 0.0, "metadata": {"axes": axes}}}


def _render_criterion(criterion: CriterionRun) -> dict[str, Any]:
    fields = ("label", "assertion", "status", "passed", "score", "weight", "axis", "gate", "detail")
    return {name: getattr(criterion, name) for name in fields}


def _render_metadata(task_run: TaskRun) -> dict[str, Any]:
    fields = ("task", "attempt", "tags", "status", "verdict", "ending", "agent_error", "head", "notes")
    return {name: value for name in fields if (value := getattr(task_run, name))}


def _render_error(error: str) -> dict[str, str]:
    return {"message": error, "traceback": error, "traceback_ansi": error}


def _render_usage(trajectory: Trajectory) -> dict[str, dict[str, Any]]:
    """Return the tokens of the agent's model. Inspect does not count cached tokens as input."""
    used: Usage | None = trajectory.task_run.models.get("agent")
    if used is None:
        return {}
    cached = trajectory.sum_tokens("cached_tokens")
    counts = {
        "input_tokens": max(used.prompt_tokens - cached, 0),
        "output_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
        "input_tokens_cache_read": cached,
    }
    return {trajectory.model or NO_MODEL: counts | ({"total_cost": used.cost} if used.cost is not None else {})}


def _add_usage(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _summarize(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a sample in the list of samples."""
    kept = ("id", "epoch", "input", "target", "scores", "model_usage", "total_time", "uuid")
    messages = sample["messages"]
    summary = {name: sample[name] for name in kept if name in sample}
    if "error" in sample:
        summary["error"] = sample["error"]["message"]
    if "limit" in sample:
        summary["limit"] = sample["limit"]["type"]
    return summary | {"completed": "error" not in sample, "message_count": len(messages)}


def _to_utc(time: str) -> str:
    return datetime.fromisoformat(time).astimezone(UTC).isoformat()


def _dump(data: Any) -> bytes:
    return orjson.dumps(data, default=encode_model)
