"""What an agent is: two entry points, of which it has one or both; and what a person is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import JsonValue

from clerkship.events.event import Event
from clerkship.sandbox.door import Sandboxes

Entry = Literal["on_turn", "on_task"]
NOTHING: Mapping[str, JsonValue] = {}
"""What an agent that holds nothing returns when it is closed."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a person said to the agent."""

    text: str
    turn: int
    sandbox: str
    task_item: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """What an agent says back, where text alone is not enough."""

    text: str
    utter_name: str | None = None
    buttons: tuple[dict[str, Any], ...] = ()
    metadata: dict[str, Any] | None = None

    def fields(self) -> dict[str, Any]:
        """As a conversation takes it."""
        return {
            "text": self.text,
            "utter_name": self.utter_name,
            "buttons": self.buttons,
            "metadata": self.metadata,
        }


class AgentError(Exception):
    """The agent's own failure: it crashed, or answered what cannot be an answer."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class AgentStopped(BaseException):
    """Raised inside an agent whose time is over and that did not stop by itself."""


class Agent(Protocol):
    """One agent in one trial."""

    entries: frozenset[Entry]

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[Say]:
        """A person talks to it. No replies means silence."""
        ...

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """It is given work, and says when it is done."""
        ...

    def close(self) -> Mapping[str, JsonValue]:
        """Let go of everything it holds, from whatever thread; what it returns is kept beside the log.

        Called once, whatever came of the trial. It may take a second, not more, and nothing follows it.
        """
        ...


class Solver(Protocol):
    """The identity of an agent under test: opens a fresh agent for each trial."""

    name: str

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """An agent that remembers nothing, for this repetition of a task.

        `solution` is the task's reference solution, for those who may see it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Speech:
    """What a person does next: says something, leaves, or both."""

    text: str | None = None
    leaves: bool = False
    reason: str = ""


class SimulatedPerson(Protocol):
    """One person in one trial."""

    name: str
    watches: bool
    """Whether events other than what is said to them matter to them."""

    def open(self) -> Speech | None:
        """Their first line, if they begin."""
        ...

    def hear(self, said: str) -> Speech:
        """The agent said something to them."""
        ...

    def notice(self, event: Event) -> Speech | None:
        """Something happened that they may know of."""
        ...
