"""`clerkship run`: run tasks with an agent and show the verdicts."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.console import err, out, print_json
from clerkship.cli.options import Agent, Json, StorePath
from clerkship.cli.progress import RunProgress
from clerkship.cli.verdicts import print_run
from clerkship.engine.catalog import Registered
from clerkship.service.reading import RunView, open_store, show_run, write_report
from clerkship.service.running import RunRequest, RunResult, execute, plan_run
from clerkship.settings import Settings, load_settings, program


def run(
    path: Annotated[Path, typer.Argument(help="Folder of YAML files, or one file of it.")],
    agent: Agent,
    task: Annotated[list[str] | None, typer.Option("--task", help="Only tasks of this name; `*` allowed.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="Only tasks with this tag; may be repeated.")
    ] = None,
    benchmark: Annotated[str | None, typer.Option(help="Only the tasks of this benchmark, under its limits.")] = None,
    trials: Annotated[int, typer.Option("--trials", "-k", help="How often each task is run.", min=1)] = 1,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-c", help="Trials at once.", min=1, max=1000)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="What ids and randomness derive from.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Wall seconds for tasks that set none.", min=0.001)] = None,
    shuffle: Annotated[bool, typer.Option(help="Run in an order the seed decides; verdicts stay the same.")] = False,
    report: Annotated[Path | None, typer.Option(help="Where to write the HTML report.")] = None,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Run tasks with an agent, grade what it did, keep everything.

    Exit code: 0 all passed · 1 a verdict is partial or fail, or the agent crashed · 2 something else broke
    (errored, inconclusive, bad input) · 130 stopped.

    Examples:

        clerkship run suites/clinic --agent python:my_agent:Agent

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
    """Plan, execute with progress, keep, report, show."""
    catalog = Registered()
    plan = plan_run(request, settings, catalog)
    console, errors = out(), err()
    if not json:
        what = f"{len(plan.snapshots)} tasks" + (f" × {plan.run.trials}" if plan.run.trials > 1 else "")
        agent = f"[quiet]agent[/] {escape(plan.run.solver)}  [quiet]seed {plan.run.seed}[/]"
        console.print(f"[bold]{escape(plan.run.name)}[/]  {what}  {agent}")
        console.print()
    with open_store(store_path, create=True) as store:
        with RunProgress(console if not json else errors, plan.run.total, quiet=json) as progress:
            result = execute(plan, store, catalog, [progress])
        page = write_report(store, plan.run.id, report or store_path.parent / "reports" / f"{plan.run.id}.html")
        view = show_run(store, plan.run.id)
    if json:
        print_json(
            {
                "run": view.run,
                "counts": view.counts,
                "exit_code": result.exit_code(),
                "report": page,
                "tasks": view.task_runs,
            }
        )
    else:
        print_run(console, view.run, view.counts, view.task_runs)
        console.print(f"[quiet]run   [/] {view.run.id}   [quiet]look closer:[/] {program()} show {view.run.id}")
        console.print(f"[quiet]report[/] {escape(str(page))}")
    return result, view
