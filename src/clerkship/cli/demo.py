"""`clerkship demo`: the first thing to try."""

from pathlib import Path

import typer
from rich.markup import escape

from clerkship.cli.console import out
from clerkship.cli.options import Json, StorePath
from clerkship.cli.report_options import OutputOptions, Report
from clerkship.cli.running import run_and_show
from clerkship.service.planning.request import RunRequest
from clerkship.settings import program

SUITE = Path(__file__).parent.parent / "suites" / "demo"
AGENT = "python:clerkship.suites.demo.agent:FrontDesk"
ON_PURPOSE = "fails-on-purpose"


def demo(
    report: Report = None,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Run a small suite with a small agent: no key, no server, no network.

    The agent is a clinic's front desk. It passes all tasks but one: it has a fault, and the suite finds it, so that
    you see what a failure looks like. Exits 0 when the outcomes are the expected ones.
    """
    output = OutputOptions(report=report, store=store, json=json)
    result, view = run_and_show(RunRequest(path=SUITE, agent=AGENT), output)
    surprising = [t.task for t in view.task_runs if t.verdict != ("fail" if ON_PURPOSE in t.tags else "pass")]
    if result.run.status == "cancelled":
        raise typer.Exit(130)
    if not json:
        _say_what_next(surprising)
    raise typer.Exit(1 if surprising else 0)


def _say_what_next(surprising: list[str]) -> None:
    console = out()
    console.print()
    if surprising:
        console.print(f"[fail]not as expected:[/] {escape('; '.join(surprising))}")
        return
    console.print("[quiet]One failure is on purpose: the demo's agent tells a relative what it should not. Next:[/]")
    console.print(f"  {program()} init my-practice   [quiet]a project of your own, with an agent and two tasks[/]")
    console.print(f"  {program()} show latest relative --events   [quiet]all that happened in the task that failed[/]")
