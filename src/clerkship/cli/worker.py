"""`clerkship worker`: run trials of runs that are on Temporal."""

import asyncio
from typing import Annotated

import typer

from clerkship.by_name import load
from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, write_line
from clerkship.model.run import TaskRun
from clerkship.report.outcome import outcome
from clerkship.service.temporal.address import TemporalAddress, require_temporal
from clerkship.settings import load_settings


def worker(
    temporal: Annotated[str, typer.Option("--temporal", metavar="HOST:PORT", help="Temporal server.")],
    agent: Annotated[
        list[str],
        typer.Option("--agent", "-a", metavar="WHO", help="An agent that this worker runs; may be repeated."),
    ],
    namespace: Annotated[
        str | None, typer.Option("--namespace", metavar="NAME", help="Namespace of the server. [default: default]")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-c", metavar="N", help="Trials at a time. [default: 4]", min=1)
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            metavar="N",
            help="Trials of an agent that may begin in a second, on all workers together. Give all the same.",
            min=0.001,
        ),
    ] = None,
    grace: Annotated[
        float, typer.Option("--grace", metavar="SECONDS", help="Time for trials to finish after a stop signal.", min=0)
    ] = 30.0,
) -> None:
    """Run trials of `clerkship run --on temporal://…` on this machine, until Ctrl-C.

    The agent, its code and its keys are those of this machine: settings and variables are read here. Tasks and data are
    sent by the run. A worker runs no agent that is not named.

    Exit codes: 0 stopped, 2 invalid input, or the server cannot be reached.

    Example:

        clerkship worker --temporal 127.0.0.1:7233 --agent python:my_agent:Agent --concurrency 50
    """
    require_temporal("`clerkship worker`")
    settings, catalog = load_settings(), build_catalog()
    address = TemporalAddress.parse(temporal, "--temporal", namespace)
    module = load("clerkship.service.temporal.worker")
    options = module.WorkerOptions(
        agents=tuple(agent), concurrency=concurrency or settings.concurrency, rate=rate, grace=grace
    )
    console = out()

    def ready(queues: list[str]) -> None:
        where = f"{address.target} {address.namespace}"
        write_line(console, f"ready: {where}, {options.concurrency} trials at a time, {len(queues)} task queues")

    def report(task_run: TaskRun) -> None:
        write_line(console, f"{outcome(task_run)}: {task_run.task} (trial {task_run.trial}) of {task_run.run}")

    asyncio.run(module.serve_trials(address, options, settings, catalog, ready, report))
