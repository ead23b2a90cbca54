"""`clerkship dataset`: look into datasets, and make them up."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup


class DatasetGroup(TyperGroup):
    """The group, with its commands imported when one is asked for: they need all of FHIR, and other commands do not."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self._imported())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command."""
        return self._imported().get(cmd_name)

    def _imported(self) -> Any:
        if not self.commands:
            self.commands = typer.main.get_group(import_module("clerkship.cli.dataset_commands").COMMANDS).commands
        return self.commands


dataset = typer.Typer(
    name="dataset", cls=DatasetGroup, help="Look into datasets, and make them up.", no_args_is_help=True
)


@dataset.callback()
def group() -> None:
    """Look into datasets, and make them up."""
