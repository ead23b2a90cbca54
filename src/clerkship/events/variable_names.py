"""Names of variables in log lines: the log has `${NAME}`, the events in memory have the value."""

from collections.abc import Mapping
from typing import Any

from clerkship.events.event import Event, map_texts
from clerkship.events.lifecycle import AgentStarted
from clerkship.model.redaction import MIN_SECRET_LENGTH
from clerkship.model.variables import join_escaped

_AUTHORED = ("person", "scenario", "run")
"""Actors whose events contain what an author wrote. The agent's words are evidence, and are not changed."""


class VariableNames:
    """Replaces the values of variables by their names; `expand_text` reverses it."""

    def __init__(self, values: Mapping[str, str]) -> None:
        known = {value: name for name, value in sorted(values.items(), reverse=True) if len(value) >= MIN_SECRET_LENGTH}
        self.names = dict(sorted(known.items(), key=lambda item: -len(item[0])))
        """Names by value; empty if no value is long enough to be recognized."""

    def payload(self, event: Event) -> dict[str, Any] | None:
        """Return the payload of an event with names for values; None if there is nothing to replace."""
        if not self.names or not (event.actor in _AUTHORED or isinstance(event.payload, AgentStarted)):
            return None
        found = False

        def search(text: str) -> str:
            nonlocal found
            found = found or any(value in text for value in self.names)
            return text

        map_texts(event.payload.__dict__, search)
        return map_texts(event.payload.__dict__, self._replace_values) if found else None

    def _replace_values(self, text: str) -> str:
        parts = [text]
        for value, name in self.names.items():
            parts = [
                piece
                for place, part in enumerate(parts)
                for piece in (_split_at_value(part, value, f"${{{name}}}") if place % 2 == 0 else [part])
            ]
        return join_escaped(["", *parts, ""])


NO_NAMES = VariableNames({})


def _split_at_value(text: str, value: str, name: str) -> list[str]:
    """Split a text at a value, with the name between the parts."""
    first, *rest = text.split(value)
    return [first, *(piece for part in rest for piece in (name, part))]
