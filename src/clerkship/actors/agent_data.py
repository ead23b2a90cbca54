"""The data that passes between the platform and an agent written in Python.

An agent's own process imports this module before anything else, so it needs nothing but the standard library.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pydantic import JsonValue

    from clerkship.events.event import Payload

EntryPointName = Literal["on_start", "on_history", "on_turn", "on_task"]


@dataclass(frozen=True, slots=True)
class Message:
    """What a person said to the agent."""

    text: str
    turn: int
    sandbox: str
    task_item: "Mapping[str, JsonValue] | None" = None
    metadata: "Mapping[str, JsonValue] | None" = None
    """What was sent along with it, unseen."""
    slots: "Mapping[str, JsonValue]" = field(default_factory=dict)
    """What the scenario has set before the conversation began."""


@dataclass(frozen=True, slots=True)
class Start:
    """A conversation is about to begin: what its agent shall hold true from the start."""

    slots: "Mapping[str, JsonValue]" = field(default_factory=dict)
    task_item: "Mapping[str, JsonValue] | None" = None
    stubs: "Mapping[str, JsonValue]" = field(default_factory=dict)
    """Actions of the agent that are not to be run, by name, each with the events and responses to use instead."""
    sandbox: str = ""
    """Where the conversation takes place."""


@dataclass(frozen=True, slots=True)
class Say:
    """What an agent says back, where text alone is not enough."""

    text: str
    utter_name: str | None = None
    buttons: tuple[dict[str, Any], ...] = ()
    metadata: dict[str, Any] | None = None
    custom: dict[str, Any] | None = None

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing in it: that is silence."""
        return self.custom is None and not self.buttons and not self.text.strip()

    def fields(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that was had before: what the person said, and all that the agent of that time said and did upon it."""

    turn: int
    text: str | None
    """Nothing in turn 0, which is what the agent did before the person's first line."""
    metadata: "Mapping[str, JsonValue] | None" = None
    answer: "tuple[Say | Payload, ...]" = ()
    """As `on_turn` returned it. What was done in sandboxes is not in here, but in them."""


@dataclass(frozen=True, slots=True)
class History:
    """A conversation so far, for an agent that goes on with it and was not there."""

    turns: tuple[Turn, ...]
    """Those that have been had, in order; the next `on_turn` brings the one after them."""
    slots: "Mapping[str, JsonValue]" = field(default_factory=dict)
    """As they stand, as far as the log tells."""
    sandbox: str = ""
    """Where it is had."""
    task_item: "Mapping[str, JsonValue] | None" = None


class AgentError(Exception):
    """The agent's own failure: it crashed, or answered what cannot be an answer."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class AgentStopped(BaseException):
    """Raised inside an agent whose time is over and that did not stop by itself."""
