"""`clerkship conformance`: run the conformance suite."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.service.conforming import ConformanceOutcome, run_conformance


def conformance(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Kind of simulator or domain, such as files.")],
    json: Json = False,
) -> None:
    """Run the conformance suite on a simulator or domain.

    Exit codes: 0 all checks pass, 1 a check fails, 2 unknown kind.

    Example:

        clerkship conformance files
    """
    console = out()
    outcomes: list[ConformanceOutcome] = []
    for outcome in run_conformance(kind, build_catalog()):
        if not json:
            _print(console, outcome, is_repeated=outcome.reason in {before.reason for before in outcomes})
        outcomes.append(outcome)
    failed = [outcome for outcome in outcomes if outcome.reason]
    if json:
        print_json({"kind": kind, "checks": [outcome._asdict() for outcome in outcomes]})
    else:
        console.print(f"\n{len(outcomes) - len(failed)} of {len(outcomes)} checks pass")
    raise typer.Exit(1 if failed else 0)


def _print(console: Console, outcome: ConformanceOutcome, *, is_repeated: bool) -> None:
    mark = "[fail]✗[/]" if outcome.reason else "[pass]✓[/]"
    requests = f" [quiet]({outcome.sent} requests, {outcome.refused} refused)[/]" if outcome.sent else ""
    console.print(f"{mark} {outcome.check}: {escape(outcome.sentence)}{requests}", soft_wrap=True)
    if outcome.reason:
        reason = "the same error as above" if is_repeated else outcome.reason
        console.print(f"    {escape(reason)}", soft_wrap=True)
