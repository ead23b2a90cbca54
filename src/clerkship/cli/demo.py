"""`clerkship demo`: a first run."""

import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.console import out
from clerkship.cli.options import StoreOption
from clerkship.cli.report_options import OutputOptions, Report
from clerkship.cli.run_output import get_page_path
from clerkship.cli.running import run_and_show
from clerkship.cli.up import run_playground
from clerkship.service.planning.request import RunRequest
from clerkship.service.up import PlaygroundRequest
from clerkship.settings import get_command_prefix, has_screen, load_settings

SUITE = Path(__file__).parent.parent / "demo"
TASK = "Get an MRI authorized"
TO_TRY = (
    "Open the payer portal in a browser, with the user name and the password below. The line of the payer is "
    "+18005550142 (POST /calls of the phone), its fax number for records +15550100149."
)
CAREFUL = RunRequest(path=SUITE, agent="python:clerkship.demo.agent:Agent")
HASTY = replace(CAREFUL, agent="python:clerkship.demo.agent:HastyAgent", tasks=(TASK,))


def demo(
    *,
    report: Report = None,
    store: StoreOption = None,
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Open the report in a browser.")] = True,
    is_up: Annotated[
        bool, typer.Option("--up", help="Start the playground of the second task instead, to work it by hand.")
    ] = False,
) -> None:
    """Run a conversation and a prior authorization with sample agents, without a key, server or network.

    The authorization goes over a chart, a telephone line, a payer portal and a fax. One agent does all of it; another
    skips the call, so that you see what a failure looks like. Its report opens in a browser if this is a terminal on
    a screen. `--report` writes it to another file.

    Exit codes: 0 the outcomes are as expected, 1 they are not, 2 it could not run.

    Examples:

        clerkship demo

        clerkship demo --up
    """
    if is_up:
        out().print(f"[quiet]{TO_TRY}[/]\n")
        run_playground(PlaygroundRequest(path=SUITE, task=TASK))
        return
    output = OutputOptions(report=report, store=store)
    unexpected: list[str] = []
    for request, expected in ((CAREFUL, "pass"), (HASTY, "fail")):
        result, view = run_and_show(request, output)
        if result.run.status == "cancelled":
            raise typer.Exit(130)
        unexpected += [each.task for each in view.task_runs if each.verdict != expected]
    page = report or get_page_path(output.place or load_settings().store, result.run.id)
    address = f"{page.resolve().as_uri()}#failed"
    _print_next_steps(unexpected, address)
    if opens and out().is_terminal and has_screen():
        webbrowser.open(address)
    raise typer.Exit(1 if unexpected else 0)


def _print_next_steps(unexpected: list[str], address: str) -> None:
    console, command = out(), get_command_prefix()
    console.print()
    if unexpected:
        console.print(f"[fail]not as expected:[/] {escape('; '.join(unexpected))}")
        return
    console.print(
        "The second agent fails on purpose: it does not call the payer. See the failed criterion, and all channels:"
    )
    console.print(f"  {escape(address)}", soft_wrap=True)
    console.print("[quiet]Next:[/]")
    console.print(f"  {command} show latest MRI --events   [quiet]what it did, on every channel[/]")
    console.print(f"  {command} demo --up                  [quiet]work it yourself, in a browser and with curl[/]")
    console.print(f"  {command} init my-practice           [quiet]create your own project[/]")
