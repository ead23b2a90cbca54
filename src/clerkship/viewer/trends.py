"""The tasks of a benchmark over its last runs: the pass rate of each, and which are flaky."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from clerkship.kit.statistics import wilson_interval
from clerkship.model.run import BenchmarkRun, TrialOutcome
from clerkship.report.outcome import GRADED
from clerkship.report.repeats import PassRate
from clerkship.sandbox.request import Reply, Request
from clerkship.service.run_list import ListedRun, RunFilter, name_benchmark
from clerkship.settings import get_command_prefix
from clerkship.viewer.answering import reply_with_page
from clerkship.viewer.context import ViewerContext
from clerkship.viewer.runs import list_visible, parse_filter
from clerkship.viewer.templates import render

MAX_RUNS = 20
"""Runs of a trend."""
MAX_TASKS = 500
WIDTH, HEIGHT, MARGIN = 200, 34, 5
"""The size of a trend in the page, and the space around its points."""


class TrendPoint(NamedTuple):
    """The trials of a task in one run, and where they are drawn."""

    run: BenchmarkRun
    passed: int
    graded: int
    x: float
    y: float


@dataclass
class TaskTrend:
    """One task over several runs, oldest first."""

    task: str
    points: list[TrendPoint] = field(default_factory=list)

    @property
    def passed(self) -> int:
        """Trials that passed, in all runs."""
        return sum(point.passed for point in self.points)

    @property
    def graded(self) -> int:
        """Graded trials in all runs."""
        return sum(point.graded for point in self.points)

    @property
    def interval(self) -> tuple[float, float, float] | None:
        """The rate over all runs with its interval."""
        return wilson_interval(self.passed, self.graded)

    @property
    def is_flaky(self) -> bool:
        """Whether trials of one run differ, or the rate of one agent goes up and down from run to run."""
        if any(PassRate(passed=point.passed, graded=point.graded).flaky for point in self.points):
            return True
        rates: dict[str, list[float]] = {}
        for point in self.points:
            rates.setdefault(point.run.solver, []).append(point.passed / point.graded)
        return any(map(_turns_back, rates.values()))

    @property
    def line(self) -> str:
        """The points of the line."""
        return " ".join(f"{point.x:g},{point.y:g}" for point in self.points)


def _turns_back(rates: list[float]) -> bool:
    """Return whether a rate rises after it has fallen, or falls after it has risen."""
    changes = [later - earlier for earlier, later in pairwise(rates) if later != earlier]
    return any(later * earlier < 0 for earlier, later in pairwise(changes))


def show_tasks(context: ViewerContext, request: Request) -> Reply:
    """Show each task of a benchmark over its last runs."""
    choice = parse_filter(request)
    with context.open_store() as store:
        visible = [each for each in list_visible(context, store) if each.run.made_by != "rescore"]
        if not choice.benchmark and visible:
            choice = replace(choice, benchmark=name_benchmark(visible[0].run))
        chosen = [each for each in visible if choice.matches(store, each)][:MAX_RUNS]
        rates = {each.run.id: _count(store.outcomes(each.run.id)) for each in chosen}
    runs = [each.run for each in reversed(chosen)]
    trends = sorted(_build_trends(runs, rates), key=lambda each: (not each.is_flaky, each.passed / each.graded))
    page = render(
        "tasks.html",
        context,
        title="Tasks over runs",
        choice=choice,
        benchmarks=sorted({name_benchmark(each.run) for each in visible}),
        agents=_list_agents(visible, choice),
        runs=runs,
        trends=trends[:MAX_TASKS],
        left_out=max(len(trends) - MAX_TASKS, 0),
        size=(WIDTH, HEIGHT),
        commands=_list_commands(context, choice, runs),
    )
    return reply_with_page(page)


def _count(outcomes: Iterable[TrialOutcome]) -> dict[str, PassRate]:
    rates: dict[str, PassRate] = {}
    for outcome in outcomes:
        if outcome.verdict in GRADED:
            rates.setdefault(outcome.task, PassRate()).count(outcome.verdict == "pass", 0.0)
    return rates


def _build_trends(runs: list[BenchmarkRun], rates: dict[str, dict[str, PassRate]]) -> list[TaskTrend]:
    """Build the trends; the runs stand at equal distances, a rate of 100 % at the top."""
    trends: dict[str, TaskTrend] = {}
    step = (WIDTH - 2 * MARGIN) / max(len(runs) - 1, 1)
    for number, run in enumerate(runs):
        for task, rate in rates[run.id].items():
            y = MARGIN + (HEIGHT - 2 * MARGIN) * (1 - float(rate.rate))
            point = TrendPoint(run, rate.passed, rate.graded, round(MARGIN + step * number, 1), round(y, 1))
            trends.setdefault(task, TaskTrend(task)).points.append(point)
    return list(trends.values())


def _list_agents(visible: list[ListedRun], choice: RunFilter) -> list[str]:
    return sorted({each.run.solver for each in visible if name_benchmark(each.run) == choice.benchmark})


def _list_commands(context: ViewerContext, choice: RunFilter, runs: list[BenchmarkRun]) -> list[str]:
    """Return the command that lists the runs, and the one that compares the last two."""
    if context.store_option is None or not runs:
        return []
    commands = [f"list -n {len(runs)}{choice.options()}", f"compare {runs[-2].id} {runs[-1].id}" if runs[1:] else ""]
    return [f"{get_command_prefix()} {command}{context.store_option}" for command in commands if command]
