"""An agent that stops in the middle of its work, so that its run can be killed there."""

import os
import time
from pathlib import Path


class HeldAgent:
    """Writes to a file when its work is under way and when it is over.

    In between it stops while there is a file with the name of its task.
    """

    def __init__(self) -> None:
        self.ledger = Path(os.environ["LEDGER"])

    def hold(self, task: str) -> None:
        """Note that the work of a task is under way, and stop while the task is held."""
        self._note(f"under way {task}")
        while self.ledger.with_name(task).exists():
            time.sleep(0.01)

    def finish(self, task: str) -> None:
        """Note that the work of a task is over."""
        self._note(f"over {task}")

    def _note(self, text: str) -> None:
        with self.ledger.open("a") as ledger:
            ledger.write(f"{text}\n")
