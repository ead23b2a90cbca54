"""The commands that run tasks: `clerkship run`, and `rerun`, `resume` and `fork`, which begin with a stored run."""

from typing import Annotated

import typer

from clerkship.by_name import load
from clerkship.cli.groups import grouped
from clerkship.cli.options import RunReference
from clerkship.cli.report_options import OutputOptions, Results
from clerkship.service.planning.fork_request import ForkRequest
from clerkship.service.planning.options import ResourceOptions
from clerkship.service.planning.request import RunRequest

OtherAgent = Annotated[str | None, typer.Option("--agent", "-a", metavar="WHO", help="Another agent than the run had.")]


@grouped
def run(*, request: RunRequest, output: OutputOptions, results: Results = None) -> None:
    """Run tasks with an agent, grade what it did, keep everything.

    Exit code: 0 all passed · 1 a verdict is partial or fail · 2 errored, inconclusive, bad input, no criterion was
    judged (see --allow-ungraded), or a trial was changed in the store before the run ended · 130 stopped.

    Example:

        clerkship run suites/clinic --agent python:my_agent:Agent --tag scheduling -k 5
    """
    result, _ = load("clerkship.cli.running:run_and_show")(request, output, results)
    raise typer.Exit(result.exit_code())


@grouped
def rerun(
    *, run: RunReference = "latest", agent: OtherAgent = None, resources: ResourceOptions, output: OutputOptions
) -> None:
    """Do a run again from its snapshot: the same tasks, data and seed, whatever the files say today.

    It is a run of its own; `clerkship compare` puts the two side by side.

    Example:

        clerkship rerun latest --agent python:my_agent:Agent
    """
    raise typer.Exit(load("clerkship.cli.running_again:rerun_and_show")(run, agent, resources, output))


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
    raise typer.Exit(
        load("clerkship.cli.running_again:resume_and_show")(run, agent, resources, output, retry_errored=errored)
    )


@grouped
def fork(request: ForkRequest, resources: ResourceOptions, output: OutputOptions) -> None:
    """Go on with a recorded conversation from a turn, with another agent or model.

    All before is as it was, the person's line of that turn included: words, deeds, sandboxes, simulated time. It is a
    run of its own, whose log begins with the lines of the other.

    Example:

        clerkship fork latest refund --at-turn 4 --agent python:my_agent:Agent
    """
    raise typer.Exit(load("clerkship.cli.running_again:fork_and_show")(request, resources, output))
