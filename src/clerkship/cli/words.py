"""Outcomes on a terminal: one word each, with a mark for those who do not see colours."""

from clerkship.model.run import TaskRun
from clerkship.report.outcome import ENDINGS, OUTCOMES, outcome

MARKS = {
    "pass": "✓",
    "partial": "◐",
    "fail": "✗",
    "ungraded": "○",
    "inconclusive": "?",
    "errored": "!",
    "invalid_person": "!",
    "cancelled": "–",
}


def styled(name: str) -> str:
    """An outcome with its mark and colour."""
    return f"[{name}]{MARKS[name]} {OUTCOMES[name][0].lower()}[/]"


def verdict(task_run: TaskRun) -> str:
    """A trial's outcome; running out of time is said beside the fail that it is."""
    late = " [quiet](timed out)[/]" if task_run.status == "timed_out" else ""
    return styled(outcome(task_run)) + late


def ending(task_run: TaskRun) -> str:
    """How it ended, in words."""
    if task_run.ending == "timed_out" and task_run.timeout is not None:
        return f"the time limit of {task_run.timeout:g} s passed; `timeout` in the task, or --timeout, changes it"
    text = ENDINGS[task_run.ending]
    return text[0].lower() + text[1:]
