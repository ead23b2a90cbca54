"""`clerkship suite`: run every strategy that deserves no pass over a suite, and print which task passes one."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from clerkship.attacks.contract import AttackStrategy
from clerkship.attacks.registry import STRATEGIES
from clerkship.cli.agent_console import agents_print_to_stderr
from clerkship.cli.catalog import registered
from clerkship.cli.console import number_column, out, plain_table, print_json
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json
from clerkship.cli.progress import Gauge
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.service.attacking import AttackOptions, AttackOutcome, AttackReport, AttackRequest, choose_strategies
from clerkship.service.attacking import attack as attack_suite
from clerkship.service.running import TrialObserver
from clerkship.settings import load_settings

_OUTCOME = ("run", "attacked", "passed", "failed", "ungraded", "broken", "not_attacked")
MAX_TASKS = 10
"""Names of tasks that are printed for one strategy; --json has all of them."""


@grouped
def attack(
    *,
    path: Annotated[
        Path | None, typer.Argument(help="Folder of YAML files, or one file of it; FILE::NAME for one task of it.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only this strategy; may be repeated."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the strategies, and do nothing else.")] = False,
    options: AttackOptions,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="FILE", help="Keep the runs in this file. [default: keep nothing]")
    ] = None,
    json: Json = False,
) -> None:
    """Run agents that deserve no pass over every task, and print which task passes one.

    Each strategy is a way to be graded well without doing the work, or while doing harm: doing nothing, reading and
    answering null, being polite, ordering everything, deleting everything, claiming everything, harm inside the right
    change, harm that is undone, a crash after the work. `--list` describes them. A task that passes one has a gap in
    its criteria; the output says how to close it.

    Strategies based on the reference solution leave out tasks without one. Criteria that need a model are left out
    unless a judge is configured or given.

    Exit code: 0 no strategy passes · 1 one does · 2 something broke (errored, inconclusive, bad input) · 130 stopped.

    Examples:

        clerkship suite attack practice

        clerkship suite attack practice --only do-nothing --only crash-after

        clerkship suite attack eval/scenarios/refund.yml --json
    """
    if list_:
        return _print_strategies(json=json)
    if path is None:
        raise InputError.of("PATH is missing", hint="give a folder or a file; --list lists the strategies")
    request = AttackRequest(path=path, only=tuple(only or ()), store=store, **vars(options))
    total = len(choose_strategies(request.only))
    with agents_print_to_stderr(), AttackProgress(out(), total, quiet=json) as progress:
        report = attack_suite(request, load_settings(), registered(), progress.follow)
    if json:
        print_json(report_data(report))
    else:
        print_report(out(), report)
    raise typer.Exit(report.exit_code())


def _print_strategies(*, json: bool) -> None:
    if json:
        print_json([{"name": one.name, "summary": one.summary, "advice": one.advice} for one in STRATEGIES])
        return
    width = max(len(one.name) for one in STRATEGIES)
    for one in STRATEGIES:
        out().print(f"[bold]{one.name:<{width}}[/]  {one.summary}", soft_wrap=True)


class AttackProgress(Gauge):
    """Shows which strategy is under way: a bar on a terminal, a line for each elsewhere."""

    def __init__(self, console: Console, total: int, *, quiet: bool = False) -> None:
        self._name = ""
        self._done = self._tasks = 0
        super().__init__(console, total, quiet=quiet)

    def follow(self, strategy: AttackStrategy, total: int) -> TrialObserver:
        """A strategy begins."""
        self._name, self._done, self._tasks = strategy.name, 0, total
        if not self._live and not self._quiet:
            self._console.print(f"{strategy.name}: {total} task{'s' * (total != 1)}")
        return self._finished

    def going(self) -> str:
        """Which strategy is under way, and how far."""
        return f"{self._name} {self._done}/{self._tasks}" if self._name else "starting"

    def _finished(self, task_run: TaskRun) -> None:
        self._done += 1
        if self._live and self._done == self._tasks:
            self.advance()


def print_report(console: Console, report: AttackReport) -> None:
    """The table, what passed and what to do about it, what was left out."""
    console.print(_table(report.outcomes))
    for outcome in report.outcomes:
        _print_passed(console, outcome)
        _print_broken(console, outcome)
    _print_left_out(console, report)
    count = len(report.findings())
    attacked = sum(outcome.attacked for outcome in report.outcomes)
    told = (
        f"[fail]✗ {count} of {attacked} attacks passed[/]" if count else f"[pass]✓ none of {attacked} attacks passed[/]"
    )
    console.print(f"\n{told}" + ("  [cancelled]stopped[/]" if report.cancelled else ""))


def _table(outcomes: Iterable[AttackOutcome]) -> Table:
    titles = ("attacked", "passed", "not applicable")
    table = plain_table(Column("strategy", no_wrap=True), *map(number_column, titles))
    for outcome in outcomes:
        count = len(outcome.passed)
        passed = f"[fail]{count}[/]" if count else "0"
        table.add_row(outcome.strategy.name, str(outcome.attacked), passed, str(len(outcome.not_attacked)))
    return table


def _print_passed(console: Console, outcome: AttackOutcome) -> None:
    if not outcome.passed:
        return
    count = len(outcome.passed)
    console.print(f"\n[fail]✗ {outcome.strategy.name}[/] passes {count} task{'s' * (count != 1)}:")
    for task in outcome.passed[:MAX_TASKS]:
        console.print(f"    {escape(task)}", soft_wrap=True)
    if count > MAX_TASKS:
        console.print(f"    [quiet]and {count - MAX_TASKS} more (--json lists them)[/]")
    console.print(f"  it {escape(outcome.strategy.summary)}", soft_wrap=True)
    console.print(f"  [bold]to do:[/] {escape(outcome.strategy.advice)}", soft_wrap=True)


def _print_broken(console: Console, outcome: AttackOutcome) -> None:
    for task, reason in list(outcome.broken.items())[:MAX_TASKS]:
        name = outcome.strategy.name
        console.print(f"[errored]![/] {name} got no verdict on {escape(task)}: {escape(reason)}", soft_wrap=True)
    if len(outcome.broken) > MAX_TASKS:
        console.print(f"    [quiet]and {len(outcome.broken) - MAX_TASKS} more (--json lists them)[/]")


def _print_left_out(console: Console, report: AttackReport) -> None:
    """Why some tasks were not attacked, and what verdicts came without."""
    console.print()
    for outcome in report.outcomes:
        for reason, count in Counter(outcome.not_attacked.values()).items():
            console.print(f"[quiet]{outcome.strategy.name}: {count} not attacked: {escape(reason)}[/]", soft_wrap=True)
        if outcome.ungraded:
            count = len(outcome.ungraded)
            console.print(f"[ungraded]○[/] {outcome.strategy.name}: {count} ungraded: nothing could be checked")
    attacked = {outcome.strategy.name for outcome in report.outcomes if outcome.attacked}
    for name, kinds in report.untouched.items():
        if name not in attacked:
            continue  # its reasons are above
        console.print(f"[quiet]{name}: the simulator offers no such attack: {', '.join(kinds)}[/]", soft_wrap=True)
    if report.unjudged:
        count = len(report.unjudged)
        told = f"{count} task{'s have' if count != 1 else ' has'} criteria that only a model can judge"
        console.print(f"[partial]![/] {told}; verdicts come without them; [quiet]give --judge to include them[/]")


def report_data(report: AttackReport) -> dict[str, Any]:
    """The same for scripts, with every task by name."""
    return {
        "name": report.name,
        "strategies": [
            {
                "name": outcome.strategy.name,
                "summary": outcome.strategy.summary,
                "advice": outcome.strategy.advice,
                **{name: getattr(outcome, name) for name in _OUTCOME},
            }
            for outcome in report.outcomes
        ],
        "unjudged": report.unjudged,
        "untouched": report.untouched,
        "exit_code": report.exit_code(),
    }
