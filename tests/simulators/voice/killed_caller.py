"""An agent that is in the middle of two calls when it stops, until it is killed."""

import os
import time
from pathlib import Path
from typing import Any

LINE, MAILBOX_LINE = "+15550100201", "+15550100206"


class TwoCalls:
    """Waits in a queue with one call, and leaves a voicemail with another.

    Writes a line to a file when both calls are under way, and when both are over. In between it stops while there is a
    file with the name of its task.
    """

    def __init__(self) -> None:
        self.ledger = Path(os.environ["LEDGER"])

    def _note(self, text: str) -> None:
        with self.ledger.open("a") as ledger:
            ledger.write(f"{text}\n")

    def on_task(self, task_item: dict[str, Any], sandboxes: Any) -> None:
        name, phone = task_item["name"], sandboxes["phone"]
        waiting, message = phone.dial(LINE), phone.dial(MAILBOX_LINE)
        phone.listen(waiting, 8)
        phone.press(waiting, "3")
        phone.hear(message)
        phone.say(message, f"This is the clinic about {name}. Please call us back.")
        self._note(f"under way {name}")
        while self.ledger.with_name(name).exists():
            time.sleep(0.01)
        phone.hang_up(message)
        phone.wait(waiting, 900)
        self._note(f"over {name}")
