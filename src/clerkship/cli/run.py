"""The commands that run tasks: `clerkship run`, and `rerun`, `resume` and `fork`, which start from a stored run."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from clerkship.by_name import load
from clerkship.cli.groups import grouped
from clerkship.cli.options import RunReference, Verbose
from clerkship.cli.report_options import OutputOptions, Results
from clerkship.model.errors import InputError
from clerkship.service.planning.options import AgentHeaders, BotOptions, RepeatedRunOptions
from clerkship.service.planning.request import ForkRequest, RunRequest

OtherAgent = Annotated[
    str | None, typer.Option("--agent", "-a", metavar="AGENT", help="Use this agent instead of the run's own.")
]


@dataclass(frozen=True, kw_only=True)
class RepeatOptions:
    """Which tasks to run again, and when."""

    last_failed: Annotated[
        bool,
        typer.Option(
            "--last-failed",
            "--lf",
            help="Only the tasks that did not pass in the last run of this path.",
            rich_help_panel="Selection",
        ),
    ] = False
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Run again whenever a file of the suite or the agent changes, until Ctrl-C.",
            rich_help_panel="Execution",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """The server whose version is run."""

    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="URL",
            help="Run a published version of this server, such as chart@1. The agent works here, all else there. "
            "Options about people, models, limits and recordings have no effect there and are refused. "
            "With temporal://HOST[:PORT][/NAMESPACE], run the trials on the workers of a Temporal server.",
            rich_help_panel="Server",
        ),
    ] = None
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            metavar="FILE",
            help="File with a key of the server. [default: CLERKSHIP_SERVER_KEY]",
            rich_help_panel="Server",
        ),
    ] = None
    scored: Annotated[
        bool,
        typer.Option("--scored", help="Hide criteria and evidence from the agent for good.", rich_help_panel="Server"),
    ] = False


@grouped
def run(
    *,
    request: RunRequest,
    output: OutputOptions,
    results: Results = None,
    repeat: RepeatOptions,
    server: ServerOptions,
    verbose: Verbose = False,
) -> None:
    """Run tasks with an agent and grade the results.

    Everything is stored: tasks, logs, verdicts.

    Exit codes: 0 all passed, 1 a verdict is partial or fail, 2 errored, inconclusive, invalid input, nothing judged
    (see --allow-ungraded) or a stored trial was changed, 130 interrupted.

    Example:

        clerkship run suites/clinic --agent python:my_agent:Agent --tag scheduling -k 5

        clerkship run chart@1 --on https://tests.example.org --key-file solver.key --agent python:my_agent:Agent
    """
    if server.on is not None and server.on.startswith("temporal:"):
        others = {"--watch": repeat.watch, "--last-failed": repeat.last_failed}
        others |= {"--key-file": server.key_file is not None, "--scored": server.scored}
        refuse_together("--on temporal://", others)
        show = load("clerkship.cli.running:run_and_show")
        result, _ = show(request, output, results, verbose=verbose, on=server.on)
        raise typer.Exit(result.exit_code())
    if server.on is not None:
        others = {"--watch": repeat.watch, "--last-failed": repeat.last_failed, "--results": results is not None}
        refuse_together("--on", others)
        show = load("clerkship.cli.running_on_server:run_on_server_and_show")
        raise typer.Exit(show(request, server.on, server.key_file, output, scored=server.scored))
    if server.key_file is not None or server.scored:
        option = "--scored" if server.scored else "--key-file"
        raise InputError.of(f"{option} is for a run on a server", hint="give --on URL")
    if repeat.watch:
        raise typer.Exit(load("clerkship.cli.watching:watch_and_run")(request, output, sys.argv[1:]))
    if repeat.last_failed:
        raise typer.Exit(
            load("clerkship.cli.running:run_last_failed_and_show")(request, output, results, verbose=verbose)
        )
    result, _ = load("clerkship.cli.running:run_and_show")(request, output, results, verbose=verbose)
    raise typer.Exit(result.exit_code())


def refuse_together(option: str, others: Mapping[str, bool]) -> None:
    """Raise InputError if another option is given that excludes one."""
    given = [name for name, is_given in others.items() if is_given]
    if given:
        raise InputError.of(f"{option} and {given[0]} exclude each other", hint="give one of them")


@grouped
def rerun(
    *,
    run: RunReference = "latest",
    agent: OtherAgent = None,
    resources: RepeatedRunOptions,
    bot: BotOptions,
    output: OutputOptions,
) -> None:
    """Run the snapshots of a stored run again.

    Tasks, data and seed are those of the run, even if the files have changed. The result is a new run: compare the two
    with `clerkship compare`.

    Example:

        clerkship rerun latest --agent python:my_agent:Agent
    """
    raise typer.Exit(load("clerkship.cli.running_stored:rerun_and_show")(run, agent, bot, resources, output))


@dataclass(frozen=True, kw_only=True)
class ResumeOptions:
    """Which trials of a run to finish, with which agent, and where."""

    errored: Annotated[bool, typer.Option("--errored", help="Also repeat trials that errored.")] = False
    agent: Annotated[
        str | None,
        typer.Option("--agent", "-a", metavar="AGENT", help="The same agent, if its name was not stored completely."),
    ] = None
    on: Annotated[
        str | None,
        typer.Option(
            "--on", metavar="URL", help="Run the trials on the workers of a Temporal server: temporal://HOST[:PORT]."
        ),
    ] = None


@grouped
def resume(
    *,
    run: RunReference = "latest",
    rest: ResumeOptions,
    resources: RepeatedRunOptions,
    headers: AgentHeaders = (),
    output: OutputOptions,
) -> None:
    """Finish an interrupted run.

    Finished trials stay as they are. Trials in progress are kept as interrupted attempts and run again from the
    snapshot, even if the files have changed. Start it in the same folder as the run if the agent is found from there.

    Example:

        clerkship resume latest
    """
    raise typer.Exit(
        load("clerkship.cli.running_stored:resume_and_show")(
            run, rest.agent, headers, resources, output, retry_errored=rest.errored, on=rest.on
        )
    )


@grouped
def fork(request: ForkRequest, resources: RepeatedRunOptions, output: OutputOptions) -> None:
    """Continue a stored conversation from a turn.

    Everything up to the person's message of that turn is kept: messages, requests, sandboxes, simulated time. Then the
    agent replies, or another one that you name. The result is a new run whose log starts with the events of the
    original.

    Example:

        clerkship fork latest refund --at-turn 4 --agent python:my_agent:Agent
    """
    raise typer.Exit(load("clerkship.cli.running_stored:fork_and_show")(request, resources, output))
