"""What to type next: to do a run again, to look closer at a trial of it."""

import shlex

from clerkship.model.run import BenchmarkRun, TaskRun


def run_again(run: BenchmarkRun) -> str:
    """The command that does the same again."""
    trials = f" --trials {run.trials}" if run.trials > 1 else ""
    path = shlex.quote(run.path) if run.path else "PATH"
    options = "".join(f" {shlex.quote(option)}" for option in run.options)
    return f"clerkship run {path} --agent {shlex.quote(run.solver)} --seed {run.seed}{trials}{options}"


def look_closer(task_run: TaskRun) -> str:
    """The command that shows a trial with its whole log."""
    trial = f" --trial {task_run.trial}" if task_run.trial > 1 else ""
    return f"clerkship show {task_run.run} {shlex.quote(task_run.task)}{trial} --events"
