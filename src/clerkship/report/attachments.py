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
    "agent_stack": "stack of the agent when it was stopped",
    "agent_output": "output of the agent",
    "agent_stderr": "standard error of the agent",
}
ATTACHED_FACTS = frozenset(_PLATFORM_FACTS | _AGENT_FACTS)
"""Facts of the sidecar that are shown as attachments."""


def list_attachments(sidecar: Mapping[str, Any]) -> list[Attachment]:
    """Return the attachments in a trial's sidecar, the cause of a failure first."""
    titles = _PLATFORM_FACTS | _AGENT_FACTS
    return [Attachment(title, str(sidecar[name])) for name, title in titles.items() if sidecar.get(name)]
