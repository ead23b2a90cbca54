"""The work of `clerkship run`, imported when the command is used."""

from clerkship.cli.catalog import build_catalog
from clerkship.cli.report_options import OutputOptions
from clerkship.cli.run_output import RunPresenter
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.reading import RunView
from clerkship.service.report_targets import check_results_writable
from clerkship.service.running import RunResult
from clerkship.service.store_access import open_store
from clerkship.settings import load_settings, override_settings


def run_and_show(request: RunRequest, output: OutputOptions, results: str | None = None) -> tuple[RunResult, RunView]:
    """Plan a run, execute it, print it and write its reports."""
    targets, settings, catalog = (
        output.reports(results),
        override_settings(load_settings(), store=output.store),
        build_catalog(),
    )
    plan = plan_run(request, settings, catalog)
    check_results_writable(targets, plan.run.path)
    with open_store(settings, create=True) as store:
        return RunPresenter(store, settings.store, targets, catalog, json=output.json).execute(plan)
