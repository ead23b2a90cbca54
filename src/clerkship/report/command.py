"""Commands for the next step: repeat a run, or show a trial."""

import shlex

from clerkship.model.run import BenchmarkRun, TaskRun


def rerun_command(run: BenchmarkRun) -> str:
    """Return the command that repeats a run."""
    trials = f" --trials {run.trials}" if run.trials > 1 else ""
    if run.fork is not None:
        which = f"{run.fork.run} {shlex.quote(run.fork.task)} --at-turn {run.fork.turn} --trial {run.fork.trial}"
        return f"clerkship fork {which} --agent {shlex.quote(run.solver)}{trials}{_options(run)}"
    path = shlex.quote(run.path) if run.path else "PATH"
    return f"clerkship run {path} --agent {shlex.quote(run.solver)} --seed {run.seed}{trials}{_options(run)}"


def _options(run: BenchmarkRun) -> str:
    request = run.bot_format.options() if run.bot_format is not None else ()
    return "".join(f" {shlex.quote(option)}" for option in (*request, *run.options))


def show_command(task_run: TaskRun) -> str:
    """Return the command that shows a trial with its whole log."""
    trial = f" --trial {task_run.trial}" if task_run.trial > 1 else ""
    return f"clerkship show {task_run.run} {shlex.quote(task_run.task)}{trial} --events"
