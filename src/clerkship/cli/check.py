"""`clerkship check`: grade a playground that is up, with the criteria of a task."""

from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json, PlaygroundName
from clerkship.cli.outcome_style import style_outcome
from clerkship.cli.verdicts import print_criterion
from clerkship.model.errors import InputError
from clerkship.report.outcome import CriteriaCount, split_criteria
from clerkship.service.live_check import LiveCheck, StatedAnswer, check_now
from clerkship.service.up_registry import find_playground, get_registry_folder
from clerkship.settings import load_settings


def check(
    task: Annotated[
        str | None, typer.Argument(help="Name of a task, or part of it. [default: the task of `up`]")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="PATH", help="Files of the task. [default: as for `up`]")
    ] = None,
    answer: Annotated[
        str | None, typer.Option(metavar="JSON", help="The agent's answer, for criteria that check it.")
    ] = None,
    name: PlaygroundName = None,
    json: Json = False,
) -> None:
    """Grade what has happened so far in a playground started with `clerkship up`.

    It uses the current criteria in the files, so you can edit one and check again. It changes and stores nothing.

    Exit codes: 0 passed, 1 not passed, 2 error or no playground is up.

    Examples:

        clerkship check "Move an appointment"

        clerkship check --answer '{"slot": "10:30"}'
    """
    settings = load_settings()
    registration = find_playground(get_registry_folder(settings), name)
    result = check_now(registration, settings, build_catalog(), task=task, path=source, answer=_parse_answer(answer))
    if json:
        print_json(_to_json_data(result))
    else:
        _print_check(result)
    raise typer.Exit(result.exit_code())


def _parse_answer(answer: str | None) -> StatedAnswer | None:
    if answer is None:
        return None
    try:
        return StatedAnswer(orjson.loads(answer))
    except orjson.JSONDecodeError:
        hint = """quote text twice: --answer '"done"'"""
        raise InputError.of(f"the answer is not JSON: {answer[:60]}", hint=hint) from None


def _print_check(result: LiveCheck) -> None:
    console, score = out(), result.score.score
    points = "" if score is None else f"  {score:.2f}"
    console.print(f"{style_outcome(result.outcome)}{points}  [bold]{escape(result.task)}[/]  [quiet]so far[/]")
    if result.error:
        console.print(f"  [errored]platform error:[/] {escape(result.error)}")
    criteria, checks = split_criteria(result.criteria)
    console.print(f"  [quiet]{CriteriaCount.of(criteria).sentence()}[/]")
    for criterion in (*criteria, *checks):
        print_criterion(console, criterion)
    for note in result.notes:
        console.print(f"[partial]note[/] {escape(note)}", soft_wrap=True)
    console.print(f"[quiet]log[/] {result.events} events, SHA-256 {result.head}")


def _to_json_data(result: LiveCheck) -> dict[str, object]:
    score = {name: getattr(result.score, name) for name in ("verdict", "score", "axes")}
    return vars(result) | score | {"outcome": result.outcome, "exit_code": result.exit_code()}
