"""`clerkship check`: what a task's criteria say of the playground that is up, so far."""

from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.markup import escape

from clerkship.cli.catalog import registered
from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json, PlaygroundName
from clerkship.cli.outcome_style import styled
from clerkship.cli.verdicts import print_criterion
from clerkship.model.errors import InputError
from clerkship.service.live_check import Answer, Checked, check_now
from clerkship.service.up_registry import find, folder_of
from clerkship.settings import load_settings


def check(
    task: Annotated[
        str | None, typer.Argument(help="A task, by name or by a part of its name; else the one it was started with.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="PATH", help="Take the task from these files. [default: as for up]")
    ] = None,
    answer: Annotated[
        str | None, typer.Option(metavar="JSON", help="What the agent answered, for criteria that ask for it.")
    ] = None,
    name: PlaygroundName = None,
    json: Json = False,
) -> None:
    """Grade what has happened so far in the playground that is up, by the files as they are now.

    Nothing is changed and nothing is kept: go on, edit a criterion, check again. Exit code: 0 passed · 1 not passed ·
    2 something else broke, or no playground is up.

    Examples:

        clerkship check "Move an appointment"

        clerkship check --answer '{"slot": "10:30"}'
    """
    settings = load_settings()
    where = find(folder_of(settings), name)
    checked = check_now(where, settings, registered(), task=task, path=source, answer=_parse(answer))
    if json:
        print_json(_document(checked))
    else:
        _show(checked)
    raise typer.Exit(checked.exit_code())


def _parse(answer: str | None) -> Answer | None:
    if answer is None:
        return None
    try:
        return Answer(orjson.loads(answer))
    except orjson.JSONDecodeError:
        hint = """text goes in quotes of its own: --answer '"done"'"""
        raise InputError.of(f"the answer is not JSON: {answer[:60]}", hint=hint) from None


def _show(checked: Checked) -> None:
    console, score = out(), checked.score.score
    told = "" if score is None else f"  {score:.2f}"
    console.print(f"{styled(checked.outcome)}{told}  [bold]{escape(checked.task)}[/]  [quiet]so far[/]")
    if checked.error:
        console.print(f"  [errored]not the agent's fault:[/] {escape(checked.error)}")
    for criterion in checked.criteria:
        print_criterion(console, criterion)
    for note in checked.notes:
        console.print(f"[partial]note[/] {escape(note)}", soft_wrap=True)
    console.print(f"[quiet]log[/] {checked.events} events, head {checked.head}")


def _document(checked: Checked) -> dict[str, object]:
    score = {name: getattr(checked.score, name) for name in ("verdict", "score", "axes")}
    return vars(checked) | score | {"outcome": checked.outcome, "exit_code": checked.exit_code()}
