"""Rasa's project files, and the names that every Rasa agent has without listing them."""

from pathlib import Path

import orjson

_NAMES = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())
DOMAIN_KEYS = frozenset[str](_NAMES["domain_keys"])
"""Top-level keys of a domain."""
_FILE_KEYS = DOMAIN_KEYS | frozenset[str](_NAMES["project_keys"])
"""Top-level keys of all files of a project, including test results and sub-agents."""
_FILE_NAMES = ("credentials", "endpoints", "docker-compose")
BUILT_IN_SLOTS: dict[str, str] = _NAMES["slots"]
"""Slots with their types, from the engine and from its default patterns."""
BUILT_IN_ACTIONS = frozenset[str](_NAMES["actions"])
BUILT_IN_RESPONSES = frozenset[str](_NAMES["responses"])
NOTED_EVENTS = frozenset[str](_NAMES["noted_events"])
"""Events of a tracker that are recorded as noted events, because no assertion is about them."""
BUILT_IN_FLOW_PREFIX = "pattern_"
"""The prefix of the engine's own flows."""


def is_project_file(path: Path, keys: set[str]) -> bool:
    """Return whether a file with these top-level keys, none of them Clerkship's own, belongs to a Rasa project."""
    return path.stem in _FILE_NAMES or (bool(keys) and keys <= _FILE_KEYS)


def is_built_in(sort: str, name: str) -> bool:
    """Return whether every Rasa agent has an action, a response or a flow of this name."""
    if sort == "flow":
        return name.startswith(BUILT_IN_FLOW_PREFIX)
    return name in BUILT_IN_RESPONSES or (sort == "action" and name in BUILT_IN_ACTIONS)
