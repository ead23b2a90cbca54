"""The Python client of tables."""

from typing import Any

from clerkship.sandbox.handle import Handle


class TableFunctions(Handle):
    """Calls the functions of a sandbox of tables, and reads its policy."""

    def functions(self) -> list[dict[str, Any]]:
        """Return the functions: `name`, `description` and `parameters` of each."""
        return self._list("/functions", "functions")

    def policy(self) -> str:
        """Return the text of the policy."""
        return self.request("GET", "/policy").body.decode()

    def call_function(self, name: str, **arguments: Any) -> Any:
        """Call a function and return its result; raise Refused if it refuses."""
        return self._json("POST", f"/functions/{name}", arguments)
