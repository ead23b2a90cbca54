"""An agent that sends faxes and waits for them, and that stops in between until it is killed."""

import os
import time
from pathlib import Path
from typing import Any

FREE, BUSY = "+15550100300", "+15550100301"


class FaxSender:
    """Sends a fax to a free line and one to a busy line, and waits until both are delivered.

    Writes a line to a file when both are under way, and when they are delivered. In between it stops while there is a
    file with the name of its task.
    """

    def __init__(self) -> None:
        self.ledger = Path(os.environ["LEDGER"])

    def _note(self, text: str) -> None:
        with self.ledger.open("a") as ledger:
            ledger.write(f"{text}\n")

    def on_task(self, task_item: dict[str, Any], sandboxes: Any) -> None:
        name, line = task_item["name"], sandboxes["line"]
        for number in (FREE, BUSY):
            line.send(number, text=f"Notes of {name}.\fPage two")
        sandboxes.wait("20s")
        self._note(f"under way {name}")
        while self.ledger.with_name(name).exists():
            time.sleep(0.01)
        sandboxes.wait("10m")
        self._note(f"delivered {name}")
