"""A strategy of attack: a name, what it does, and the agent that does it to one task."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import orjson
from pydantic import JsonValue

from clerkship.actors.contract import NOTHING, Agent, Entry, Message, Said, Say, Start
from clerkship.assertions.contract import Assertion
from clerkship.model.domain import Domain
from clerkship.model.run import IsolationLevel
from clerkship.model.snapshot import Snapshot
from clerkship.sandbox.attack import NO_ATTACK, NOBODY_THERE, SandboxAttack
from clerkship.sandbox.door import Handle, Sandboxes

_WORD = re.compile(r"\w{4,}")
POLITE = "Thank you for your message. Everything is taken care of; I wish you a pleasant day."


@dataclass(frozen=True)
class Knowledge:
    """What attackers know of a suite beside the task they attack."""

    attacks: Mapping[str, SandboxAttack]
    """What can be done in each kind of sandbox."""
    assertion: Callable[[str], type[Assertion]]
    """Finds an assertion by its name."""
    domain: Domain | None = None
    """The slots, actions, responses and flows of the project, if it has a domain."""
    turns: dict[str, int] = field(default_factory=dict)
    """By task, how many turns the reference solution took."""
    unsolved: dict[str, str] = field(default_factory=dict)
    """By task, why its reference solution is no base for an attack."""

    people: list[str] = field(default_factory=list)
    """Patients of the suite's datasets, by name and record number."""

    def note_for(self, snapshot: Snapshot) -> str:
        """A note that names a patient who is not part of the task: one with another name, else with another number."""
        task = snapshot.data.decode()
        known = [[word in task for word in _WORD.findall(one)] for one in self.people]
        strangers = [one for one, words in zip(self.people, known, strict=True) if not any(words)]
        namesakes = [one for one, words in zip(self.people, known, strict=True) if words and not words[-1]]
        return f"Belongs to another patient: {[NOBODY_THERE, *namesakes, *strangers][-1]}."

    def attack(self, kind: str) -> SandboxAttack:
        """What can be done in a kind of sandbox."""
        return self.attacks.get(kind, NO_ATTACK)


class Strategy(ABC):
    """One way to get a task passed that deserves no pass."""

    name: ClassVar[str]
    summary: ClassVar[str]
    advice: ClassVar[str]
    """What to do about a task that it passes."""
    move: ClassVar[str] = ""
    """The method of SandboxAttack that it uses, if any."""
    needs_solution: ClassVar[bool] = False

    def unfit(self, snapshot: Snapshot, knowledge: Knowledge) -> str:
        """Why the task cannot be attacked this way; empty if it can."""
        if self.needs_solution and snapshot.solution is None:
            return "no solution"
        if self.needs_solution and snapshot.task.name in knowledge.unsolved:
            return knowledge.unsolved[snapshot.task.name]
        kinds = sorted({simulator.kind for simulator in snapshot.environment.simulators.values()})
        if not all(self.untouched(knowledge.attack(kind)) for kind in kinds):
            return ""
        return f"no sandbox of the task can be attacked this way ({', '.join(kinds)})"

    def untouched(self, attack: SandboxAttack) -> bool:
        """Whether a kind of sandbox offers nothing to this strategy."""
        return bool(self.move) and getattr(type(attack), self.move) is getattr(SandboxAttack, self.move)

    @abstractmethod
    def agent(self, snapshot: Snapshot, knowledge: Knowledge) -> "AttackAgent":
        """An agent that attacks one task."""


class AttackAgent:
    """An agent of a strategy. Silent in conversation and idle at work, unless a strategy says otherwise."""

    entries: frozenset[Entry] = frozenset({"on_start", "on_turn", "on_task"})
    missed = ""
    """Why what it did was no attack after all; empty if it was one."""

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[Said]:
        """Greet nobody."""
        return []

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[Said]:
        """Say nothing."""
        return []

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Answer null."""
        return None

    def close(self) -> Mapping[str, JsonValue]:
        """Nothing is held."""
        return NOTHING


class SandboxAgent(AttackAgent):
    """Makes one move in every sandbox, once; then says and answers the same thing, whatever it is asked."""

    def __init__(self, move: Callable[[Handle, str], bool], words: str | None, otherwise: str) -> None:
        self._move = move
        self._words = words
        self.missed = otherwise
        self._otherwise = otherwise
        self._moved = False

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[Said]:
        """Make the move in the first turn."""
        self._make(message.text, sandboxes)
        return [] if self._words is None else [Say(self._words)]

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Make the move."""
        self._make(orjson.dumps(task_item).decode(), sandboxes)
        return self._words

    def _make(self, instruction: str, sandboxes: Sandboxes) -> None:
        if self._moved:
            return
        self._moved = True
        done = [self._move(handle, instruction) for handle in sandboxes.values()]
        self.missed = "" if any(done) else self._otherwise


class Attacker:
    """A strategy as a solver: opens an agent for each task, and keeps it to ask what came of it."""

    takes_stubs = True
    isolation: IsolationLevel = "built-in"

    def __init__(self, strategy: Strategy, knowledge: Knowledge) -> None:
        self.name = f"attack:{strategy.name}"
        self._strategy = strategy
        self._knowledge = knowledge
        self._agents: dict[str, AttackAgent] = {}

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """An agent that does nothing: an attack needs the task."""
        return AttackAgent()

    def open_for(self, snapshot: Snapshot, trial: int = 1) -> Agent:
        """The agent that attacks a task."""
        agent = self._agents[snapshot.task.name] = self._strategy.agent(snapshot, self._knowledge)
        return agent

    def missed(self, task: str) -> str:
        """Why the run of a task was no attack; empty if it was one."""
        return self._agents[task].missed if task in self._agents else ""
