"""`clerkship demo`: a first run."""

from pathlib import Path

import typer
from rich.markup import escape

from clerkship.cli.console import out
from clerkship.cli.options import Json, StorePath
from clerkship.cli.report_options import OutputOptions, Report
from clerkship.cli.running import run_and_show
from clerkship.service.planning.request import RunRequest
from clerkship.settings import get_command_prefix

SUITE = Path(__file__).parent.parent / "demo"
DEMO_AGENT = "python:clerkship.demo.agent:FrontDesk"
FAILS_ON_PURPOSE = "fails-on-purpose"


def demo(
    report: Report = None,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Run a small suite with a sample agent, without a key, server or network.

    The agent is the front desk of a clinic. It passes all tasks except one, so that you see what a failure looks like.

    Exit codes: 0 the outcomes are as expected, 1 they are not.
    """
    output = OutputOptions(report=report, store=store, json=json)
    result, view = run_and_show(RunRequest(path=SUITE, agent=DEMO_AGENT), output)
    unexpected = [t.task for t in view.task_runs if t.verdict != ("fail" if FAILS_ON_PURPOSE in t.tags else "pass")]
    if result.run.status == "cancelled":
        raise typer.Exit(130)
    if not json:
        _print_next_steps(unexpected)
    raise typer.Exit(1 if unexpected else 0)


def _print_next_steps(unexpected: list[str]) -> None:
    console = out()
    console.print()
    if unexpected:
        console.print(f"[fail]not as expected:[/] {escape('; '.join(unexpected))}")
        return
    console.print("[quiet]One failure is on purpose: the agent tells a relative about an appointment. Next:[/]")
    console.print(f"  {get_command_prefix()} init my-practice   [quiet]create your own project[/]")
    console.print(
        f"  {get_command_prefix()} show latest relative --events   [quiet]show the events of the failed task[/]"
    )
