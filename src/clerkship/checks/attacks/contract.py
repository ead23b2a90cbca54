"""The contract of attack strategies, and the agent that runs a strategy against one task.

See docs/decisions/0007-outcomes-and-grading.md.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import orjson
from pydantic import JsonValue

from clerkship.actors.contract import NO_FACTS, Agent, EntryPointName, Message, ReplyPart, Say, Start
from clerkship.model.agent_domain import AgentDomain
from clerkship.model.run import IsolationLevel, TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.sandbox.assertion import Assertion
from clerkship.sandbox.attack import NO_ATTACK, UNKNOWN_PATIENT, SandboxAttack
from clerkship.sandbox.handle import Sandboxes

_WORD = re.compile(r"\w{4,}")
PASSES = "it passes"
"""Why the result of an agent that must not pass is unexpected."""
POLITE_REPLY = "Thank you for your message. Everything is taken care of; I wish you a pleasant day."


@dataclass(frozen=True)
class AttackKnowledge:
    """What attackers know about a suite besides the task that they attack."""

    attacks: Mapping[str, SandboxAttack]
    """The attack on each kind of sandbox."""
    assertion: Callable[[str], type[Assertion]]
    """Finds an assertion by its name."""
    domain: AgentDomain | None = None
    """The slots, actions, responses and flows of the project, if it has a domain."""
    has_judge: bool = True
    """Whether criteria that only a model can judge are judged."""
    turns: dict[str, int] = field(default_factory=dict)
    """The number of turns of the reference solution, by task."""
    unsolved: dict[str, str] = field(default_factory=dict)
    """Why the reference solution cannot be the base of an attack, by task."""

    people: list[str] = field(default_factory=list)
    """The name and record number of each patient in the suite's datasets."""

    def note_for(self, snapshot: Snapshot) -> str:
        """Return a note about a patient who is not part of the task.

        A patient with another name is preferred to one with only another number.
        """
        task = snapshot.data.decode()
        is_known = [[word in task for word in _WORD.findall(person)] for person in self.people]
        strangers = [person for person, words in zip(self.people, is_known, strict=True) if not any(words)]
        namesakes = [person for person, words in zip(self.people, is_known, strict=True) if words and not words[-1]]
        return f"Belongs to another patient: {[UNKNOWN_PATIENT, *namesakes, *strangers][-1]}."

    def attack(self, kind: str) -> SandboxAttack:
        """Return the attack on a kind of sandbox."""
        return self.attacks.get(kind, NO_ATTACK)


class AttackStrategy:
    """A way to pass a task without solving it."""

    name: str
    summary: str
    advice: str
    """How to fix a task that this strategy passes."""
    move: str = ""
    """The method of SandboxAttack that this strategy uses, if any."""
    words: str | None = POLITE_REPLY
    """The reply and answer of the agent, unless the strategy has its own agent."""
    failure: ClassVar[str] = ""
    """The reason to report if the agent could not attack."""
    is_inaction: bool = False
    """Whether it changes nothing, which may be right in tasks with `allow_inaction`."""
    needs_solution: ClassVar[bool] = False

    def unfit(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> str:
        """Return why the task cannot be attacked this way; empty if it can."""
        if self.is_inaction and snapshot.task.allow_inaction:
            return "doing nothing can be right here (allow_inaction)"
        if self.needs_solution and snapshot.solution is None:
            return "no solution"
        if self.needs_solution and snapshot.task.name in knowledge.unsolved:
            return knowledge.unsolved[snapshot.task.name]
        kinds = sorted({simulator.kind for simulator in snapshot.environment.simulators.values()})
        if not all(self.untouched(knowledge.attack(kind)) for kind in kinds):
            return ""
        return f"no sandbox of the task can be attacked this way ({', '.join(kinds)})"

    def untouched(self, attack: SandboxAttack) -> bool:
        """Return whether this strategy can do nothing in a kind of sandbox."""
        return bool(self.move) and getattr(type(attack), self.move) is getattr(SandboxAttack, self.move)

    def rounds(self, snapshots: Sequence[Snapshot]) -> Sequence["AttackStrategy"]:
        """Return the strategies that are run one after the other, if this one attacks a task several times."""
        return (self,)

    def label(self, snapshot: Snapshot) -> str:
        """Return what is attacked, for reports."""
        return snapshot.task.name

    def agent(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> "AttackAgent":
        """Return an agent that attacks one task."""
        return AttackAgent(self, knowledge)

    def explain_unexpected(self, run: TaskRun, agent: "AttackAgent") -> str:
        """Return why the result of a trial is not as it must be; empty if it is."""
        return PASSES if run.verdict == "pass" else ""


class AttackAgent:
    """Attacks every sandbox once; then always gives the same reply and answer."""

    entries: frozenset[EntryPointName] = frozenset({"on_start", "on_turn", "on_task"})

    def __init__(self, strategy: AttackStrategy, knowledge: AttackKnowledge) -> None:
        self._strategy, self._knowledge = strategy, knowledge
        self._moved = not strategy.move
        self.missed = strategy.failure
        """Why it did not attack; empty if it did."""

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Say nothing."""
        return []

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Attack in the first turn, then reply."""
        self._make_move(message.text, sandboxes)
        return [] if self._strategy.words is None else [Say(self._strategy.words)]

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Attack, then answer."""
        self._make_move(orjson.dumps(task_item).decode(), sandboxes)
        return self._strategy.words

    def close(self) -> Mapping[str, JsonValue]:
        """Do nothing: there are no resources to release."""
        return NO_FACTS

    def _make_move(self, instruction: str, sandboxes: Sandboxes) -> None:
        if self._moved:
            return
        self._moved = True
        for handle in sandboxes.values():
            move = getattr(self._knowledge.attack(handle.kind), self._strategy.move, None)
            if move is not None and move(handle, instruction):
                self.missed = ""


class Attacker:
    """A strategy as a solver. It keeps the agent of each task, to ask later whether its attack worked."""

    takes_stubs = True
    isolation: IsolationLevel = "built-in"

    def __init__(self, strategy: AttackStrategy, knowledge: AttackKnowledge) -> None:
        self.name = f"attack:{strategy.name}"
        self._strategy = strategy
        self._knowledge = knowledge
        self._agents: dict[str, AttackAgent] = {}

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        """Return an agent without a task, to check a run before it starts."""
        return AttackAgent(self._strategy, self._knowledge)

    def open_for(self, snapshot: Snapshot, trial: int = 1) -> Agent:
        """Return the agent that attacks a task."""
        agent = self._agents[snapshot.task.name] = self._strategy.agent(snapshot, self._knowledge)
        return agent

    def missed(self, task: str) -> str:
        """Return why the run of a task was no attack; empty if it was one."""
        return self._agents[task].missed if task in self._agents else ""

    def explain_unexpected(self, run: TaskRun) -> str:
        """Return why the result of a trial is not as it must be; empty if it is."""
        agent = self._agents.get(run.task)
        return self._strategy.explain_unexpected(run, agent) if agent is not None else ""
