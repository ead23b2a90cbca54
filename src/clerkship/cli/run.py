"""`clerkship run`: run tasks with an agent and show the verdicts."""

from pathlib import Path
from typing import Annotated

import typer

from clerkship.cli.catalog import registered
from clerkship.cli.options import (
    Agent,
    Concurrency,
    DomainPath,
    Json,
    Jsonl,
    Junit,
    Markdown,
    MarkdownLimit,
    Report,
    StorePath,
)
from clerkship.cli.shown import RunShown, reports
from clerkship.faults.chaos import PROFILES
from clerkship.report.markdown import SUMMARY
from clerkship.service.exporting import Targets
from clerkship.service.reading import RunView, open_store
from clerkship.service.running import RunRequest, RunResult, execute, plan_run
from clerkship.settings import Settings, load_settings

MOST_TRIALS = 50
UntilSure = Annotated[
    bool,
    typer.Option(
        "--until-sure", help="Repeat a task only until its rate is clear of --threshold; -k: the most, else 50."
    ),
]
Threshold = Annotated[
    float, typer.Option(metavar="RATE", help="With --until-sure: the pass rate that matters.", min=0.01, max=0.99)
]


def run(
    path: Annotated[Path, typer.Argument(help="Folder of YAML files, or one file of it.")],
    agent: Agent,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="NAME", help="Only tasks with this in their name; `*` allowed."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", metavar="TAG", help="Only tasks with this tag; may be repeated.")
    ] = None,
    benchmark: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Only the tasks of this benchmark, under its limits.")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option("--trials", "-k", metavar="N", help="How often each task is run. [default: 1]", min=1),
    ] = None,
    concurrency: Concurrency = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="What ids and randomness derive from. [default: 0]")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SEC", help="Wall seconds for tasks that set none. [default: 300]", min=0.001, max=86_400),
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Run in an order the seed decides; verdicts stay the same.")
    ] = False,
    chaos: Annotated[
        str | None,
        typer.Option(metavar="PROFILE", help=f"Faults in the way of every task: {' or '.join(PROFILES)}."),
    ] = None,
    until_sure: UntilSure = False,
    threshold: Threshold = 0.8,
    domain: DomainPath = None,
    report: Report = None,
    junit: Junit = None,
    jsonl: Jsonl = None,
    markdown: Markdown = None,
    markdown_limit: MarkdownLimit = SUMMARY,
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
    targets = reports(report, junit, jsonl, markdown, markdown_limit)
    request = RunRequest(
        path=path,
        agent=agent,
        tasks=tuple(task or ()),
        tags=tuple(tag or ()),
        benchmark=benchmark,
        trials=trials or (MOST_TRIALS if until_sure else 1),
        concurrency=concurrency,
        seed=seed,
        timeout=timeout,
        shuffle=shuffle,
        until_sure=threshold if until_sure else None,
        chaos=chaos,
        domain=domain,
    )
    result, _ = run_and_show(request, settings, store or settings.store, targets, json=json)
    raise typer.Exit(result.exit_code())


def run_and_show(
    request: RunRequest, settings: Settings, store_path: Path, targets: Targets, *, json: bool
) -> tuple[RunResult, RunView]:
    """Plan, execute with progress, keep, show, report."""
    catalog = registered()
    plan = plan_run(request, settings, catalog)
    with open_store(store_path, create=True) as store:
        warnings = [*catalog.warnings(), *map(str, plan.warnings)]
        show = RunShown(store, store_path, settings, targets, json=json, warnings=warnings)
        show.announce(plan)
        return show.follow(plan.expected(), lambda watch: execute(plan, store, catalog, [watch]))
