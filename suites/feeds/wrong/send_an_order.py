"""Wrong solutions of ordering over a line that drops the answer."""

from itertools import count

from clerkship.plugin import override_methods


def use_new_control_ids(task_item, sandboxes, reference):
    """Send each message with another control id."""
    numbers = count(1)

    def send(original, message):
        return original(message.replace("O01-0001", f"O01-{next(numbers):04}"))

    return reference(task_item, override_methods(sandboxes, {"engine.send": send}))
