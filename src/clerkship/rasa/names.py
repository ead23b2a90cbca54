"""The keys of Rasa's domains, and the names that every Rasa agent has without listing them."""

from pathlib import Path

import orjson

_NAMES = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())
DOMAIN_KEYS = frozenset[str](_NAMES["domain_keys"])
"""Top-level keys of a domain."""
BUILT_IN_SLOTS: dict[str, str] = _NAMES["slots"]
"""Slots with their types, from the engine and from its default patterns."""
BUILT_IN_ACTIONS = frozenset[str](_NAMES["actions"])
BUILT_IN_RESPONSES = frozenset[str](_NAMES["responses"])
NOTED_EVENTS = frozenset[str](_NAMES["noted_events"])
"""Events of a tracker that are recorded as noted events, because no assertion is about them."""
SESSION_START_MESSAGE = "/session_start"
"""The message that starts a session, as if the user had opened the conversation."""
BUILT_IN_FLOW_PREFIX = "pattern_"
"""The prefix of the engine's own flows."""


def is_built_in(sort: str, name: str) -> bool:
    """Return whether every Rasa agent has an action, a response or a flow of this name."""
    if sort == "flow":
        return name.startswith(BUILT_IN_FLOW_PREFIX)
    return name in BUILT_IN_RESPONSES or (sort == "action" and name in BUILT_IN_ACTIONS)
