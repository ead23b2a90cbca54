"""`clerkship resume`: finish a run that was killed or stopped."""

from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.catalog import registered
from clerkship.cli.console import out
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
from clerkship.service.resume import plan_resume
from clerkship.service.resume import resume as go_on
from clerkship.settings import isolating, limited, load_settings


def resume(
    run: RunReference = "latest",
    errored: Annotated[bool, typer.Option("--errored", help="Do trials again that errored, too.")] = False,
    agent: Annotated[
        str | None,
        typer.Option("--agent", "-a", metavar="WHO", help="The same agent, where its name was not kept whole."),
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
    """Finish a run that was killed, stopped, or broken off by a full disk.

    Trials that finished are kept as they are. Those that were under way are kept as attempts that were cut short, and
    done again from the run's own snapshot: what the files say today does not matter. Go on from the folder you started
    in, if the agent is found from there.

    Example:

        clerkship resume latest
    """
    settings = isolating(load_settings(), isolate)
    targets = reports(report, junit, jsonl, markdown, markdown_limit)
    path, catalog = store or settings.store, registered()
    with open_store(settings, path) as kept:
        limits = limited(settings, concurrency or kept.run(run).concurrency)
        resumed = plan_resume(kept, run, catalog, limits, agent=agent, retry_errored=errored)
        show = RunShown(kept, path, targets, json=json, warnings=catalog.warnings())
        if not resumed.left and resumed.plan.run.status == "completed" and not json:
            out().print(f"[quiet]{escape(resumed.plan.run.id)} has nothing left to do[/]")
            raise typer.Exit(resumed.plan.run.exit_code(kept.counts(resumed.plan.run.id)))
        show.announce(resumed.plan, f"{resumed.left} of {resumed.plan.run.total} trials left")
        result, _ = show.follow(resumed.plan.run, resumed.left, lambda watch: go_on(resumed, kept, catalog, [watch]))
    raise typer.Exit(result.exit_code())
