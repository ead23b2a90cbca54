"""`crash-after`: solves the task, then crashes."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from clerkship.actors.contract import AgentError, Message, ReplyPart, Say
from clerkship.checks.attacks.contract import AttackKnowledge, AttackStrategy
from clerkship.checks.attacks.reference import ReferenceAgent
from clerkship.model.snapshot import Snapshot
from clerkship.sandbox.handle import Sandboxes

CRASH = "crashed after the work was done"


class CrashAfter(AttackStrategy):
    """Run the reference solution, and crash after its work or in its last turn."""

    name = "crash-after"
    summary = "does the reference work, then crashes instead of answering"
    advice = "a trial in which the agent crashed must not pass: report it as a bug of clerkship"
    failure = "the conversation ended before the crash"
    needs_solution = True

    def agent(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> ReferenceAgent:
        """Return the reference solution with a crash."""
        return _CrashingAgent(self, snapshot, knowledge)


class _CrashingAgent(ReferenceAgent):
    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        reply = await super().on_turn(message, sandboxes)
        if self.turns < self._knowledge.turns.get(self._task, 1):
            return reply
        for part in reply:  # the last turn still counts
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
