"""`clerkship init`: create a project."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.service.scaffold import create_project
from clerkship.settings import get_command_prefix


def init(
    folder: Annotated[Path, typer.Argument(help="Folder of the project; created if it does not exist.")] = Path(),
    json: Json = False,
) -> None:
    """Create a project with an environment, a conversation, a task, an agent, tests and CI files.

    Existing files are not overwritten.
    """
    written, existing = create_project(folder, build_catalog())
    if json:
        print_json({"written": written, "kept": existing})
        return
    console = out()
    for path in written:
        console.print(f"[pass]+[/] {escape(str(path))}")
    for path in existing:
        console.print(f"[quiet]= {escape(str(path))} exists, not changed[/]")
    change_folder = f"cd {escape(str(folder))} && " if folder != Path() else ""
    console.print("\n[quiet]Next:[/]")
    console.print(
        f"  {change_folder}{get_command_prefix(folder)} run practice --agent python:agent:Agent", soft_wrap=True
    )
