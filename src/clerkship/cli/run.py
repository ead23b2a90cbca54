"""The commands that run tasks: `clerkship run`, and `rerun`, `resume` and `fork`, which begin with a stored run."""

from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.console import out, registered
from clerkship.cli.groups import grouped
from clerkship.cli.options import OutputOptions, Results, RunReference
from clerkship.cli.shown import RunShown, opened_run
from clerkship.service.exporting import check_results_writable
from clerkship.service.fork import ForkRequest, plan_fork
from clerkship.service.planning.options import ResourceOptions
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.reading import RunView, open_store
from clerkship.service.rerun import plan_rerun
from clerkship.service.resume import plan_resume
from clerkship.service.resume import resume as resume_run
from clerkship.service.running import RunResult
from clerkship.settings import load_settings, override

OtherAgent = Annotated[str | None, typer.Option("--agent", "-a", metavar="WHO", help="Another agent than the run had.")]


@grouped
def run(*, request: RunRequest, output: OutputOptions, results: Results = None) -> None:
    """Run tasks with an agent, grade what it did, keep everything.

    Exit code: 0 all passed · 1 a verdict is partial or fail · 2 errored, inconclusive, bad input, no criterion was
    judged (see --allow-ungraded), or a trial was changed in the store before the run ended · 130 stopped.

    Example:

        clerkship run suites/clinic --agent python:my_agent:Agent --tag scheduling -k 5
    """
    raise typer.Exit(run_and_show(request, output, results)[0].exit_code())


def run_and_show(request: RunRequest, output: OutputOptions, results: str | None = None) -> tuple[RunResult, RunView]:
    """Plan, execute with progress, keep, show, report."""
    targets, settings, catalog = output.reports(results), override(load_settings(), store=output.store), registered()
    plan = plan_run(request, settings, catalog)
    check_results_writable(targets, plan.run.path)
    with open_store(settings, create=True) as store:
        return RunShown(store, settings.store, targets, catalog, json=output.json).execute(plan)


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
