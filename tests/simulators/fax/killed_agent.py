"""An agent that sends faxes and waits for them, and that stops in between until it is killed."""

from typing import Any

from tests.engine.held_agent import HeldAgent

FREE, BUSY = "+15550100300", "+15550100301"


class FaxSender(HeldAgent):
    """Sends a fax to a free line and one to a busy line, and waits until both are delivered."""

    def on_task(self, task_item: dict[str, Any], sandboxes: Any) -> None:
        name, line = task_item["name"], sandboxes["line"]
        for number in (FREE, BUSY):
            line.send(number, text=f"Notes of {name}.\fPage two")
        sandboxes.wait("20s")
        self.hold(name)
        sandboxes.wait("10m")
        self.finish(name)
