"""The commands of `clerkship dataset`."""

import typer

from clerkship.cli.dataset_generate import generate
from clerkship.cli.dataset_show import show

COMMANDS = typer.Typer(name="dataset")
COMMANDS.command()(show)
COMMANDS.command()(generate)
