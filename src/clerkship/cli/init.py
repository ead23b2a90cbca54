"""`clerkship init`: create a project."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.kit.extras import describe_install
from clerkship.service.scaffold import ProjectKind, create_project, find_install_source, list_needed_extras
from clerkship.settings import get_command_prefix


def init(
    folder: Annotated[Path, typer.Argument(help="Folder of the project; created if it does not exist.")] = Path(),
    kind: Annotated[
        ProjectKind | None,
        typer.Option(
            help="What the tasks are about: a FHIR chart, an HL7 interface, a file drop, a payer portal, a payer over "
            "X12, a telephone, a fax line, text messages or a chat. [default: a chat and a file drop]"
        ),
    ] = None,
    install_from: Annotated[
        str | None,
        typer.Option(
            help="What pip installs in CI: an address such as git+https://host/clerkship.git@COMMIT, or a path in the "
            "project. [default: the repository that this installation comes from]",
            metavar="SOURCE",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Create a project with an environment, tasks or conversations, an agent, tests and CI files.

    Existing files are not overwritten.
    """
    source = find_install_source() if install_from is None else install_from
    catalog = build_catalog()
    written, existing = create_project(folder, kind, source, catalog)
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
    extras = [] if kind is None else list_needed_extras(kind, catalog)
    if extras:
        console.print(
            f"[quiet]Its tasks need what is not installed yet: {escape(describe_install(*extras))}[/]", soft_wrap=True
        )
    if not source:
        console.print(
            "[quiet]In CI, set the variable INSTALL_CLERKSHIP_FROM: Clerkship is in no package index. See README.md.[/]"
        )
