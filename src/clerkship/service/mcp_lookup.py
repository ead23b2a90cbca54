"""Find the MCP endpoint of a playground that `clerkship up` started."""

from clerkship.model.errors import InputError
from clerkship.sandbox.mcp_access import McpAddress
from clerkship.service.up_registry import RemotePlayground, find_playground, get_registry_folder
from clerkship.settings import load_settings


def find_running_address(name: str | None) -> McpAddress:
    """Return where the tools of the playground with this name are, or of the only one that is up."""
    registration = find_playground(get_registry_folder(load_settings()), name)
    with RemotePlayground(registration.url, registration.token) as remote:
        address = remote.about().get("mcp")
    if address is None:
        raise InputError.of(f"`{registration.name}` has no MCP endpoint", hint="stop it, and start it again")
    return McpAddress(address["url"], address["token"])
