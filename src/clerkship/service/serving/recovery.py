"""What becomes of a trial whose server ended: an attempt with the log so far; its task run can be started again."""

from dataclasses import replace

from clerkship.engine.spec import FinishedTrial, TrialSpec, build_unstarted
from clerkship.model.run import TaskRun
from clerkship.service.serving.database import get_timestamp
from clerkship.service.serving.run_table import ServedTask
from clerkship.service.serving.trial_journal import JournalContent

CUT_OFF = "the server stopped during this attempt; its log so far is kept, and the task run can be started again"


def build_cut_off(spec: TrialSpec, content: JournalContent) -> FinishedTrial:
    """Build the record of a trial from its journal."""
    finished = build_unstarted(spec._replace(attempt=content.attempt.attempt), CUT_OFF, "cancelled")
    record = finished.task_run.model_copy(update={"head": content.head, "events": len(content.lines)})
    return finished._replace(task_run=record, log=content.log, blobs=content.blobs)


def recover_task(task: ServedTask, stored: TaskRun | None) -> ServedTask:
    """Return a task run as it is after the end of the process, given the last attempt that the store has."""
    if stored is None or stored.attempt < task.attempt:
        if task.phase == "created":
            return task
        again = task.attempt + 1
    elif stored.error == CUT_OFF:
        again = stored.attempt + 1
    else:
        return replace(task, phase="completed", attempt=stored.attempt, completed_at=get_timestamp())
    return replace(task, phase="created", attempt=again, started_at=None)
