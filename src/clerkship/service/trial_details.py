"""Load a stored trial with what reports and the viewer show of it, without the values of variables."""

from collections.abc import Sequence
from dataclasses import replace

from clerkship.model.redaction import Redactor, redact_task_run
from clerkship.model.run import TaskRun
from clerkship.report.detail import TaskDetail, parse_detail
from clerkship.service.log_redaction import LogRedactor
from clerkship.store.contract import Store


def load_detail(store: Store, task_run: TaskRun, redactor: LogRedactor, lines: Sequence[bytes]) -> TaskDetail:
    """Load a trial. The lines of its log were redacted by the same redactor, which knows their bodies then."""
    bodies = redactor.body_reader(task_run.snapshot)
    detail = parse_detail(task_run, lines, redactor.by.json(store.sidecar(task_run)), bodies)
    return _redact(detail, redactor.by)


def _redact(detail: TaskDetail, by: Redactor) -> TaskDetail:
    if not by or detail.snapshot is None:
        return detail
    task = detail.snapshot.task.model_copy(update={"task_item": by.data(detail.snapshot.task.task_item)})
    environment = detail.snapshot.environment
    simulators = {
        name: simulator.model_copy(update={"config": by.data(simulator.config)})
        for name, simulator in environment.simulators.items()
    }
    redacted = environment.model_copy(update={"simulators": simulators})
    snapshot = detail.snapshot.model_copy(update={"task": task, "environment": redacted})
    return replace(detail, task_run=redact_task_run(detail.task_run, by), snapshot=snapshot)
