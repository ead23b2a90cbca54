"""`clerkship run`: run tasks with an agent and show the verdicts."""

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from clerkship.cli.console import agents_print_to_stderr, out, print_json
from clerkship.cli.options import Agent, Json, StorePath
from clerkship.cli.progress import RunProgress
from clerkship.cli.verdicts import print_run
from clerkship.engine.catalog import Registered
from clerkship.service.reading import RunView, open_store, show_run, write_report
from clerkship.service.running import RunPlan, RunRequest, RunResult, execute, plan_run
from clerkship.settings import Settings, load_settings, program


def run(
    path: Annotated[Path, typer.Argument(help="Folder of YAML files, or one file of it.")],
    agent: Agent,
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="NAME", help="Only tasks of this name; `*` allowed.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", metavar="TAG", help="Only tasks with this tag; may be repeated.")
    ] = None,
    benchmark: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Only the tasks of this benchmark, under its limits.")
    ] = None,
    trials: Annotated[int, typer.Option("--trials", "-k", metavar="N", help="How often each task is run.", min=1)] = 1,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-c", metavar="N", help="Trials at once.", min=1, max=1000)
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="What ids and randomness derive from.")] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SEC", help="Wall seconds for tasks that set none.", min=0.001, max=86_400)
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Run in an order the seed decides; verdicts stay the same.")
    ] = False,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write the HTML report.")] = None,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Run tasks with an agent, grade what it did, keep everything.

    Exit code: 0 all passed · 1 a verdict is partial or fail, or the agent crashed · 2 something else broke
    (errored, inconclusive, bad input) · 130 stopped.

    Examples:

        clerkship run suites/clinic --agent python:my_agent:Agent

        clerkship run suites/clinic --agent "command:node agent.mjs"

        clerkship run suites/clinic --agent oracle --tag scheduling -k 5
    """
    settings = load_settings()
    request = RunRequest(
        path=path,
        agent=agent,
        tasks=tuple(task or ()),
        tags=tuple(tag or ()),
        benchmark=benchmark,
        trials=trials,
        concurrency=concurrency,
        seed=seed,
        timeout=timeout,
        shuffle=shuffle,
    )
    result, _ = run_and_show(request, settings, store or settings.store, report, json=json)
    raise typer.Exit(result.exit_code())


def run_and_show(
    request: RunRequest, settings: Settings, store_path: Path, report: Path | None, *, json: bool
) -> tuple[RunResult, RunView]:
    """Plan, execute with progress, keep, show, report."""
    catalog = Registered()
    plan = plan_run(request, settings, catalog)
    console = out()
    if not json:
        _announce(console, plan)
    with open_store(store_path, create=True) as store:
        with agents_print_to_stderr(), RunProgress(console, plan.run.total, quiet=json) as progress:
            result = execute(plan, store, catalog, [progress])
        view = show_run(store, plan.run.id)
        if not json:
            print_run(console, view.run, view.counts, view.task_runs)
            _say_where(console, view, store_path, settings)
        page = write_report(store, plan.run.id, report or store_path.parent / "reports" / f"{plan.run.id}.html")
    if json:
        found = {"run": view.run, "counts": view.counts, "exit_code": result.exit_code(), "report": page}
        print_json(found | {"tasks": view.task_runs})
    else:
        console.print(f"[quiet]report[/] {escape(str(page))}", soft_wrap=True)
    return result, view


def _announce(console: Console, plan: RunPlan) -> None:
    count = len(plan.snapshots)
    what = f"{count} task{'s' * (count != 1)}" + (f" × {plan.run.trials}" if plan.run.trials > 1 else "")
    agent = f"[quiet]agent[/] {escape(plan.run.solver)}  [quiet]seed {plan.run.seed}[/]"
    console.print(f"[bold]{escape(plan.run.name)}[/]  {what}  {agent}")


def _say_where(console: Console, view: RunView, store: Path, settings: Settings) -> None:
    elsewhere = f" --store {shlex.quote(str(store))}" if store != settings.store else ""
    console.print(f"[quiet]closer[/] {program()} show {view.run.id}{escape(elsewhere)}", soft_wrap=True)
