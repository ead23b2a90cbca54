"""Short texts that every report uses: percentages, axes, isolation, attachments, and commands for the next step."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from clerkship.model.run import DEFAULT_AXIS, HUMAN, BenchmarkRun, IsolationLevel, TaskRun
from clerkship.settings import get_command_prefix

ISOLATION: Mapping[IsolationLevel, str] = {
    "bubblewrap": "bubblewrap: store, tasks and other processes hidden",
    "landlock": "Landlock: store and tasks hidden",
    "none": "none: the agent could read the store and the tasks",
    "trusted": "trusted: the agent runs in the process that grades it",
    "remote": "remote: the agent runs elsewhere, not isolated here",
    "built-in": "built-in: part of the platform",
}
NO_AXIS = "other criteria"
"""The name of the axis of criteria that name none, beside others."""


def rerun_command(run: BenchmarkRun) -> str:
    """Return the command that repeats a run, in the folder in which it was started."""
    program = get_command_prefix()
    trials = f" --trials {run.trials}" if run.trials > 1 else ""
    trials += f" --shard {run.shard}" if run.shard is not None else ""
    if run.fork is not None:
        which = f"{run.fork.run} {shlex.quote(run.fork.task)} --at-turn {run.fork.turn} --trial {run.fork.trial}"
        return f"{program} fork {which} --agent {shlex.quote(run.solver)}{trials}{_options(run)}"
    path = shlex.quote(run.path) if run.path else "PATH"
    if run.solver == HUMAN:
        options = "".join(f" {shlex.quote(word)}" for word in run.options if word != "--task")
        return f"{program} play --from {path} --seed {run.seed}{options}"
    return f"{program} run {path} --agent {shlex.quote(run.solver)} --seed {run.seed}{trials}{_options(run)}"


def _options(run: BenchmarkRun) -> str:
    request = run.bot_format.options() if run.bot_format is not None else ()
    return "".join(f" {shlex.quote(option)}" for option in (*request, *run.options))


def show_command(task_run: TaskRun) -> str:
    """Return the command that shows a trial with its whole log."""
    trial = f" --trial {task_run.trial}" if task_run.trial > 1 else ""
    return f"{get_command_prefix()} show {task_run.run} {shlex.quote(task_run.task)}{trial} --events"


class Attachment(NamedTuple):
    """A text that explains a failure, with a title."""

    title: str
    text: str


_PLATFORM_FACTS = {"platform_traceback": "traceback of the platform error"}
_AGENT_FACTS = {
    "agent_traceback": "traceback of the agent",
    "agent_stack": "stack of the agent when it was stopped",
    "agent_job": "job of the agent",
    "agent_output": "output of the agent",
    "agent_stderr": "standard error of the agent",
}
ATTACHED_FACTS = frozenset(_PLATFORM_FACTS | _AGENT_FACTS)
"""Facts of the sidecar that are shown as attachments."""


def list_attachments(sidecar: Mapping[str, Any]) -> list[Attachment]:
    """Return the attachments in a trial's sidecar, the cause of a failure first."""
    titles = _PLATFORM_FACTS | _AGENT_FACTS
    return [Attachment(title, str(sidecar[name])) for name, title in titles.items() if sidecar.get(name)]


def describe_isolation(run: BenchmarkRun) -> str:
    """Return how the agent was isolated; empty for a run of a version that did not store it."""
    return ISOLATION[run.isolation] if run.isolation is not None else ""


def axis_name(axis: str | None) -> str:
    """Return the name of an axis in reports."""
    return NO_AXIS if axis in (None, DEFAULT_AXIS) else str(axis)


def list_axes(scores: Iterable[Iterable[str]]) -> list[str]:
    """Return all axes in order of name, the default one last; empty if there is only the default one."""
    axes_of_all = {axis for axes in scores for axis in axes}
    return [] if axes_of_all <= {DEFAULT_AXIS} else sorted(axes_of_all, key=lambda axis: (axis == DEFAULT_AXIS, axis))


def describe_axes(axes: Mapping[str, float]) -> list[str]:
    """Return `safety 0.50` for each axis; empty if there is only the default one."""
    return [f"{axis_name(axis)} {axes[axis]:.2f}" for axis in list_axes([axes])]


def average_axes(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each axis over the rows that have it."""
    scores_by_axis: dict[str, list[float]] = {}
    for axes in rows:
        for axis, score in axes.items():
            scores_by_axis.setdefault(axis, []).append(score)
    return {axis: sum(scores) / len(scores) for axis, scores in sorted(scores_by_axis.items())}


def percent(share: float) -> str:
    """Return a whole percentage; near 0% and 100% with one decimal, so that 9,999 of 10,000 is 99.9% and not 100%."""
    tenths = share * 1000
    if tenths < 1e-6 or tenths > 1000 - 1e-6 or 10 <= tenths <= 990:
        return f"{share:.0%}"
    return f"{min(max(round(tenths), 1), 999) / 10:g}%"
