"""Agents that need nothing from the library, so that their process starts fast."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def exits(task_item: Any) -> None:
    """Raise SystemExit, which is an error of the agent."""
    sys.exit(3)


def leaves(task_item: Any) -> None:
    """End the process at once."""
    sys.stdout.write("last words\n")
    os._exit(7)


def dies(task_item: Any) -> None:
    """End the process by a signal, as a broken C extension does."""
    os.kill(os.getpid(), 11)


def spins(task_item: Any) -> None:
    """Start a child, and compute without end."""
    Path("started.txt").write_text(str(subprocess.Popen(["sleep", "60.4711"]).pid), encoding="utf-8")
    while True:
        pass


def raises(task_item: Any) -> None:
    """Raise an ordinary exception."""
    raise ValueError("boom")


class Unmade:
    """An agent whose constructor fails."""

    def __init__(self) -> None:
        raise RuntimeError("unlicensed")

    def on_task(self, task_item: Any) -> None:
        """Never called."""


class Remembers:
    """Continues a conversation, and says what it knows of it."""

    past = ""

    def on_history(self, history: Any) -> None:
        did, said = history.turns[-1].answer
        self.past = f"bye, {len(history.turns)} turns, {type(did).__name__} and {said.text}"

    def on_turn(self, message: Any) -> list[Any]:
        return [{"kind": "agent.slot.set", "name": "n", "value": 1}, self.past or f"re {message.text}"]


class Outer:
    """A class with an agent in it."""

    class Agent:
        """An agent with a dotted name."""

        def on_task(self, task_item: Any) -> int:
            return 42


instance = Outer.Agent()
