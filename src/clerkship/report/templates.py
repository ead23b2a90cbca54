"""Pass rates of task templates, over all tasks made from each."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from clerkship.model.run import TaskRun
from clerkship.report.labels import percent
from clerkship.report.repeats import TaskRate


@dataclass
class TemplateRate(TaskRate):
    """All trials of all tasks of one template; `task` is the template's name."""

    tasks: set[str] = field(default_factory=set)

    def add(self, task_run: TaskRun) -> None:
        """Add a trial."""
        super().add(task_run)
        self.tasks.add(task_run.task)

    @property
    def flaky(self) -> bool:
        """Always false, because its tasks differ."""
        return False

    def data(self) -> dict[str, Any]:
        """Return plain data."""
        fields = {name: value for name, value in super().data().items() if name != "flaky"}
        return fields | {"interval": self.interval._asdict() if self.interval else None, "tasks": len(self.tasks)}

    def words(self) -> str:
        """Return `7 of 10 passed: 70% (95 % interval 40% to 89%), 10 tasks`."""
        interval = self.interval
        tasks = f"{len(self.tasks):,} task{'s' * (len(self.tasks) != 1)}"
        if interval is None:
            return f"no trial was graded, {tasks}"
        sure = f"95 % interval {percent(interval.low)} to {percent(interval.high)}"
        return f"{self.passed:,} of {self.graded:,} passed: {percent(interval.rate)} ({sure}), {tasks}"


class TemplateRates:
    """The templates of a run, each with its trials."""

    def __init__(self, task_runs: Iterable[TaskRun] = ()) -> None:
        self._found: dict[str, TemplateRate] = {}
        for task_run in task_runs:
            self.add(task_run)

    def add(self, task_run: TaskRun) -> None:
        """Add a trial; ignore one whose task has no template."""
        if task_run.template:
            self._found.setdefault(task_run.template, TemplateRate(task_run.template)).add(task_run)

    def rates(self) -> list[TemplateRate]:
        """Return the rates in order of name."""
        return [self._found[name] for name in sorted(self._found)]

    def data(self) -> dict[str, Any] | None:
        """Return plain data; None if there are no templates."""
        return {rate.task: rate.data() for rate in self.rates()} or None
