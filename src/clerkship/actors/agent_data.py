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


def build_conversation_key(sandbox: str, channel: str | None, address: str | None) -> str:
    """Return the key of a conversation."""
    return sandbox if channel is None else f"{sandbox}/{channel}:{address}"


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a person to the agent."""

    text: str
    turn: int
    sandbox: str
    task_item: "Mapping[str, JsonValue] | None" = None
    metadata: "Mapping[str, JsonValue] | None" = None
    """Metadata that is not shown."""
    slots: "Mapping[str, JsonValue]" = field(default_factory=dict)
    """Slots that the scenario set before the conversation."""
    channel: str | None = None
    """`sms`, `email` or `portal`, on a sandbox where people write from an address; None on a chat."""
    address: str | None = None
    """The address of the person on that channel."""
    subject: str | None = None
    """The subject of an e-mail or a patient portal message."""

    @property
    def conversation(self) -> str:
        """The key of the conversation: the name of the sandbox, with channel and address if there are any."""
        return build_conversation_key(self.sandbox, self.channel, self.address)


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a conversation: the initial state that the agent should take over."""

    slots: "Mapping[str, JsonValue]" = field(default_factory=dict)
    task_item: "Mapping[str, JsonValue] | None" = None
    stubs: "Mapping[str, JsonValue]" = field(default_factory=dict)
    """Stubbed actions by name, each with the events and responses to use instead."""
    sandbox: str = ""
    """The sandbox of the conversation."""
    channel: str | None = None
    """`sms`, `email` or `portal`, on a sandbox where people write from an address; None on a chat."""
    address: str | None = None
    """The address of the person on that channel."""

    @property
    def conversation(self) -> str:
        """The key of the conversation: the name of the sandbox, with channel and address if there are any."""
        return build_conversation_key(self.sandbox, self.channel, self.address)


@dataclass(frozen=True, slots=True)
class Say:
    """A reply of an agent, for replies that are more than text."""

    text: str
    utter_name: str | None = None
    buttons: tuple[dict[str, Any], ...] = ()
    metadata: dict[str, Any] | None = None
    custom: dict[str, Any] | None = None

    @property
    def is_blank(self) -> bool:
        """Whether it is empty, which counts as silence."""
        return self.custom is None and not self.buttons and not self.text.strip()

    def fields(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {
            "text": self.text,
            "utter_name": self.utter_name,
            "buttons": self.buttons,
            "metadata": self.metadata,
            "custom": self.custom,
        }


@dataclass(frozen=True, slots=True)
class Turn:
    """A past turn: the person's message, and everything that the agent of that time said and reported."""

    turn: int
    text: str | None
    """None in turn 0, which is what the agent did before the person's first message."""
    metadata: "Mapping[str, JsonValue] | None" = None
    answer: "tuple[Say | Payload, ...]" = ()
    """What `on_turn` returned. Changes in sandboxes are not included."""


@dataclass(frozen=True, slots=True)
class History:
    """A conversation so far, for an agent that continues it without having taken part."""

    turns: tuple[Turn, ...]
    """The turns so far, in order; the next `on_turn` is the one after them."""
    slots: "Mapping[str, JsonValue]" = field(default_factory=dict)
    """The current slots, as far as the log has them."""
    sandbox: str = ""
    """The sandbox of the conversation."""
    task_item: "Mapping[str, JsonValue] | None" = None
    channel: str | None = None
    """`sms`, `email` or `portal`, on a sandbox where people write from an address; None on a chat."""
    address: str | None = None
    """The address of the person on that channel."""

    @property
    def conversation(self) -> str:
        """The key of the conversation: the name of the sandbox, with channel and address if there are any."""
        return build_conversation_key(self.sandbox, self.channel, self.address)


class AgentError(Exception):
    """A failure of the agent: it crashed, or returned an invalid answer."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class AgentStopped(BaseException):
    """Raised inside an agent whose time is over and that did not stop by itself."""
