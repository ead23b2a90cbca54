"""`clerkship init`: a project to start from."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.service.scaffold import create_project as make
from clerkship.settings import program


def init(
    folder: Annotated[Path, typer.Argument(help="Where to; made if it is not there.")] = Path(),
    json: Json = False,
) -> None:
    """Make a project that works: an environment, a conversation and a piece of work, each with its solution, an agent
    that passes them, the same as pytest tests, and files for GitHub Actions and GitLab CI.

    Nothing that exists is overwritten.
    """
    written, kept = make(folder)
    if json:
        print_json({"written": written, "kept": kept})
        return
    console = out()
    for path in written:
        console.print(f"[pass]+[/] {escape(str(path))}")
    for path in kept:
        console.print(f"[quiet]= {escape(str(path))} stays as it is[/]")
    there = f"cd {escape(str(folder))} && " if folder != Path() else ""
    console.print("\n[quiet]Next:[/]")
    console.print(f"  {there}{program(folder)} run practice --agent python:agent:Agent", soft_wrap=True)
