"""How clients of MCP are configured for an endpoint, ready to paste."""

import shlex

import orjson

from clerkship.sandbox.mcp_access import SERVER_NAME, TOKEN_VARIABLE, McpAddress


def describe_clients(address: McpAddress, command: str = "clerkship") -> dict[str, str]:
    """Return how each client is told about an endpoint. `command` is how this program is started."""
    url, bearer = address.url, f"Bearer {address.token}"
    claude = ["claude", "mcp", "add", "--transport", "http", SERVER_NAME, url, "--header", f"Authorization: {bearer}"]
    server = f"mcp_servers.{SERVER_NAME}"
    codex = ["codex", "-c", f'{server}.url="{url}"', "-c", f'{server}.bearer_token_env_var="{TOKEN_VARIABLE}"']
    entry = {"url": url, "headers": {"Authorization": bearer}}
    langchain = orjson.dumps({SERVER_NAME: {"transport": "streamable_http", **entry}}).decode()
    return {
        "Claude Code": shlex.join(claude),
        "Codex": shlex.join(codex),
        "LangChain": f"MultiServerMCPClient({langchain})",
        "other clients": orjson.dumps({"mcpServers": {SERVER_NAME: {"type": "http", **entry}}}).decode(),
        "stdio": f"{command} mcp",
    }
