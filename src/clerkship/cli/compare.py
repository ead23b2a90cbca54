"""`clerkship compare`: what changed from one run to another."""

from enum import StrEnum
from typing import Annotated

import typer

from clerkship.cli.comparison import print_comparison
from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json, StorePath
from clerkship.service.reading import compare_runs, open_store
from clerkship.settings import load_settings


class Gate(StrEnum):
    """What counts as worse."""

    TASK = "task"
    OVERALL = "overall"


def compare(
    before: Annotated[str, typer.Argument(help="Id of a run, the start of one, or `latest~1`: the one before.")],
    after: Annotated[str, typer.Argument(help="The run to hold against it, or `latest`.")] = "latest",
    gate: Annotated[
        Gate, typer.Option(help="What exits 1: any task that got worse, or all of them together, beyond chance.")
    ] = Gate.TASK,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Hold two runs side by side: each task better, worse, the same, or flaky.

    A task whose trials come out differently is called better or worse only if chance alone would hardly do it (Fisher's
    exact test, 5 %). All tasks together are put to a paired test: each task is its own control.

    Exit code: 0 nothing is worse · 1 worse · 2 nothing can be said (no task in common, or trials that broke).

    Example:

        clerkship compare latest~1 latest --gate overall
    """
    with open_store(store or load_settings().store) as kept:
        comparison = compare_runs(kept, before, after)
    code = comparison.exit_code(gate.value)
    if json:
        print_json(comparison.data() | {"exit_code": code})
    else:
        print_comparison(out(), comparison)
    raise typer.Exit(code)
