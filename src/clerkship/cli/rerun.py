"""`clerkship rerun`: the same frozen tasks once more."""

from typing import Annotated

import typer

from clerkship.cli.catalog import registered
from clerkship.cli.options import (
    Concurrency,
    Isolate,
    Json,
    Jsonl,
    Junit,
    Markdown,
    MarkdownLimit,
    Report,
    RunReference,
    StorePath,
)
from clerkship.cli.shown import RunShown, reports
from clerkship.report.markdown import SUMMARY
from clerkship.service.reading import open_store
from clerkship.service.rerun import plan_rerun
from clerkship.service.running import execute
from clerkship.settings import isolating, limited, load_settings


def rerun(
    run: RunReference = "latest",
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", metavar="WHO", help="Another agent than the run had.")
    ] = None,
    concurrency: Concurrency = None,
    isolate: Isolate = None,
    report: Report = None,
    junit: Junit = None,
    jsonl: Jsonl = None,
    markdown: Markdown = None,
    markdown_limit: MarkdownLimit = SUMMARY,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Do a run again from its snapshot: the same tasks, data and seed, whatever the files say today.

    It is a run of its own; `clerkship compare` puts the two side by side.

    Example:

        clerkship rerun latest --agent python:my_agent:Agent
    """
    settings = isolating(load_settings(), isolate)
    targets = reports(report, junit, jsonl, markdown, markdown_limit)
    path, catalog = store or settings.store, registered()
    with open_store(settings, path) as kept:
        limits = limited(settings, concurrency or kept.run(run).concurrency)
        plan = plan_rerun(kept, run, catalog, limits, agent)
        show = RunShown(kept, path, targets, json=json, warnings=catalog.warnings())
        show.announce(plan)
        result, _ = show.follow(plan.run, plan.expected(), lambda watch: execute(plan, kept, catalog, [watch]))
    raise typer.Exit(result.exit_code())
