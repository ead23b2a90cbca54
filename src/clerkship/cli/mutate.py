"""`clerkship suite mutate`: run reference solutions with one mistake each."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column

from clerkship.by_name import load
from clerkship.checks.mutants.operators import MAX_MUTANTS
from clerkship.cli.agent_console import agents_print_to_stderr
from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import number_column, out, plain_table, print_json
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json
from clerkship.cli.suite import AttackProgress, print_recorded
from clerkship.model.store_place import parse_store_place
from clerkship.service.attacking import AttackOptions
from clerkship.service.mutating import CRASHED, MIN_RATE, NO_MUTANTS, MutantResult, MutateRequest, MutationReport
from clerkship.service.mutating import mutate as mutate_suite
from clerkship.service.published_scores import record_mutants
from clerkship.settings import load_settings

_RUNS = 3
"""The solutions, their recording, and the mutants."""
_UNKNOWN_CRITERION = "the label of the criterion that must fail"


@grouped
def mutate(
    *,
    path: Annotated[Path, typer.Argument(help="Folder of YAML files, a file, or FILE::NAME for one task.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="NAME", help="Only this mutant, or this kind; `*` is a wildcard; may be repeated."
        ),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help=f"Run all mutants. [default: {MAX_MUTANTS} of each task, drawn by the seed]")
    ] = False,
    min_rate: Annotated[
        float, typer.Option("--min-rate", metavar="RATE", min=0, max=1, help="Rate of caught mutants that is enough.")
    ] = MIN_RATE,
    options: AttackOptions,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="STORE", help="Store the runs there. [default: they are not stored]"),
    ] = None,
    json: Json = False,
) -> None:
    """Run the reference solutions with one mistake each, and report every mistake that passes.

    The calls of each solution are recorded. A mutant is the solution with one mistake: a call dropped, repeated, made
    after the next one or ten days late, another record or value, an early stop, another recipient, more text. If a
    mutant passes, the criteria have a gap.

    Only calls that change something are mutated. A mutant that passes and had the same effects as the solution is not
    counted. With `--only`, each mutant is printed as an entry for `wrong` of the task; without it, the result on all
    tasks of a published version is recorded for `clerkship published show`.

    Exit codes: 0 enough mutants were caught, 1 too few, 2 errored, inconclusive, nothing to mutate or invalid input,
    130 interrupted.

    Examples:

        clerkship suite mutate practice

        clerkship suite mutate practice --task "Book" --only "drop: ehr.create #1"

        clerkship suite mutate practice --all --json
    """
    request = MutateRequest(
        path=path,
        only=tuple(only or ()),
        all=all_,
        min_rate=min_rate,
        store=parse_store_place(store) if store is not None else None,
        **vars(options),
    )
    with agents_print_to_stderr(), AttackProgress(out(), _RUNS, quiet=json) as progress:
        report = mutate_suite(request, load_settings(), build_catalog(), progress.follow)
    if json:
        print_json(report_data(report))
    else:
        print_report(out(), report, request)
    recorded = record_mutants(path, options, report, request.only)
    if recorded is not None and not json:
        print_recorded(out(), recorded)
    raise typer.Exit(report.exit_code())


def print_report(console: Console, report: MutationReport, request: MutateRequest) -> None:
    """Print the criteria of each task with what they caught, the survivors, and the rates."""
    for task, results in _group(report.results, "task").items():
        _print_task(console, report, task, results)
        for result in results:
            _print_result(console, result, request)
    _print_kinds(console, report)
    for task, reason in report.not_mutated.items():
        console.print(f"[quiet]{escape(task)}: not mutated: {escape(reason)}[/]", soft_wrap=True)
    if report.left_out and not request.only:
        console.print(f"[quiet]{report.left_out} more mutants were not run: --all runs them[/]")
    rate, counts = report.rate(), report.count()
    mark = "[pass]✓" if not report.exit_code() else "[fail]✗"
    total = counts["caught"] + counts["survived"]
    text = NO_MUTANTS if rate is None else f"{counts['caught']} of {total} mutants caught: {rate:.1%}"
    console.print(f"\n{mark} {text}[/]" + ("  [cancelled]interrupted[/]" if report.cancelled else ""))


def _print_task(console: Console, report: MutationReport, task: str, results: Sequence[MutantResult]) -> None:
    counts = report.count(results)
    mark = "[fail]✗[/]" if counts["survived"] else "[pass]✓[/]"
    more = f", {counts['no effect']} without effect" if counts["no effect"] else ""
    total = counts["caught"] + counts["survived"]
    console.print(f"{mark} [bold]{escape(task)}[/]: {counts['caught']} of {total} caught{more}", soft_wrap=True)
    for label in dict.fromkeys((*report.criteria[task], *(each for one in results for each in one.caught_by))):
        caught = [result for result in results if label in result.caught_by]
        kinds = ", ".join(f"{kind} {len(ones)}" for kind, ones in _group(caught, "kind").items())
        if caught or label != CRASHED:
            console.print(f"    [quiet]{escape(label)}: {kinds or 'none'}[/]", soft_wrap=True)


def _print_result(console: Console, result: MutantResult, request: MutateRequest) -> None:
    """Print a survivor with the command that runs it alone, or, if it was asked for, any mutant as YAML."""
    name = result.variant.name
    if result.outcome == "broken":
        console.print(f"    [errored]![/] no verdict on {escape(name)}: {escape(result.reason)}", soft_wrap=True)
    elif result.outcome == "survived":
        warned = f" [quiet](warnings: {escape(', '.join(result.warned_by))})[/]" if result.warned_by else ""
        console.print(f"    [fail]survived[/] {escape(name)}{warned}", soft_wrap=True)
        if not request.only:
            seed = f" --seed {request.seed}" if request.seed else ""
            words = ["clerkship", "suite", "mutate", str(request.path), "--task", result.task, "--only", name]
            console.print(f"      [quiet]{escape(shlex.join(words))}{seed}[/]", soft_wrap=True)
    if request.only:
        _print_yaml(console, result)


def _print_yaml(console: Console, result: MutantResult) -> None:
    fails = next(iter(result.caught_by), _UNKNOWN_CRITERION)
    data = {"name": result.variant.name, "fails": fails, **_dump(result)["variant"]}
    console.print(f"    [quiet]{result.outcome}; as an entry of `wrong`:[/]")
    for line in load("yaml:safe_dump")([data], sort_keys=False, allow_unicode=True, width=100).splitlines():
        console.print(f"      {escape(line)}", soft_wrap=True)


def _print_kinds(console: Console, report: MutationReport) -> None:
    table = plain_table(
        Column("mistake", no_wrap=True), *map(number_column, ("caught", "survived", "no effect", "rate"))
    )
    for kind, results in _group(report.results, "kind").items():
        counts, rate = report.count(results), report.rate(results)
        numbers = (str(counts[outcome]) for outcome in ("caught", "survived", "no effect"))
        table.add_row(kind, *numbers, "" if rate is None else f"{rate:.0%}")
    console.print()
    console.print(table)


def _group(results: Iterable[MutantResult], field: str) -> dict[str, list[MutantResult]]:
    groups: defaultdict[str, list[MutantResult]] = defaultdict(list)
    for result in results:
        groups[getattr(result, field)].append(result)
    return dict(groups)


def report_data(report: MutationReport) -> dict[str, Any]:
    """Return the report as JSON data, with all mutants."""
    return {
        "name": report.name,
        "rate": report.rate(),
        "min_rate": report.min_rate,
        "counts": report.count(),
        "mutants": [{"name": result.variant.name} | vars(result) | _dump(result) for result in report.results],
        "not_mutated": report.not_mutated,
        "left_out": report.left_out,
        "exit_code": report.exit_code(),
    }


def _dump(result: MutantResult) -> dict[str, Any]:
    return {"variant": result.variant.model_dump(mode="json", exclude_unset=True, exclude={"name"})}
