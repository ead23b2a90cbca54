"""Further information about a failure: tracebacks, the stack of a hung agent, its output."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Attachment(NamedTuple):
    """A text that explains a failure, with a title."""

    title: str
    text: str


_PLATFORM_FACTS = {"platform_traceback": "traceback of the platform error"}
_AGENT_FACTS = {
    "agent_traceback": "traceback of the agent",
    "agent_stack": "where the agent was when it was stopped",
    "agent_output": "what the agent printed",
    "agent_stderr": "the agent's standard error",
}
ATTACHED_FACTS = frozenset(_PLATFORM_FACTS | _AGENT_FACTS)
"""Names of the sidecar's facts that are shown this way."""


def list_attachments(sidecar: Mapping[str, Any]) -> list[Attachment]:
    """Return the attachments in a trial's sidecar, the cause of a failure first."""
    titles = _PLATFORM_FACTS | _AGENT_FACTS
    return [Attachment(title, str(sidecar[name])) for name, title in titles.items() if sidecar.get(name)]
