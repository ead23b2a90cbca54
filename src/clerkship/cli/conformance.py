"""`clerkship conformance`: check that a simulator or domain does what every one must."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from clerkship.cli.catalog import registered
from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.service.conforming import ConformanceOutcome, run_conformance


def conformance(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="A kind of simulator or domain, such as files.")],
    json: Json = False,
) -> None:
    """Run the conformance suite on a simulator or a domain, ours or a plug-in's.

    Exit code: 0 all checks pass · 1 a check fails · 2 unknown kind.

    Example:

        clerkship conformance files
    """
    console = out()
    found: list[ConformanceOutcome] = []
    for outcome in run_conformance(kind, registered()):
        if not json:
            _print(console, outcome, is_repeated=outcome.reason in {before.reason for before in found})
        found.append(outcome)
    failed = [outcome for outcome in found if outcome.reason]
    if json:
        print_json({"kind": kind, "checks": [outcome._asdict() for outcome in found]})
    else:
        console.print(f"\n{len(found) - len(failed)} of {len(found)} checks pass")
    raise typer.Exit(1 if failed else 0)


def _print(console: Console, outcome: ConformanceOutcome, *, is_repeated: bool) -> None:
    mark = "[fail]✗[/]" if outcome.reason else "[pass]✓[/]"
    requests = f" [quiet]({outcome.sent} requests, {outcome.refused} refused)[/]" if outcome.sent else ""
    console.print(f"{mark} {outcome.check}: {escape(outcome.sentence)}{requests}", soft_wrap=True)
    if outcome.reason:
        reason = "the same error as above" if is_repeated else outcome.reason
        console.print(f"    {escape(reason)}", soft_wrap=True)
