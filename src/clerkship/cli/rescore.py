"""`clerkship rescore`: new verdicts over logs that are kept."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from clerkship.cli.catalog import registered
from clerkship.cli.comparison import print_comparison
from clerkship.cli.console import out, print_json, print_notes
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json, RunReference, StorePath
from clerkship.cli.shown import print_recording, say_ungraded
from clerkship.service.comparing import compare_runs
from clerkship.service.rescore import Rejudging
from clerkship.service.rescore import rescore as grade_again
from clerkship.service.store_access import open_store
from clerkship.settings import load_settings


@grouped
def rescore(
    *,
    run: RunReference = "latest",
    by: Annotated[
        Path | None,
        typer.Option("--by", metavar="PATH", help="Take the criteria from these files, as they are now."),
    ] = None,
    judging: Rejudging,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Grade a run again over the logs that are kept, without running anything.

    With --by, by the criteria as the files have them now: edit one, and see at once what it would have said. Without
    it, by the run's own criteria, for when Clerkship grades in a new way. The new verdicts are a run of their own: both
    are kept, and shown side by side. What a model judges is judged anew: by the run's own judge, or by another with
    --judge. A run that was replayed is judged from its recordings again. Exit code: as for `run`, of the new verdicts.

    Example:

        clerkship rescore latest --by suites/clinic
    """
    settings = load_settings()
    with open_store(settings, store) as kept:
        before = kept.run(run).id
        result = grade_again(kept, before, registered(), by, judging=replace(judging, settings=settings))
        comparison = compare_runs(kept, before, result.run.id)
    print_notes(result.notes)
    if json:
        told = {"run": result.run, "counts": result.counts, "comparison": comparison.data()}
        print_json(told | ({"tape": result.tape} if result.tape is not None else {}))
    else:
        print_comparison(out(), comparison)
        say_ungraded(out(), result.run, result.counts)
        print_recording(out(), result.tape)
    raise typer.Exit(result.exit_code())
