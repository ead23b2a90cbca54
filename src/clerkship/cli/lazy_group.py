"""Groups of commands that are imported when one of them is used."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup


def lazy_group(name: str, module: str, help: str) -> typer.Typer:
    """Return a group of commands; `module` has them in `COMMANDS`, and is imported when one is used or listed."""

    class LazyGroup(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return list(self._imported())

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            return self._imported().get(cmd_name)

        def _imported(self) -> Any:
            if not self.commands:
                self.commands = typer.main.get_group(import_module(module).COMMANDS).commands
            return self.commands

    group = typer.Typer(name=name, cls=LazyGroup, help=help, no_args_is_help=True)
    group.callback()(lambda: None)
    return group
