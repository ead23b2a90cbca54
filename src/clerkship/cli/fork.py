"""`clerkship fork`: go on with a recorded conversation from one of its turns."""

import typer

from clerkship.cli.groups import grouped
from clerkship.cli.options import OutputOptions
from clerkship.cli.shown import opened_run
from clerkship.service.fork import ForkRequest, plan_fork
from clerkship.service.planning.options import ResourceOptions


@grouped
def fork(request: ForkRequest, resources: ResourceOptions, output: OutputOptions) -> None:
    """Go on with a recorded conversation from a turn, with another agent or model.

    All before is as it was, the person's line of that turn included: words, deeds, sandboxes, simulated time. It is a
    run of its own, whose log begins with the lines of the other.

    Example:

        clerkship fork latest refund --at-turn 4 --agent python:my_agent:Agent
    """
    with opened_run(request.run, resources, output) as (shown, settings):
        plan = plan_fork(shown.store, request, shown.catalog, settings)
        times = f" × {plan.run.trials}" if plan.run.trials > 1 else ""
        result, _ = shown.execute(plan, f"{plan.snapshots[0].task.name} from turn {request.turn} on{times}")
    raise typer.Exit(result.exit_code())
