"""`clerkship author`: tools for coding assistants that write suites."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from clerkship.kit.stop_signals import replace_stop_handlers
from clerkship.mcp.server import answer_message
from clerkship.mcp.stdio import serve_lines
from clerkship.service.authoring import DEFAULT_TIMEOUT, AuthoringServer

STARTED = """Waits for a coding assistant on standard input, and ends with Ctrl-C. To connect one:

  claude mcp add clerkship -- clerkship author
  codex mcp add clerkship -- clerkship author
"""


def author(
    folder: Annotated[
        Path, typer.Argument(help="Folder in which the commands run.", exists=True, file_okay=False)
    ] = Path(),
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Seconds that a command may take.", min=1)
    ] = DEFAULT_TIMEOUT,
) -> None:
    """Serve tools for writing suites to a coding assistant, over MCP on standard input and output.

    The assistant can read the documentation, validate a suite, run and attack it, compare runs, and have failures
    explained. It writes the files with tools of its own. What it runs has your rights, like a command that you type.

    Examples:

        claude mcp add clerkship -- clerkship author

        codex mcp add clerkship -- clerkship author --timeout 1800
    """
    server = AuthoringServer(folder.resolve(), timeout)
    if sys.stdin.isatty():
        typer.echo(STARTED, err=True)
    with replace_stop_handlers(_exit):
        serve_lines(sys.stdin.buffer, sys.stdout.buffer, lambda line: answer_message(server, line).body)


def _exit(number: int, frame: object) -> None:
    """End the process, and with it the command that it runs."""
    sys.exit(128 + number)
