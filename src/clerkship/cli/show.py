"""`clerkship show`: a run, or one task of it, with its evidence."""

from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.markup import escape

from clerkship.cli.console import err, out, print_json
from clerkship.cli.options import Json, StorePath
from clerkship.cli.verdicts import print_criterion, print_run
from clerkship.cli.words import ending, verdict
from clerkship.service.reading import RunView, TaskView, open_store, show_run, show_task, write_report
from clerkship.settings import load_settings

MOST_LINES = 40


def show(
    run: Annotated[str, typer.Argument(help="Id of a run, the start of one, or `latest`.")] = "latest",
    task: Annotated[str | None, typer.Argument(help="A task of it, by name or by a part of its name.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only what did not pass.")] = False,
    events: Annotated[bool, typer.Option("--events", help="With a task: its whole log.")] = False,
    trial: Annotated[int, typer.Option(metavar="N", help="With a task: which repetition.", min=1)] = 1,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the run's HTML report there.")] = None,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Show a run that is kept, or one task of it: each criterion, the conversation, the log.

    Examples:

        clerkship show latest --failed

        clerkship show run-20260302-0900 "Move an appointment" --events
    """
    with open_store(store or load_settings().store) as kept:
        if report is not None:
            err().print(f"[quiet]report[/] {escape(str(write_report(kept, run, report)))}", soft_wrap=True)
        if task is not None:
            _show_task(show_task(kept, run, task, trial), events=events, json=json)
        else:
            _show_run(show_run(kept, run, failed=failed), json=json)


def _show_run(view: RunView, *, json: bool) -> None:
    if json:
        print_json({"run": view.run, "counts": view.counts, "tasks": view.task_runs})
        return
    out().print(f"[bold]{escape(view.run.name)}[/]  {view.run.id}  [quiet]agent[/] {escape(view.run.solver)}\n")
    print_run(out(), view.run, view.counts, view.task_runs)


def _show_task(view: TaskView, *, events: bool, json: bool) -> None:
    if json:
        print_json({"task_run": view.task_run, "intact": view.intact, "events": view.events, "sidecar": view.sidecar})
        return
    console, task_run = out(), view.task_run
    score = "" if task_run.score is None else f"  {task_run.score:.2f}"
    console.print(f"{verdict(task_run)}{score}  [bold]{escape(task_run.task)}[/]  [quiet]{ending(task_run)}[/]")
    for name, text in (("not the agent's fault", task_run.error), ("the agent failed", task_run.agent_error)):
        if text:
            console.print(f"  [fail]{name}:[/] {escape(text)}")
    for line in str(view.sidecar.get("agent_traceback", "")).splitlines():
        _print_line(line)
    _print_stderr(str(view.sidecar.get("agent_stderr", "")).splitlines())
    if task_run.answer is not None:
        console.print(f"  [quiet]answer[/] {escape(orjson.dumps(task_run.answer).decode())[:500]}")
    for criterion in task_run.criteria:
        print_criterion(console, criterion)
    if events:
        console.print()
        for event in view.events:
            _print_event(event)
    state = "[pass]intact[/]" if view.intact else "[fail]NOT the log that was graded[/]"
    console.print(f"\n[quiet]log[/] {task_run.events} events, {state}, head {task_run.head}")


def _print_stderr(lines: list[str]) -> None:
    if lines:
        cut = f", last {MOST_LINES} of {len(lines)} lines" if len(lines) > MOST_LINES else ""
        out().print(f"  [quiet]the agent's standard error{cut}[/]")
    for line in lines[-MOST_LINES:]:
        _print_line(line)


def _print_line(line: str) -> None:
    """A line of the agent's; not what would move the cursor."""
    shown = "".join(sign if sign.isprintable() or sign == "\t" else "�" for sign in line)
    out().print(f"    [quiet]{escape(shown)}[/]", soft_wrap=True)


def _print_event(event: dict[str, Any]) -> None:
    because = f" [quiet]because of #{event['cause']}[/]" if event["cause"] else ""
    payload = orjson.dumps(event["payload"] | event.get("blobs", {})).decode()
    text = payload if len(payload) <= 160 else payload[:160] + "…"
    at = event["at"].replace("T", " ").removesuffix("Z")
    out().print(
        f"[quiet]#{event['seq']:<3} {at}[/] [place]{escape(event['source'])}[/] {escape(event['kind'])} "
        f"[quiet]{escape(event['actor'])}[/] {escape(text)}{because}"
    )
