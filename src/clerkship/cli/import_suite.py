"""`clerkship import`: benchmarks of others as suites."""

from pathlib import Path
from typing import Annotated

import typer

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json, print_warning
from clerkship.cli.options import Json
from clerkship.model.errors import InputProblem
from clerkship.service.tau2_import import DEFAULT_STEPS, import_tau2
from clerkship.service.tau2_trajectories import replay_trajectories


def tau2(
    checkout: Annotated[Path, typer.Argument(metavar="PATH", help="A checkout of tau2-bench.")],
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder of the new suite.")],
    domain: Annotated[str, typer.Option("--domain", metavar="NAME", help="Domain to convert.")] = "airline",
    max_steps: Annotated[
        int, typer.Option("--max-steps", metavar="N", min=2, help="Limit of steps of tau2; two are one turn.")
    ] = DEFAULT_STEPS,
    trajectories: Annotated[
        Path | None,
        typer.Option("--trajectories", metavar="FILE", help="Results of tau2 to replay over the suite."),
    ] = None,
    json: Json = False,
) -> None:
    """Convert a domain of a tau2-bench checkout to a suite.

    Its tables, policy and tasks are written to the folder, with functions that call the tools of the package `tau2`,
    which runs need. Splits become tags, such as `split-test`. Tasks that name unknown functions are left out with the
    reason. Existing files are not overwritten.

    With --trajectories, nothing is written: the tool calls in a results file of tau2 are replayed over the suite in
    OUT, and the rewards are compared with the recorded ones, except where a judge gives them.

    Exit codes: 0; 1 if a trajectory gets another reward; 2 for invalid input.

    Examples:

        clerkship import tau2 ../tau2-bench suites/airline --domain airline

        clerkship import tau2 ../tau2-bench suites/airline --trajectories results.json
    """
    if trajectories is not None:
        _compare(folder, trajectories, json=json)
    imported = import_tau2(checkout, domain, folder, max_steps)
    if json:
        skipped = [{"task": id, "reason": reason} for id, reason in imported.skipped]
        print_json(
            {"domain": domain, "tasks": imported.tasks, "files": [*map(str, imported.files)], "skipped": skipped}
        )
        return
    for id, reason in imported.skipped:
        print_warning(InputProblem(message=f"task {id} is left out: {reason}"), out())
    out().print(
        f"{imported.tasks} tasks of {domain} in {folder}; check them with `clerkship validate {folder}`", soft_wrap=True
    )


def _compare(folder: Path, results: Path, *, json: bool) -> None:
    """Print the comparison of recorded trajectories, and exit."""
    replayed = replay_trajectories(folder, results, build_catalog())
    others = [each for each in replayed if each.recorded is not None and each.reward != each.recorded]
    compared = sum(each.recorded is not None for each in replayed)
    if json:
        print_json({"trajectories": [each._asdict() for each in replayed]})
    else:
        for each in others:
            out().print(
                f"task {each.task}, trial {each.trial}: {each.reward:g}, recorded {each.recorded:g}", soft_wrap=True
            )
        for each in replayed:
            if each.recorded is None:
                out().print(f"task {each.task}, trial {each.trial}: not compared: {each.reason}", soft_wrap=True)
        out().print(f"{compared - len(others)} of {compared} trajectories get the recorded reward", soft_wrap=True)
    raise typer.Exit(1 if others else 0)
