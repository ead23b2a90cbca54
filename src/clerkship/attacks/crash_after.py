"""`crash-after`: does the right work, then crashes."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import JsonValue

from clerkship.actors.contract import AgentError, Message, Said, Say
from clerkship.attacks.contract import Knowledge, Strategy
from clerkship.attacks.reference import ReferenceAgent
from clerkship.model.snapshot import Snapshot
from clerkship.sandbox.door import Sandboxes

CRASH = "crashed after the work was done"


class CrashAfter(Strategy):
    """The work is there; the agent is not."""

    name: ClassVar[str] = "crash-after"
    summary: ClassVar[str] = "does the reference work, then crashes instead of answering"
    advice: ClassVar[str] = "a trial in which the agent crashed must not pass: report it as a bug of clerkship"
    needs_solution: ClassVar[bool] = True

    def agent(self, snapshot: Snapshot, knowledge: Knowledge) -> ReferenceAgent:
        """The solution, and a crash after its work or in its last turn."""
        return _Crashing(snapshot, knowledge)


class _Crashing(ReferenceAgent):
    def __init__(self, snapshot: Snapshot, knowledge: Knowledge) -> None:
        super().__init__(snapshot)
        self._knowledge = knowledge
        self.missed = "the conversation ended before the crash"
        self._last = knowledge.turns.get(snapshot.task.name, 1)

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[Said]:
        said = await super().on_turn(message, sandboxes)
        if self.turns < self._last:
            return said
        for part in said:  # what it said and did in its last turn counts
            if not isinstance(part, Say):
                sandboxes.report(part)
            elif part.text:
                handle = sandboxes[message.sandbox]
                self._knowledge.attack(handle.kind).say(handle, part.text)
        raise self._crash()

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        await super().on_task(task_item, sandboxes)
        raise self._crash()

    def _crash(self) -> AgentError:
        self.missed = ""
        return AgentError(CRASH)
