"""A run on the terminal: the table of verdicts, and each failure with its reason and evidence."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from clerkship.cli.words import ending, styled, verdict
from clerkship.model.matcher import describe
from clerkship.model.run import BenchmarkRun, Counts, CriterionRun, FieldCheck, TaskRun
from clerkship.report.outcome import outcome, tally
from clerkship.report.statistics import wilson

MOST_ROWS = 40
MOST_FAILURES = 20
LONGEST_VALUE = 160


def print_run(console: Console, run: BenchmarkRun, counts: Counts, task_runs: Sequence[TaskRun]) -> None:
    """Table, failures, sum."""
    console.print()
    _print_table(console, task_runs)
    unhappy = [
        task_run for task_run in task_runs if outcome(task_run) not in ("pass", "ungraded") or task_run.agent_error
    ]
    for task_run in unhappy[:MOST_FAILURES]:
        print_failure(console, task_run)
    if len(unhappy) > MOST_FAILURES:
        console.print(f"[quiet]… and {len(unhappy) - MOST_FAILURES} more; `clerkship show {run.id} --failed`[/]")
    console.print()
    console.print(summary(run, counts))


def _print_table(console: Console, task_runs: Sequence[TaskRun]) -> None:
    table = Table(box=None, pad_edge=False, show_header=True, header_style="quiet")
    table.add_column("verdict", no_wrap=True)
    table.add_column("score", justify="right")
    table.add_column("task", overflow="fold")
    table.add_column("criteria", justify="right", no_wrap=True)
    table.add_column("log head", style="quiet", no_wrap=True)
    # With many trials the unhappy ones are what anybody wants to see.
    shown = (
        sorted(task_runs, key=lambda t: outcome(t) == "pass")[:MOST_ROWS] if len(task_runs) > MOST_ROWS else task_runs
    )
    trials = max((task_run.trial for task_run in task_runs), default=1)
    for task_run in shown:
        score = "" if task_run.score is None else f"{task_run.score:.2f}"
        good = sum(criterion.passed for criterion in task_run.criteria)
        trial = f" [quiet]trial {task_run.trial}[/]" if trials > 1 else ""
        table.add_row(
            verdict(task_run),
            score,
            escape(task_run.task) + trial,
            f"{good}/{len(task_run.criteria)}" if task_run.criteria else "",
            task_run.head[:12],
        )
    console.print(table)
    if len(shown) < len(task_runs):
        console.print(f"[quiet]… and {len(task_runs) - len(shown)} more[/]")


def print_failure(console: Console, task_run: TaskRun) -> None:
    """Why one trial did not pass: each criterion that did not hold, expected beside actual."""
    console.print()
    trial = f" [quiet]trial {task_run.trial}[/]" if task_run.trial > 1 else ""
    console.print(f"{verdict(task_run)}  [bold]{escape(task_run.task)}[/]{trial}  [quiet]{ending(task_run)}[/]")
    if task_run.error:
        _print(console, 4, f"[errored]not the agent's fault:[/] {escape(task_run.error)}")
    if task_run.agent_error:
        _print(console, 4, f"[fail]the agent failed:[/] {escape(task_run.agent_error)}")
    for criterion in task_run.criteria if task_run.status != "errored" else ():
        if criterion.status != "judged" or not criterion.passed:
            print_criterion(console, criterion)


def _print(console: Console, indent: int, markup: str) -> None:
    """A line that keeps its indent where it wraps."""
    if console.is_terminal:
        console.print(Padding(markup, (0, 0, 0, indent)))
    else:
        console.print(" " * indent + markup)


def print_criterion(console: Console, criterion: CriterionRun) -> None:
    """One criterion with its evidence."""
    mark = {"error": "[errored]! error[/]", "skipped": "[quiet]– skipped[/]"}.get(
        criterion.status, "[pass]✓[/]" if criterion.passed else "[fail]✗[/]"
    )
    gate = " [quiet](gate)[/]" if criterion.gate else ""
    _print(console, 2, f"{mark} {escape(criterion.label)}{gate}")
    _print(console, 6, escape(criterion.detail))
    for field in criterion.evidence:
        if criterion.passed or not field.passed:
            _print_field(console, field)


def _print_field(console: Console, field: FieldCheck) -> None:
    place = f" [quiet]#{field.seq}[/]" if field.seq is not None else ""
    expected, actual = (v if isinstance(v, str) else describe(v) for v in (field.expected, field.actual))
    _print(console, 6, f"[place]{escape(field.path)}[/]{place}")
    _print(console, 8, f"[quiet]expected[/] {escape(_cut(expected))}")
    _print(console, 8, f"[quiet]actual  [/] {escape(_cut(actual))}")


def _cut(text: str) -> str:
    line = " ⏎ ".join(text.splitlines())
    return line if len(line) <= LONGEST_VALUE else f"{line[:LONGEST_VALUE]}…"


def summary(run: BenchmarkRun, counts: Counts) -> str:
    """One line: how many of what, and the rate with its interval; what was not graded is said, not hidden."""
    told = "  ".join(f"{styled(name)} {count}" for name, count in tally(counts).items() if count)
    interval = wilson(counts.passed, counts.graded)
    rate = ""
    if interval is not None:
        sure = f"[quiet](95 % interval {interval.low:.0%} to {interval.high:.0%}, {counts.graded} graded)[/]"
        rate = f"   pass rate {interval.rate:.0%} {sure}"
    missing = run.total - counts.done
    left = f"   [cancelled]{missing} not run[/]" if missing else ""
    crashed = f"   [fail]the agent crashed in {counts.agent_errors}[/]" if counts.agent_errors else ""
    return f"{told}{crashed}{rate}{left}"
