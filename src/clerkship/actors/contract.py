"""The interfaces of agents, solvers and simulated people."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

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

if TYPE_CHECKING:
    from clerkship.sandbox.model_access import ModelAddress
    from clerkship.sandbox.person_tools import PersonTool
    from clerkship.sandbox.trace_access import TraceAddress

NO_FACTS: Mapping[str, JsonValue] = {}
"""The result of `close` for an agent without facts to store."""


ReplyPart = Say | Payload
"""A part of an agent's reply to a turn: a message, or an event that it reports, in order."""


class Agent(Protocol):
    """One agent in one trial."""

    entries: frozenset[EntryPointName]

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Reply to a message of a person. An empty reply means silence."""

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Do a task, and return the answer."""

    def close(self) -> Mapping[str, JsonValue]:
        """Release all resources, from any thread; the returned facts are stored beside the log.

        Called once and last, whatever the outcome of the trial. It may take a second at most.
        """


@runtime_checkable
class AgentProgram(Protocol):
    """An agent that is a program on this machine."""

    def program_seconds(self) -> float | None:
        """Return the processor time it has used; None before it starts, or if the system does not provide it."""


@runtime_checkable
class AgentWithEnd(Protocol):
    """An agent that can fail after its last reply."""

    async def check_end(self) -> None:
        """Raise AgentError if it failed after its answer, or after its last reply in a conversation."""


class AgentWithStart(Protocol):
    """An agent with `on_start` among its entry points."""

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Prepare for a conversation. A reply is a greeting, sent before the person's first message."""


class AgentWithHistory(Protocol):
    """An agent with `on_history` among its entry points: it can continue a conversation that it did not have."""

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Take over a conversation. Called after `on_start`, if the agent has it; replies are not sent."""


class Solver(Protocol):
    """The identity of an agent under test; opens a new agent for each trial.

    Optional attributes:

    - `takes_stubs = False`: its agents have `on_start` and cannot stub actions.
    - `takes_solution = True`: it runs the task's reference solution, which is loaded and stored for no other solver.
    - `isolation`: how its agents are isolated, if they are not programs; `trusted` if it is missing.
    - `single_conversation = True`: its agents can hold only one conversation, so one is opened for each person.
    - `agent_process = True`: its agents are Python code in a process of their own.
    - `uses_protocols = True`: its agents are code of the user, which may use any protocol of a sandbox.
    - `model_account`: where the model is reached that is the agent, and with which key.
    - `needs_no_key_in_replay = True`: its preflight checks only that it has a key, which a replay does not need.
    - `time_limit`: the seconds that its agents have for a task and for a reply, instead of the limits of the files.
    - `watch`: called with the playground of each trial before its agent is opened.
    - `host`: the host of an agent behind an address: sandboxes that other machines can reach may call it.
    - `bot_format`: how its requests are built, as a run stores it, if it is a bot over HTTP with a format of its own.
    """

    name: str

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Return a new agent without memory, for one trial of a task.

        `solution` is the task's reference solution, for solvers with `takes_solution`; None for others.
        """


@runtime_checkable
class SolverWithSnapshot(Protocol):
    """A solver whose agents see the whole task, including its criteria: attackers, never an agent under test."""

    def open_for(self, snapshot: Snapshot, trial: int = 1) -> Agent:
        """Return a new agent for one trial of a task."""


class SolverWithModels(Protocol):
    """A solver with `agent_process`, whose agents read addresses when their process starts."""

    def open_with(self, models: "Mapping[str, ModelAddress]", traces: "TraceAddress | None") -> Agent:
        """Return a new agent for one trial."""


def takes_solution(solver: Solver) -> bool:
    """Return whether a solver needs the reference solutions of tasks."""
    return getattr(solver, "takes_solution", False) or isinstance(solver, SolverWithSnapshot)


@runtime_checkable
class SolverWithCapabilities(Protocol):
    """A solver that can tell before a run what its agent knows and which events it reports."""

    def capabilities(self) -> AgentCapabilities:
        """Return the capabilities; raise InputError if they cannot be read."""


@runtime_checkable
class SolverWithPreflight(Protocol):
    """A solver that can check before a run that its agent can be reached."""

    def preflight(self) -> None:
        """Check within a few seconds, without giving the agent work; raise InputError if it cannot be reached."""


@runtime_checkable
class SolverWithProbe(Protocol):
    """A solver that can try out its agent before a run."""

    def probe(self) -> str:
        """Give the agent a tiny piece of work; return what it cannot do, or empty text."""


@dataclass(slots=True)
class AgentReply:
    """What a person hears and sees of one turn of the agent."""

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
    paused: int | None = None
    """The number of the pause that they began, instead of saying something."""
    cause: Event | None = None
    """What they reacted to, if it is recorded."""


@dataclass(frozen=True, slots=True)
class ContractBreach:
    """The rule that the model playing a person broke, and did not correct."""

    rule: str
    reason: str
    would_have_said: str


@dataclass(slots=True)
class PersonAction:
    """The next action of a person: send a message, leave, or both; possibly after a pause, possibly with more to
    follow.
    """

    text: str | None = None
    leaves: bool = False
    reason: str = ""
    metadata: Mapping[str, JsonValue] | None = None
    """Metadata of the message that is not shown."""
    detail: str = ""
    """For a person who leaves: what they could not do."""
    after: timedelta | None = None
    """The pause before it."""
    more: "Callable[[], PersonAction | None] | None" = None
    """Returns the action that follows at once, without a reply in between."""
    last: bool = False
    """Whether the person leaves after the reply to this."""
    made_up: tuple[str, ...] = ()
    """Facts in the text that the model made up, as written."""
    out_of_role: ContractBreach | None = None
    """Set if the model broke the person's contract: nothing is sent, and the conversation ends."""


PersonStep = Callable[[], PersonAction | None]
"""Returns what a person does next."""


NO_PERSON_HINT = "give --person, such as openai:gpt-5.1, or set CLERKSHIP_PERSON; or give them `lines`"


class PersonTools(Protocol):
    """The tools of one person in one trial."""

    @property
    def definitions(self) -> "Sequence[PersonTool]":
        """What each tool does."""

    @property
    def uses(self) -> Sequence[Event]:
        """How they used them, as events; grows during the trial."""

    def use(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Use a tool; return what it shows, or why it is refused."""


class PersonUnavailable(PlatformError):
    """The model that plays a person cannot be reached or gives no answer. The agent is not at fault: the run is
    errored.
    """


class SimulatedPerson(Protocol):
    """One person in one trial."""

    name: str
    watches: bool
    """Whether they respond to events other than messages."""
    uses_model: bool
    """Whether a model plays them, which takes time and may raise PersonUnavailable."""
    leaving: bool
    """Whether they have said goodbye and only wait for the reply."""
    subject: str | None
    """The subject of the first e-mail or patient portal message that they write."""
    answers_after: timedelta | None
    """How long they take to read and answer a message, in simulated time; None if they answer at once."""
    greeting: str | None
    """What they say when they first answer the phone; None for a usual greeting."""
    tools: tuple[str, ...]
    """The names of the tools that they may use."""

    def take_tools(self, tools: PersonTools) -> None:
        """Take the tools that they may use."""

    def join(self, messages: Sequence[Event]) -> None:
        """Join the conversation; `messages` grows with everything that is said in it."""

    def open(self) -> PersonAction | None:
        """Return the first message, if the person starts the conversation."""

    def hear(self, reply: AgentReply) -> PersonAction:
        """Respond to a reply of the agent."""

    def wait(self) -> PersonAction | None:
        """Respond to silence of the agent; None if the person leaves."""

    def notice(self, event: Event) -> PersonAction | None:
        """Respond to an event; None if it does not concern the person."""

    def recall(self, past: Sequence[PastPersonTurn], uses: Sequence[Event] = ()) -> Mapping[int, PersonStep]:
        """Restore the state after an earlier conversation, and wait for the next reply. Replaces `open`.

        `uses` are the events of the tools that they used.

        Returns what they do after each pause, by its number, for the pauses that are not over.
        """
