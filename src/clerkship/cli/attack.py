"""`clerkship suite attack`: run every strategy that deserves no pass, and print which task passes one."""

from pathlib import Path
from typing import Annotated

import typer

from clerkship.attacks.registry import STRATEGIES
from clerkship.cli.attacked import AttackProgress, print_report, report_data
from clerkship.cli.catalog import registered
from clerkship.cli.console import agents_print_to_stderr, out, print_json
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json
from clerkship.model.problem import InputError
from clerkship.service.attacking import AttackOptions, AttackRequest, choose_strategies
from clerkship.service.attacking import attack as attack_suite
from clerkship.settings import load_settings


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
