"""`clerkship export`: stored runs for analysts and other harnesses."""

from typing import Annotated

import typer

from clerkship.by_name import load
from clerkship.cli.console import err, print_report_paths, warn_unset
from clerkship.cli.groups import grouped
from clerkship.cli.options import StoreOption
from clerkship.cli.report_options import ExportOptions
from clerkship.model.errors import InputError
from clerkship.service.redacting import find_unset_variables
from clerkship.service.report_targets import STDOUT, ReportTargets, check_writable
from clerkship.settings import load_settings
from clerkship.store.opening import open_store


@grouped
def export(
    *,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUNS", help="Ids of runs or their starts, or `latest~1`. [default: latest]"),
    ] = None,
    formats: ExportOptions,
    store: StoreOption = None,
) -> None:
    """Export stored runs: results as CSV, trajectories in ATIF, or logs of Inspect.

    The CSV has the trials of all runs in one file; `-` writes it to standard output. ATIF has a folder for each run
    and a file for each trial, Inspect a file for each run. Values of environment variables are redacted, as in
    reports.

    Exit codes: 0, or 2 if something could not be written, or a run was changed after it was saved and is left out.

    Examples:

        clerkship export latest latest~1 --csv results.csv

        clerkship export latest --atif trajectories --inspect logs
    """
    targets = formats.exports()
    if not targets.paths():
        raise InputError.of("nothing to export", hint="give --csv FILE, --atif DIR or --inspect DIR")
    check_writable(ReportTargets(exports=targets))
    with open_store(load_settings(), store) as opened:
        references = runs or ["latest"]
        for reference in references:
            warn_unset(find_unset_variables(opened, opened.run(reference)))
        load("clerkship.service.exports:export_runs")(opened, references, targets)
    print_report_paths(err(), {sort: target for sort, target in targets.paths().items() if target != STDOUT})
