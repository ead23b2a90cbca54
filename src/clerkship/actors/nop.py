"""`nop`: an agent that does nothing. A task that it passes checks nothing."""

from collections.abc import Mapping

from pydantic import JsonValue

from clerkship.actors.contract import NO_FACTS, EntryPointName, History, Message, Say
from clerkship.model.run import IsolationLevel
from clerkship.sandbox.handle import Sandboxes


class Nop:
    """Never replies, and does no work."""

    name = "nop"
    isolation: IsolationLevel = "built-in"
    entries: frozenset[EntryPointName] = frozenset({"on_history", "on_turn", "on_task"})

    def open(self, solution: str | None, trial: int = 1) -> "Nop":
        return self

    async def on_history(self, history: History, sandboxes: Sandboxes) -> None: ...

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[Say]:
        """Return no reply."""
        return []

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        """Return no answer."""
        return None

    def close(self) -> Mapping[str, JsonValue]:
        return NO_FACTS
