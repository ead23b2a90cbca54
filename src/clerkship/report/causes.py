"""Why a trial did not pass, in a few words that are the same for all trials with the same cause."""

import re
from typing import NamedTuple

from clerkship.model.run import TaskRun
from clerkship.report.outcome import classify_result, describe_ending, is_not_recorded, outcome

MAX_KIND_LENGTH = 80
"""Characters of the kind of an error."""
_ERROR_NAME = re.compile(r"([A-Za-z_][\w.]*):(?:\s|$)")
_NUMBER = re.compile(r"\d[\d.,:-]*")


class Cause(NamedTuple):
    """The cause of a failure. `outcome` says who is at fault, `text` what happened."""

    outcome: str
    text: str


def describe_cause(task_run: TaskRun) -> Cause | None:
    """Return why a trial did not pass; None if it passed or was not graded."""
    if classify_result(task_run) not in ("failed", "errored"):
        return None
    return Cause(outcome(task_run), _describe(task_run))


def _describe(task_run: TaskRun) -> str:
    match outcome(task_run):
        case "fail" if task_run.ending == "agent_failed":
            return f"The agent crashed: {classify_error(task_run.agent_error)}"
        case "fail" if task_run.status == "timed_out" or task_run.ending == "turn_timed_out":
            return describe_ending(task_run)
        case "fail" | "partial":
            return f"{_describe_criteria(task_run)}{_describe_early_end(task_run)}"
        case "inconclusive":
            errors = (criterion.detail for criterion in task_run.criteria if criterion.status == "error")
            return f"A criterion could not be judged: {classify_error(next(errors, ''))}"
        case "invalid_person":
            return "The person did not keep to their role"
        case _ if is_not_recorded(task_run):
            return describe_ending(task_run)
        case _:
            return f"The platform or the task failed: {classify_error(task_run.error)}"


def _describe_criteria(task_run: TaskRun) -> str:
    failed = [c for c in task_run.criteria if c.status == "judged" and not c.passed]
    gates = [c for c in failed if c.gate]
    if any(c.is_implied for c in gates):
        return "The agent did nothing"
    if gates:
        return "A gate failed"
    return "No criterion passed" if outcome(task_run) == "fail" else "Some criteria failed, but no gate"


def _describe_early_end(task_run: TaskRun) -> str:
    """Return an ending that may explain why criteria failed; empty for an ordinary one."""
    if task_run.ending not in ("agent_silent", "turn_limit"):
        return ""
    text = describe_ending(task_run)
    return f"; {text[0].lower()}{text[1:]}"


def classify_error(error: str) -> str:
    """Return the kind of an error: the name of an exception, or its first line without numbers."""
    first = error.strip().partition("\n")[0]
    name = _ERROR_NAME.match(first)
    if name is not None:
        return name[1].rpartition(".")[2] or name[1]
    text = _NUMBER.sub("…", first)
    return (text if len(text) <= MAX_KIND_LENGTH else f"{text[:MAX_KIND_LENGTH]}…") or "no reason was given"
