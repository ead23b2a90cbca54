"""`clerkship suite attack`: run attack strategies on a suite."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from clerkship.checks.attacks.contract import PASSES, AttackStrategy
from clerkship.checks.attacks.registry import STRATEGIES, list_strategies
from clerkship.cli.agent_console import agents_print_to_stderr
from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import number_column, out, plain_table, print_json
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json
from clerkship.cli.progress import ProgressBar
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.model.store_place import parse_store_place
from clerkship.service.attacking import AttackOptions, AttackOutcome, AttackReport, AttackRequest, list_attacks
from clerkship.service.attacking import attack as attack_suite
from clerkship.service.published_scores import record_attacks
from clerkship.service.running import TrialObserver
from clerkship.settings import load_settings

_OUTCOME_FIELDS = ("run", "attacked", "passed", "failed", "ungraded", "broken", "not_attacked", "unexpected", "runs")
MAX_TASKS = 10
"""Tasks printed for one strategy; --json has all of them."""


@grouped
def attack(
    *,
    path: Annotated[
        Path | None, typer.Argument(help="Folder of YAML files, a file, or FILE::NAME for one task.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only this strategy; may be repeated."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the strategies and exit.")] = False,
    options: AttackOptions,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="STORE", help="Store the runs there. [default: they are not stored]"),
    ] = None,
    json: Json = False,
) -> None:
    """Run agents that must not pass, and report every task that one passes.

    Each strategy tries to pass without doing the work, or while doing harm. `--list` describes them. If a strategy
    passes a task, the criteria of the task have a gap; the output says how to close it.

    A task may have wrong solutions (`wrong`), which must fail, and other correct ones (`ways`), which must pass. They
    are run too. Results on all tasks of a published version are recorded for `clerkship published show`.

    Strategies that need a solution skip tasks without one. Criteria that need a model are skipped unless there is a
    judge.

    Exit codes: 0 all results as expected, 1 one is not, 2 errored, inconclusive or invalid input, 130 interrupted.

    Examples:

        clerkship suite attack practice

        clerkship suite attack practice --only do-nothing --only crash-after

        clerkship suite attack eval/scenarios/refund.yml --json
    """
    if list_:
        return _print_strategies(json=json)
    if path is None:
        raise InputError.of("PATH is missing", hint="give a folder or a file; --list lists the strategies")
    request = AttackRequest(
        path=path,
        only=tuple(only or ()),
        store=parse_store_place(store) if store is not None else None,
        **vars(options),
    )
    total = len(request.only or STRATEGIES)
    with agents_print_to_stderr(), AttackProgress(out(), total, quiet=json) as progress:
        report = attack_suite(request, load_settings(), build_catalog(), progress.follow)
    if json:
        print_json(report_data(report))
    else:
        print_report(out(), report)
    recorded = record_attacks(path, options, report)
    if recorded is not None and not json:
        print_recorded(out(), recorded)
    raise typer.Exit(report.exit_code())


def _print_strategies(*, json: bool) -> None:
    strategies = list_strategies(list_attacks(build_catalog()))
    if json:
        print_json(
            [{"name": strategy.name, "summary": strategy.summary, "advice": strategy.advice} for strategy in strategies]
        )
        return
    width = max(len(strategy.name) for strategy in strategies)
    for strategy in strategies:
        out().print(f"[bold]{strategy.name:<{width}}[/]  {strategy.summary}", soft_wrap=True)


class AttackProgress(ProgressBar):
    """Shows the current strategy: a progress bar on a terminal, otherwise one line for each."""

    def __init__(self, console: Console, total: int, *, quiet: bool = False) -> None:
        self._name = ""
        self._done = self._tasks = 0
        super().__init__(console, total, quiet=quiet)

    def follow(self, strategy: AttackStrategy, total: int) -> TrialObserver:
        """Start a strategy, and return the observer of its trials."""
        return self.follow_agent(strategy.name, total)

    def follow_agent(self, name: str, total: int) -> TrialObserver:
        """Start an agent by its name, and return the observer of its trials."""
        self._name, self._done, self._tasks = name, 0, total
        if not self._live and not self._quiet:
            self._console.print(f"{name}: {total} task{'s' * (total != 1)}")
        return self._finished

    def status_text(self) -> str:
        """Return the current strategy and its progress."""
        return f"{self._name} {self._done}/{self._tasks}" if self._name else "starting"

    def _finished(self, task_run: TaskRun) -> None:
        self._done += 1
        if self._live and self._done == self._tasks:
            self.advance()


def print_recorded(console: Console, path: Path) -> None:
    """Print where the scores on a published version were recorded."""
    console.print(f"[quiet]recorded in {escape(str(path))}[/]", soft_wrap=True)


def print_report(console: Console, report: AttackReport) -> None:
    """Print the table, the unexpected results with advice, and what was not attacked."""
    console.print(_build_table(report.outcomes))
    for outcome in report.outcomes:
        _print_unexpected(console, outcome)
        _print_broken(console, outcome)
    _print_not_attacked(console, report)
    count = len(report.findings())
    attacked = sum(outcome.attacked for outcome in report.outcomes)
    total = f"[fail]✗ {count} of {attacked} results are not as expected[/]" if count else ""
    broken = sum(len(outcome.broken) for outcome in report.outcomes)
    total = total or (f"[errored]! {broken} of {attacked} results are missing[/]" if broken else "")
    total = total or f"[pass]✓ {attacked} results, all as expected[/]"
    console.print(f"\n{total}" + ("  [cancelled]interrupted[/]" if report.cancelled else ""))


def _build_table(outcomes: Iterable[AttackOutcome]) -> Table:
    titles = ("attacked", "passed", "unexpected", "not applicable")
    table = plain_table(Column("strategy", no_wrap=True), *map(number_column, titles))
    for outcome in outcomes:
        unexpected = f"[fail]{count}[/]" if (count := len(outcome.unexpected)) else "0"
        numbers = (str(outcome.attacked), str(len(outcome.passed)), unexpected, str(len(outcome.not_attacked)))
        table.add_row(outcome.strategy.name, *numbers)
    return table


def _print_unexpected(console: Console, outcome: AttackOutcome) -> None:
    if not outcome.unexpected:
        return
    count = len(outcome.unexpected)
    is_pass = set(outcome.unexpected.values()) == {PASSES}
    what = f"passes {count} task" if is_pass else f"has {count} unexpected result"
    console.print(f"\n[fail]✗ {outcome.strategy.name}[/] {what}{'s' * (count != 1)}:")
    for task, reason in list(outcome.unexpected.items())[:MAX_TASKS]:
        console.print(f"    {escape(task)}" + ("" if is_pass else f": {escape(reason)}"), soft_wrap=True)
    if count > MAX_TASKS:
        console.print(f"    [quiet]and {count - MAX_TASKS} more (--json lists them)[/]")
    console.print(f"  it {escape(outcome.strategy.summary)}", soft_wrap=True)
    console.print(f"  [bold]advice:[/] {escape(outcome.strategy.advice)}", soft_wrap=True)


def _print_broken(console: Console, outcome: AttackOutcome) -> None:
    for task, reason in list(outcome.broken.items())[:MAX_TASKS]:
        name = outcome.strategy.name
        console.print(f"[errored]![/] {name} got no verdict on {escape(task)}: {escape(reason)}", soft_wrap=True)
    if len(outcome.broken) > MAX_TASKS:
        console.print(f"    [quiet]and {len(outcome.broken) - MAX_TASKS} more (--json lists them)[/]")


def _print_not_attacked(console: Console, report: AttackReport) -> None:
    """Print why tasks were not attacked, and which criteria were not judged."""
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
        tasks = f"{count} task{'s have' if count != 1 else ' has'} criteria that only a model can judge"
        console.print(f"[partial]![/] {tasks}; they were skipped; [quiet]use --judge to include them[/]")


def report_data(report: AttackReport) -> dict[str, Any]:
    """Return the report as JSON data, with all tasks."""
    return {
        "name": report.name,
        "strategies": [
            {
                "name": outcome.strategy.name,
                "summary": outcome.strategy.summary,
                "advice": outcome.strategy.advice,
                **{name: getattr(outcome, name) for name in _OUTCOME_FIELDS},
            }
            for outcome in report.outcomes
        ],
        "unjudged": report.unjudged,
        "untouched": report.untouched,
        "exit_code": report.exit_code(),
    }
