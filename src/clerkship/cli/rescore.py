"""`clerkship rescore`: new verdicts for stored logs."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from clerkship.cli.catalog import build_catalog
from clerkship.cli.comparison import print_comparison
from clerkship.cli.console import out, print_json, print_notes
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json, RunReference, StoreOption
from clerkship.cli.run_output import print_recording, print_ungraded
from clerkship.cli.verdicts import print_published, print_published_notes
from clerkship.report.published_version import describe_notes
from clerkship.service.comparing import compare_runs
from clerkship.service.rescore import RescoreOptions
from clerkship.service.rescore import rescore as grade_again
from clerkship.settings import load_settings
from clerkship.store.opening import open_store


@grouped
def rescore(
    *,
    run: RunReference = "latest",
    by: Annotated[
        Path | None,
        typer.Option("--by", metavar="PATH", help="Use the criteria of these files."),
    ] = None,
    judging: RescoreOptions,
    store: StoreOption = None,
    json: Json = False,
) -> None:
    """Grade the logs of a stored run again, without running an agent.

    With --by, use the current criteria of these files: edit one, and see the effect at once. Without it, use the run's
    own criteria. The result is a new run, compared with the old one. Criteria that need a model are judged again, by
    the run's judge or by --judge; a replayed run uses its recordings.

    Exit codes: as for `clerkship run`, from the new verdicts.

    Example:

        clerkship rescore latest --by suites/clinic
    """
    settings = load_settings()
    with open_store(settings, store) as opened:
        before = opened.run(run).id
        result = grade_again(opened, before, build_catalog(), by, judging=replace(judging, settings=settings))
        comparison = compare_runs(opened, before, result.run.id)
    print_notes(result.notes)
    if json:
        data = {"run": result.run, "counts": result.counts, "comparison": comparison.data()}
        data |= {"notes": describe_notes(result.run)}
        print_json(data | ({"tape": result.tape} if result.tape is not None else {}))
    else:
        print_published(out(), result.run)
        print_comparison(out(), comparison)
        print_ungraded(out(), result.run, result.counts)
        print_published_notes(out(), result.run)
        print_recording(out(), result.tape)
    raise typer.Exit(result.exit_code())
