"""Outcomes on a terminal: one word each, with a mark for those who do not see colours."""

from clerkship.model.run import TaskRun
from clerkship.report.outcome import ENDINGS, OUTCOMES, ended, outcome

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


_BESIDE = {"turn_limit": "turn limit", "agent_silent": "no reply", "agent_failed": "crashed"}
_CHANGED_BY = {
    "turn_limit": "`max_turns` in the file, or --max-turns,",
    "turn_timed_out": "`turn_timeout` in the file, or --turn-timeout,",
}
"""Limits that a run may have hit, and what raises them."""


def styled(name: str) -> str:
    """An outcome with its mark and colour."""
    return f"[{name}]{MARKS[name]} {OUTCOMES[name][0].lower()}[/]"


def verdict(task_run: TaskRun) -> str:
    """Return a trial's outcome; beside it how it ended, where that is not how it should."""
    idle = any(criterion.is_implied and not criterion.passed for criterion in task_run.criteria)
    how = "timed out" if task_run.status == "timed_out" else _BESIDE.get(task_run.ending, "did nothing" if idle else "")
    return styled(outcome(task_run)) + (f" [quiet]({how})[/]" if how else "")


def ending(task_run: TaskRun) -> str:
    """How it ended, in words."""
    if task_run.ending == "timed_out" and task_run.timeout is not None:
        return f"the time limit of {task_run.timeout:g} s passed; `timeout` in the task, or --timeout, changes it"
    if task_run.ending in _CHANGED_BY:
        return f"{ENDINGS[task_run.ending].lower()}; {_CHANGED_BY[task_run.ending]} changes it"
    text = ended(task_run)
    return text[0].lower() + text[1:]
