"""The contract of sandboxes with tools for simulated people."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from clerkship.sandbox.state import ActionContext


class PersonTool(NamedTuple):
    """A tool that people may use."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """The JSON Schema of its arguments."""


@runtime_checkable
class PersonToolHost(Protocol):
    """A state that has tools for people."""

    def find_person_tool(self, name: str) -> PersonTool | None:
        """Return a tool; None if there is none of that name."""

    def use_person_tool(self, action: ActionContext, name: str, arguments: Mapping[str, Any]) -> str:
        """Use a tool and return what it shows. Raises Refusal."""
