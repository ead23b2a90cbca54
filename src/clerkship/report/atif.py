"""Trajectories in ATIF v1.7, the Agent Trajectory Interchange Format, one JSON document for each trial.

The format has no place for verdicts: they are under `extra`, with what identifies the trial.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from clerkship.model.frozen import encode_model
from clerkship.model.run import BenchmarkRun
from clerkship.report.trajectory import ToolUse, Trajectory, TrajectoryStep

SCHEMA_VERSION = "ATIF-v1.7"
NO_VERSION = "unknown"
"""The version of an agent that does not say one: the format requires a text."""

NO_STEPS = "The agent was told nothing, and did nothing."
"""The only step of such a trial: the format requires one."""


def render_atif(run: BenchmarkRun, trajectory: Trajectory) -> bytes:
    """Return the document of a trial."""
    task_run = trajectory.task_run
    agent = {"name": run.solver, "version": str(trajectory.sidecar.get("agent_version") or NO_VERSION)}
    steps = trajectory.steps or [TrajectoryStep("system", task_run.error or NO_STEPS)]
    document = {
        "schema_version": SCHEMA_VERSION,
        "session_id": run.id,
        "trajectory_id": f"{run.id}/{task_run.task}/{task_run.trial}/{task_run.attempt}",
        "agent": agent | _leave_out_empty({"model_name": trajectory.model}),
        "steps": [_render_step(number, step) for number, step in enumerate(steps, 1)],
        "final_metrics": _render_final_metrics(trajectory, len(steps)),
        "extra": _render_extra(run, trajectory),
    }
    return orjson.dumps(document, default=encode_model, option=orjson.OPT_INDENT_2) + b"\n"


def _render_step(number: int, step: TrajectoryStep) -> dict[str, Any]:
    """Return a step. Fields of models and tools are allowed for the agent only."""
    head = {"step_id": number, "source": step.source, "message": step.text}
    fields: dict[str, Any] = {"timestamp": step.at, "model_name": step.model}
    if step.source == "agent":
        fields["llm_call_count"] = 1 if step.model else 0
        fields["tool_calls"] = [_render_call(call) for call in step.calls]
        fields["metrics"] = _render_metrics(step.usage)
        results = [_render_result(call) for call in step.calls if call.result is not None or call.error]
        fields["observation"] = {"results": results} if results else None
        fields["extra"] = _leave_out_empty({"error": step.error, "sandbox_requests": step.requests})
    return head | _leave_out_empty(fields)


def _render_call(call: ToolUse) -> dict[str, Any]:
    return {"tool_call_id": call.id, "function_name": call.name, "arguments": dict(call.arguments)}


def _render_result(call: ToolUse) -> dict[str, Any]:
    failed = {"extra": {"error": call.error}} if call.error else {}
    return {"source_call_id": call.id, "content": call.result or call.error, **failed}


def _render_metrics(usage: Mapping[str, Any]) -> dict[str, Any]:
    names = {"prompt_tokens": "prompt_tokens", "completion_tokens": "completion_tokens"}
    names |= {"cached_tokens": "cached_tokens", "cost_usd": "cost"}
    known = {name: usage[given] for name, given in names.items() if usage.get(given) is not None}
    times = {name: usage[name] for name in ("wall_ms", "first_part_ms") if name in usage}
    return known | ({"extra": times} if times else {})


def _render_final_metrics(trajectory: Trajectory, steps: int) -> dict[str, Any]:
    used = trajectory.task_run.models.get("agent")
    metrics: dict[str, Any] = {"total_steps": steps}
    if used is not None:
        metrics |= {"total_prompt_tokens": used.prompt_tokens, "total_completion_tokens": used.completion_tokens}
        metrics |= {"total_cached_tokens": trajectory.sum_tokens("cached_tokens")}
        metrics |= {"total_cost_usd": used.cost} if used.cost is not None else {}
    return metrics | ({"extra": {"seconds": trajectory.seconds}} if trajectory.seconds is not None else {})


def _render_extra(run: BenchmarkRun, trajectory: Trajectory) -> dict[str, Any]:
    task_run = trajectory.task_run
    fields = ("task", "trial", "attempt", "tags", "template", "status", "verdict", "score", "axes", "ending")
    kept = {name: getattr(task_run, name) for name in (*fields, "error", "agent_error", "head", "notes")}
    criteria = [
        {name: getattr(criterion, name) for name in ("label", "status", "passed", "score", "weight", "gate", "detail")}
        for criterion in task_run.criteria
    ]
    about = {"run": run.id, "suite": run.name, "seed": run.seed, "clerkship": run.clerkship, "grading": run.grading}
    return about | _leave_out_empty({**kept, "criteria": criteria})


def _leave_out_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value; 0 is one."""
    return {name: value for name, value in fields.items() if value is not None and value not in ("", [], (), {})}
