"""The reference solution as a base for attacks."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from clerkship.actors.contract import Message, ReplyPart, Start
from clerkship.actors.python import load_source
from clerkship.checks.attacks.contract import AttackAgent, AttackKnowledge, AttackStrategy
from clerkship.model.snapshot import Snapshot
from clerkship.sandbox.handle import Sandboxes


class ReferenceAgent(AttackAgent):
    """Runs the reference solution of a task."""

    def __init__(self, strategy: AttackStrategy, snapshot: Snapshot, knowledge: AttackKnowledge) -> None:
        super().__init__(strategy, knowledge)
        self._task = snapshot.task.name
        self._solution = load_source(snapshot.solution or "", "solution.py")
        self.entries = self._solution.entries
        self.turns = 0

    async def on_start(self, start: Start, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Start the solution."""
        return await self._solution.on_start(start, self.wrap_sandboxes(sandboxes))

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        """Pass the message to the solution."""
        self.turns += 1
        return await self._solution.on_turn(message, self.wrap_sandboxes(sandboxes))

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Pass the task to the solution."""
        return await self._solution.on_task(task_item, self.wrap_sandboxes(sandboxes))

    def wrap_sandboxes(self, sandboxes: Sandboxes) -> Sandboxes:
        """Return the sandboxes that the solution gets."""
        return sandboxes


class ReferenceStrategy(AttackStrategy):
    """No attack: run the solutions to find out which of them pass, and how many turns they take."""

    name = "reference"
    summary = "runs the reference solution"
    advice = "fix the task or its solution"
    needs_solution = True

    def agent(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> ReferenceAgent:
        """Return the solution, and count its turns."""
        return _CountingAgent(self, snapshot, knowledge)


class _CountingAgent(ReferenceAgent):
    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        reply = await super().on_turn(message, sandboxes)
        self._knowledge.turns[self._task] = self.turns
        return reply
