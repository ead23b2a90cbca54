"""`clerkship mcp`: forward MCP from standard input and output to a trial. It imports only what that takes."""

import sys
from typing import Annotated

import typer

from clerkship.by_name import load
from clerkship.kit.variables import read_variable
from clerkship.mcp.forwarder import BadEndpoint, Forwarder
from clerkship.mcp.stdio import serve_lines
from clerkship.sandbox.mcp_access import TOKEN_VARIABLE, URL_VARIABLE, McpAddress


def mcp(
    name: Annotated[
        str | None, typer.Option(help="The playground, if several are up. [default: the only one]", metavar="NAME")
    ] = None,
) -> None:
    """Offer the tools of a trial to an MCP client that starts servers as programs.

    It forwards each line of standard input to the address in CLERKSHIP_MCP_URL, with the token in CLERKSHIP_MCP_TOKEN,
    and prints the responses. Programs that a run starts have both variables. Without them, it looks for the playground
    that `clerkship up` started in the same folder.

    Exit codes: 0 at the end of the input, 2 if there is no address.

    Examples:

        claude mcp add clerkship -- clerkship mcp
    """
    address = _read_address() if name is None else None
    address = address or load("clerkship.service.mcp_lookup:find_running_address")(name)
    try:
        forwarder = Forwarder(*address)
    except BadEndpoint as error:
        typer.echo(f"{URL_VARIABLE}: {error}", err=True)
        raise typer.Exit(2) from None
    serve_lines(sys.stdin.buffer, sys.stdout.buffer, forwarder.answer)


def _read_address() -> McpAddress | None:
    url, token = read_variable(URL_VARIABLE), read_variable(TOKEN_VARIABLE)
    return McpAddress(url, token) if url else None
