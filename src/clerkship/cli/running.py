"""The work of `clerkship run`, imported when the command is used."""

from dataclasses import replace
from pathlib import Path

from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json
from clerkship.cli.report_options import OutputOptions
from clerkship.cli.run_output import RunPresenter, build_executor
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.reading import RunView
from clerkship.service.report_targets import check_results_writable
from clerkship.service.running import RunResult
from clerkship.service.stored_runs import LastFailed, build_no_run_error, find_last_failed
from clerkship.settings import load_settings, override_settings
from clerkship.store.opening import open_store


def run_and_show(
    request: RunRequest,
    output: OutputOptions,
    results: str | None = None,
    *,
    verbose: bool = False,
    on: str | None = None,
) -> tuple[RunResult, RunView]:
    """Plan a run, execute it, print it and write its reports."""
    targets, settings, catalog = (
        output.reports(results),
        override_settings(load_settings(), store=output.place),
        build_catalog(),
    )
    plan = plan_run(request, settings, catalog)
    check_results_writable(targets, plan.run.path)
    with open_store(settings, create=True) as store:
        presenter = RunPresenter(
            store,
            settings.store,
            targets,
            catalog,
            json=output.json,
            verbose=verbose,
            executor=build_executor(on, catalog),
        )
        return presenter.execute(plan)


def run_last_failed_and_show(
    request: RunRequest, output: OutputOptions, results: str | None = None, *, verbose: bool = False
) -> int:
    """Run the tasks that did not pass in the last run of the path, and return the exit code: 0 if there are none."""
    settings = override_settings(load_settings(), store=output.place)
    if isinstance(settings.store, Path) and not settings.store.exists():
        raise build_no_run_error(request.path, settings.store)
    with open_store(settings) as store:
        last = find_last_failed(store, request.path)
    _print_last_failed(last, json=output.json)
    if not last.tasks:
        return 0
    result, _ = run_and_show(replace(request, only=last.tasks), output, results, verbose=verbose)
    return result.exit_code()


def _print_last_failed(last: LastFailed, *, json: bool) -> None:
    count = len(last.tasks)
    if not count:
        message = f"every task of {last.run.id} passed: there is none to run again"
        if json:
            print_json({"run": None, "last": last.run.id, "exit_code": 0, "tasks": [], "warnings": [message]})
        else:
            out().print(f"[quiet]{escape(message)}[/]")
    elif not json:
        tasks = "1 task" if count == 1 else f"{count:,} tasks"
        out().print(f"[quiet]{tasks} of {escape(last.run.id)} did not pass:[/]")
