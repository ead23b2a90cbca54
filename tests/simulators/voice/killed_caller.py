"""An agent that is in the middle of two calls when it stops, until it is killed."""

from typing import Any

from tests.engine.held_agent import HeldAgent

LINE, MAILBOX_LINE, PERSON = "+15550100201", "+15550100206", "+15550100001"


class TwoCalls(HeldAgent):
    """Waits in a queue with one call, and leaves a voicemail with another."""

    def on_task(self, task_item: dict[str, Any], sandboxes: Any) -> None:
        name, phone = task_item["name"], sandboxes["phone"]
        waiting, message = phone.dial(LINE), phone.dial(MAILBOX_LINE)
        phone.listen(waiting, 8)
        phone.press(waiting, "3")
        phone.hear(message)
        phone.say(message, f"This is the clinic about {name}. Please call us back.")
        self.hold(name)
        phone.hang_up(message)
        phone.wait(waiting, 900)
        self.finish(name)


class PausedCall(HeldAgent):
    """Asks a person for something, for which they are silent for a while."""

    def on_task(self, task_item: dict[str, Any], sandboxes: Any) -> None:
        name, phone = task_item["name"], sandboxes["phone"]
        call = phone.dial(PERSON)
        phone.listen(call)
        phone.say(call, "Can you read me the number of the referral?")
        phone.hear(call, 30)
        self.hold(name)
        phone.wait(call, 400)
        self.finish(name)
