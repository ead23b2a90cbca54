"""`clerkship rerun`: the same frozen tasks once more."""

from typing import Annotated

import typer

from clerkship.cli.groups import grouped
from clerkship.cli.options import OutputOptions, RunReference
from clerkship.cli.shown import opened_run
from clerkship.service.planning.options import ResourceOptions
from clerkship.service.rerun import plan_rerun

OtherAgent = Annotated[str | None, typer.Option("--agent", "-a", metavar="WHO", help="Another agent than the run had.")]


@grouped
def rerun(
    *, run: RunReference = "latest", agent: OtherAgent = None, resources: ResourceOptions, output: OutputOptions
) -> None:
    """Do a run again from its snapshot: the same tasks, data and seed, whatever the files say today.

    It is a run of its own; `clerkship compare` puts the two side by side.

    Example:

        clerkship rerun latest --agent python:my_agent:Agent
    """
    with opened_run(run, resources, output) as (shown, settings):
        plan = plan_rerun(shown.store, run, shown.catalog, settings, agent)
        result, _ = shown.execute(plan)
    raise typer.Exit(result.exit_code())
