"""`clerkship new`: create a task, scenario file, simulator or assertion from a template."""

from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.service.scaffold import ProjectKind
from clerkship.service.scaffold_plugin import create_assertion, create_simulator
from clerkship.service.scaffold_task import create_scenario, create_task
from clerkship.settings import get_command_prefix

PluginName = Annotated[str, typer.Argument(metavar="NAME", help="Your prefix and a name, such as acme.pager.")]
EnvironmentName = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of the environment, if the folder has several.")
]
TargetFolder = Annotated[Path, typer.Option("--in", metavar="FOLDER", help="Target folder.")]


def task(
    name: Annotated[str, typer.Argument(metavar="NAME", help='Name of the task, such as "Refill a prescription".')],
    folder: TargetFolder = Path("practice"),
    environment: EnvironmentName = None,
    kind: Annotated[
        ProjectKind | None,
        typer.Option(
            help="What the task is about, as in `clerkship init`. [default: the first sandbox of the environment for "
            "which there is an example]"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Create a commented task file, and a solution that passes it.

    The task is an example for you to change. It uses the environment of the folder; if there is none, a small one is
    created.

    Example:

        clerkship new task "Call the pharmacy" --kind phone --in practice
    """
    written = create_task(name, folder, build_catalog(), environment, kind)
    _print_written(
        written, [f"{get_command_prefix()} run {quote(str(folder))} --task {quote(name)} --agent oracle"], json=json
    )


def scenario(
    name: Annotated[str, typer.Argument(metavar="NAME", help='Name of the scenario, such as "Where is my order".')],
    folder: TargetFolder = Path("eval/scenarios"),
    environment: EnvironmentName = None,
    json: Json = False,
) -> None:
    """Create a commented scenario file with a scripted person.

    The file says how to let a model play the person instead. Example:

        clerkship new scenario "Where is my order"
    """
    written = create_scenario(name, folder, build_catalog(), environment)
    file = quote(str(written[0]))
    _print_written(
        written,
        [f"{get_command_prefix()} validate {file}", f"{get_command_prefix()} run {file} --agent AGENT"],
        json=json,
    )


def simulator(name: PluginName, folder: TargetFolder = Path(), json: Json = False) -> None:
    """Create a plug-in package with a simulator, a task and tests.

    Every name in it starts with your prefix. Example:

        clerkship new simulator acme.pager
    """
    written = create_simulator(name, folder)
    commands = [
        f"cd {quote(str(_find_package_root(written)))}",
        "pip install -e .",
        f"{get_command_prefix()} run practice --agent oracle",
    ]
    _print_written(written, commands, json=json)


def assertion(name: PluginName, folder: TargetFolder = Path(), json: Json = False) -> None:
    """Create an assertion, in a new package or in the package of the current folder.

    Example:

        clerkship new assertion acme.patient_was_paged
    """
    created = create_assertion(name, folder)
    if json:
        print_json({"written": created.written, "to_do": created.to_do})
        return
    commands = ["pip install -e .", f"{get_command_prefix()} run practice --agent oracle"]
    _print_written(
        created.written,
        [] if created.to_do else [f"cd {quote(str(_find_package_root(created.written)))}", *commands],
        json=False,
    )
    if created.to_do:
        console = out()
        console.print("\n[quiet]Add to your Plugin, and to pyproject.toml if it has no entry point yet:[/]")
        for lines in created.to_do:
            console.print(escape("  " + lines.replace("\n", "\n  ")), soft_wrap=True)


def _find_package_root(written: Iterable[Path]) -> Path:
    return next(path for path in written if path.name == "pyproject.toml").parent


def _print_written(written: list[Path], commands: list[str], *, json: bool) -> None:
    if json:
        print_json({"written": written})
        return
    console = out()
    for path in written:
        console.print(f"[pass]+[/] {escape(str(path))}", soft_wrap=True)
    if commands:
        console.print("\n[quiet]Next:[/]")
    for line in commands:
        console.print(f"  {escape(line)}", soft_wrap=True)
