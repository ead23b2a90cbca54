"""What an agent is: entry points, of which it has some; and what a person is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, runtime_checkable

from pydantic import JsonValue

from clerkship.actors.agent_data import AgentError as AgentError
from clerkship.actors.agent_data import AgentStopped as AgentStopped
from clerkship.actors.agent_data import EntryPointName as EntryPointName
from clerkship.actors.agent_data import History as History
from clerkship.actors.agent_data import Message as Message
from clerkship.actors.agent_data import Say as Say
from clerkship.actors.agent_data import Start as Start
from clerkship.actors.agent_data import Turn as Turn
from clerkship.events.event import Event, Payload
from clerkship.model.agent_domain import AgentCapabilities
from clerkship.model.errors import PlatformError
from clerkship.model.snapshot import Snapshot
from clerkship.sandbox.handle import Sandboxes

NO_FACTS: Mapping[str, JsonValue] = {}
"""What an agent that holds nothing returns when it is closed."""


ReplyPart = Say | Payload
"""Part of what an agent gives back for a turn: something it says, or something it did, in the order it happened."""


class Agent(Protocol):
    """One agent in one trial."""

    entries: frozenset[EntryPointName]

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """A person talks to it. Nothing said means silence."""
        ...

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """It is given work, and says when it is done."""
        ...

    def close(self) -> Mapping[str, JsonValue]:
        """Let go of everything it holds, from whatever thread; what it returns is kept beside the log.

        Called once, whatever came of the trial. It may take a second, not more, and nothing follows it.
        """
        ...


@runtime_checkable
class AgentProgram(Protocol):
    """An agent that is a program of its own on this machine."""

    def program_seconds(self) -> float | None:
        """Return the processor time it has used; None before it is started, or where the system does not say."""
        ...


class AgentWithStart(Protocol):
    """An agent with `on_start` among its entries: it is told when a conversation is about to begin."""

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Get ready. What it says to that is its greeting, said before the person's first line."""
        ...


class AgentWithHistory(Protocol):
    """An agent with `on_history` among its entries: it can go on with a conversation it has not had."""

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Take it for its own past. Comes after `on_start`, if it has that; what it does here reaches nobody."""
        ...


class Solver(Protocol):
    """The identity of an agent under test: opens a fresh agent for each trial.

    One whose agents have `on_start` and cannot leave actions out says so by `takes_stubs = False`. One that runs the
    task's reference solution says so by `takes_solution = True`; it is loaded and stored for no other. `isolation` says
    how its agents are isolated, if they are no programs; `trusted` if it is missing. One whose agents can hold only one
    conversation says so by `single_conversation = True`: where there are several people, an agent is opened for each.
    """

    name: str

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """An agent that remembers nothing, for this repetition of a task.

        `solution` is the task's reference solution, for solvers with `takes_solution`; None for others.
        """
        ...


@runtime_checkable
class SolverWithSnapshot(Protocol):
    """A solver whose agents may see the whole task, criteria included: attackers, never an agent under test."""

    def open_for(self, snapshot: Snapshot, trial: int = 1) -> Agent:
        """A fresh agent for this repetition of this task."""
        ...


def takes_solution(solver: Solver) -> bool:
    """Tell whether a solver needs the tasks' reference solutions."""
    return getattr(solver, "takes_solution", False) or isinstance(solver, SolverWithSnapshot)


@runtime_checkable
class SolverWithCapabilities(Protocol):
    """A solver that can say, before anything runs, what its agent knows and which of its own events it reports."""

    def capabilities(self) -> AgentCapabilities:
        """Ask it; raises InputError where it cannot be asked."""
        ...


@runtime_checkable
class SolverWithPreflight(Protocol):
    """A solver that can check, before anything runs, that its agent can be reached."""

    def preflight(self) -> None:
        """Check it within a few seconds and without giving the agent work; raises InputError if it cannot be."""
        ...


@dataclass(frozen=True, slots=True)
class AgentReply:
    """What a person gets to hear and see of one turn."""

    text: str
    buttons: tuple[Mapping[str, Any], ...] = ()
    custom: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class PastPersonTurn:
    """A turn of a conversation that was had before: what the person said, and all that they heard upon it."""

    said: str | None
    """Nothing where the agent spoke first."""
    heard: AgentReply | None
    """Nothing where the agent was silent, or has not answered yet."""
    noticed: tuple[Event, ...] = ()
    """All that happened from then to their next line, for those who watch."""


@dataclass(frozen=True, slots=True)
class ContractBreach:
    """How the one who plays a person broke the person's contract, and would not mend it."""

    rule: str
    reason: str
    would_have_said: str


@dataclass(frozen=True, slots=True)
class PersonAction:
    """What a person does next: says something, leaves, or both; maybe after a while, maybe with more to come."""

    text: str | None = None
    leaves: bool = False
    reason: str = ""
    metadata: Mapping[str, JsonValue] | None = None
    """Sent along with what is said, unseen."""
    detail: str = ""
    """Of one who leaves: what they would have done, and could not."""
    after: timedelta | None = None
    """How long they are silent first."""
    more: "Callable[[], PersonAction | None] | None" = None
    """What they go on with at once, decided when this is done: nobody answers in between."""
    last: bool = False
    """Whether they leave once this is answered."""
    out_of_role: ContractBreach | None = None
    """Nothing of this is said: whoever plays them does not keep to the role, and the conversation ends."""


class PersonUnavailable(PlatformError):
    """Whoever plays a person cannot be asked, or gives no answer. Not the agent's doing: the run is errored."""


class SimulatedPerson(Protocol):
    """One person in one trial."""

    name: str
    watches: bool
    """Whether events other than what is said to them matter to them."""
    uses_model: bool
    """Whether it takes them time to find words: somebody else is asked for them. They may raise Unplayed."""
    leaving: bool
    """Whether they have said goodbye, and only wait for the answer."""

    def join(self, messages: Sequence[Event]) -> None:
        """They are there; all that is said in their conversation, by whomever, will stand in here."""
        ...

    def open(self) -> PersonAction | None:
        """Their first line, if they begin."""
        ...

    def hear(self, said: AgentReply) -> PersonAction:
        """The agent said something to them."""
        ...

    def wait(self) -> PersonAction | None:
        """The agent said nothing to them; None if they go."""
        ...

    def notice(self, event: Event) -> PersonAction | None:
        """Something happened that they may know of."""
        ...

    def recall(self, past: Sequence[PastPersonTurn]) -> None:
        """They have had this conversation so far, and wait for the answer to what they said last. Instead of `open`."""
        ...
