"""The ids that a run shows to its agent: they are the same in every run, unlike those that the agent makes up."""

import re
import threading
from collections.abc import Set

from clerkship.events.event import Event
from clerkship.events.lifecycle import AgentStarted, RequestAnswered, RequestRefused
from clerkship.events.log import Log

UUID = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}(?![0-9a-fA-F])")


class ShownIds:
    """The ids in the log that come from the task, its people and its sandboxes."""

    def __init__(self) -> None:
        self._searched = 0
        self._shown: set[str] = set()
        self._sent: set[str] = set()
        """Those that the agent was the first to write."""
        self._lock = threading.Lock()

    def find(self, log: Log) -> Set[str]:
        """Return the ids in the log so far. A sandbox logs what it shows before the agent gets it."""
        with self._lock:
            for event, line in zip(log.events[self._searched :], log.lines[self._searched :], strict=False):
                self._searched += 1
                if event.source in ("models", "agent"):
                    continue
                ids = set(UUID.findall(line.decode()))
                if _is_shown(event):
                    self._shown |= ids - self._sent
                else:
                    self._sent |= ids - self._shown
        return self._shown


def _is_shown(event: Event) -> bool:
    """Return whether an event has only what the run says, or what the agent has read."""
    payload = event.payload
    if event.actor != "agent" or isinstance(payload, AgentStarted):
        return True
    return payload.effect == "none" and not isinstance(payload, RequestRefused | RequestAnswered)
