"""`nop`: does nothing. A task it passes is a task that checks nothing."""

from collections.abc import Mapping

from pydantic import JsonValue

from clerkship.actors.contract import NO_FACTS, EntryPointName, History, Message, Say
from clerkship.model.run import IsolationLevel
from clerkship.sandbox.handle import Sandboxes


class Nop:
    """Silent in conversation, idle at work."""

    name = "nop"
    isolation: IsolationLevel = "built-in"
    entries: frozenset[EntryPointName] = frozenset({"on_history", "on_turn", "on_task"})

    def open(self, solution: str | None, trial: int = 1) -> "Nop":
        """It has nothing to remember."""
        return self

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None:
        """Remember nothing."""

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[Say]:
        """Say nothing."""
        return []

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Do nothing."""
        return None

    def close(self) -> Mapping[str, JsonValue]:
        """It holds nothing."""
        return NO_FACTS
