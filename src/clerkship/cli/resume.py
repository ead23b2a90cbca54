"""`clerkship resume`: finish a run that was killed or stopped."""

from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.console import out
from clerkship.cli.groups import grouped
from clerkship.cli.options import OutputOptions, RunReference
from clerkship.cli.shown import opened_run
from clerkship.service.planning.options import ResourceOptions
from clerkship.service.resume import plan_resume
from clerkship.service.resume import resume as resume_run


@grouped
def resume(
    *,
    run: RunReference = "latest",
    errored: Annotated[bool, typer.Option("--errored", help="Do trials again that errored, too.")] = False,
    agent: Annotated[
        str | None,
        typer.Option("--agent", "-a", metavar="WHO", help="The same agent, where its name was not kept whole."),
    ] = None,
    resources: ResourceOptions,
    output: OutputOptions,
) -> None:
    """Finish a run that was killed, stopped, or broken off by a full disk.

    Trials that finished are kept as they are. Those that were under way are kept as attempts that were cut short, and
    done again from the run's own snapshot: what the files say today does not matter. Go on from the folder you started
    in, if the agent is found from there.

    Example:

        clerkship resume latest
    """
    with opened_run(run, resources, output) as (shown, settings):
        store, catalog = shown.store, shown.catalog
        resumed = plan_resume(store, run, catalog, settings, agent=agent, retry_errored=errored)
        plan = resumed.plan
        if not resumed.left and plan.run.status == "completed" and not output.json:
            out().print(f"[quiet]{escape(plan.run.id)} has nothing left to do[/]")
            raise typer.Exit(plan.run.exit_code(store.counts(plan.run.id)))
        shown.announce(plan, f"{resumed.left} of {plan.run.total} trials left")
        result, _ = shown.follow(plan, resumed.left, lambda watch: resume_run(resumed, store, catalog, [watch]))
    raise typer.Exit(result.exit_code())
