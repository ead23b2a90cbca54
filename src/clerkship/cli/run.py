"""`clerkship run`: run tasks with an agent and show the verdicts."""

import typer

from clerkship.cli.catalog import registered
from clerkship.cli.groups import grouped
from clerkship.cli.options import OutputOptions, Results
from clerkship.cli.shown import RunShown
from clerkship.service.exporting import check_results_writable
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.reading import RunView, open_store
from clerkship.service.running import RunResult
from clerkship.settings import load_settings, with_store


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
    targets, settings, catalog = output.reports(results), with_store(load_settings(), output.store), registered()
    plan = plan_run(request, settings, catalog)
    check_results_writable(targets, plan.run.path)
    with open_store(settings, create=True) as store:
        return RunShown(store, settings.store, targets, catalog, json=output.json).execute(plan)
