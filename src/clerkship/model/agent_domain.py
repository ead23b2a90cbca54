"""What is known about an agent: its slots with their types, its actions, responses and flows, and its engine."""

from typing import Annotated

from pydantic import Field, JsonValue

from clerkship.model.frozen import Frozen


class AgentDomain(Frozen):
    """The names that an agent has. A field is None if they are unknown; then nothing is checked against it."""

    source: Annotated[str, Field(description="file or address it was read from, for messages")]
    slots: dict[str, str] = {}
    """Types by name: text, bool, float, list, categorical, any."""
    choices: Annotated[dict[str, tuple[JsonValue, ...]], Field(description="the values of categorical slots")] = {}
    controlled: Annotated[frozenset[str], Field(description="slots that the assistant fills without the user")] = (
        frozenset()
    )
    actions: frozenset[str] | None = None
    responses: frozenset[str] | None = None
    flows: frozenset[str] | None = None


class AgentCapabilities(Frozen):
    """What a connected agent reports about itself."""

    engine: str
    domain: AgentDomain | None = None
    emits: frozenset[str] | None = None
    """The kinds of agent event that its engine can report; None if unknown."""


CATEGORICAL_TYPES = ("categorical", "strict_categorical")
"""Types of slots that have a list of values."""
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "categorical": (str,),
    "strict_categorical": (str,),
    "bool": (bool,),
    "float": (int, float),
    "list": (list,),
}
_TYPE_NAMES = {"text": "text", "bool": "true or false", "float": "a number", "list": "a list"}


def describe_slot_mismatch(value: JsonValue, slot_type: str) -> str:
    """Return what a slot of this type expects, if the value does not fit; an empty string if it fits.

    `null` fits every slot.
    """
    expected_types = _PYTHON_TYPES.get(slot_type)
    if value is None or expected_types is None:
        return ""
    if isinstance(value, expected_types) and not (slot_type == "float" and isinstance(value, bool)):
        return ""
    return _TYPE_NAMES.get(slot_type, "text")


_EVENT_FAMILIES = {
    "flow": "flows",
    "slot": "slots",
    "action": "actions",
    "clarification": "clarifications",
    "skill": "skills",
    "block": "ordered blocks",
    "memory": "memory",
    "tool": "tool calls",
}


def event_family(kind: str) -> str:
    """Return what an agent event is about, as a plural: `flows` for `agent.flow.started`; empty for other kinds."""
    source, _, rest = kind.partition(".")
    return _EVENT_FAMILIES.get(rest.partition(".")[0], "") if source == "agent" else ""
