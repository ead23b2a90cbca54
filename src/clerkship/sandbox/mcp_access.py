"""Where an agent calls the sandboxes as tools, over the Model Context Protocol."""

from typing import NamedTuple

SERVER_NAME = "clerkship"
"""The name of the server in the configuration of a client; Claude Code puts it in the names of tools."""
URL_VARIABLE, TOKEN_VARIABLE = "CLERKSHIP_MCP_URL", "CLERKSHIP_MCP_TOKEN"


class McpAddress(NamedTuple):
    """The address of the tools of one trial, and the bearer token that they need."""

    url: str
    token: str


def list_mcp_variables(address: McpAddress | None) -> dict[str, str]:
    """Return the environment variables from which a program reads the address."""
    return {} if address is None else {URL_VARIABLE: address.url, TOKEN_VARIABLE: address.token}
