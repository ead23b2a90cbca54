"""Tasks that were made from one template, together: how often the template was done right, over all its records."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from clerkship.model.run import TaskRun
from clerkship.report.percent import percent
from clerkship.report.repeats import TaskRate


@dataclass
class TemplateRate(TaskRate):
    """All trials of all tasks of one template; `task` is its name."""

    tasks: set[str] = field(default_factory=set)

    def add(self, task_run: TaskRun) -> None:
        """One more trial."""
        super().add(task_run)
        self.tasks.add(task_run.task)

    @property
    def flaky(self) -> bool:
        """Never: its tasks are different ones."""
        return False

    def data(self) -> dict[str, Any]:
        """As plain data."""
        told = {name: value for name, value in super().data().items() if name != "flaky"}
        return told | {"interval": self.interval._asdict() if self.interval else None, "tasks": len(self.tasks)}

    def words(self) -> str:
        """7 of 10 passed: 70% (95 % interval 40% to 89%), 10 tasks."""
        found = self.interval
        tasks = f"{len(self.tasks):,} task{'s' * (len(self.tasks) != 1)}"
        if found is None:
            return f"no trial was graded, {tasks}"
        sure = f"95 % interval {percent(found.low)} to {percent(found.high)}"
        return f"{self.passed:,} of {self.graded:,} passed: {percent(found.rate)} ({sure}), {tasks}"


class TemplateRates:
    """The templates of a run, each with its trials."""

    def __init__(self, task_runs: Iterable[TaskRun] = ()) -> None:
        self._found: dict[str, TemplateRate] = {}
        for task_run in task_runs:
            self.add(task_run)

    def add(self, task_run: TaskRun) -> None:
        """One more trial; one of a task that was written for itself is in no template."""
        if task_run.template:
            self._found.setdefault(task_run.template, TemplateRate(task_run.template)).add(task_run)

    def rates(self) -> list[TemplateRate]:
        """In order of name."""
        return [self._found[name] for name in sorted(self._found)]

    def data(self) -> dict[str, Any] | None:
        """As plain data; nothing where there are none."""
        return {rate.task: rate.data() for rate in self.rates()} or None
