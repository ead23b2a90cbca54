"""Another way to wait in the queue of a payer."""

from clerkship.plugin import override_methods


def wait_in_parts(task_item, sandboxes, reference):
    """Wait in parts of a fixed length instead of listening."""

    def hear(original, call, seconds):
        return sandboxes["phone"].wait(call, min(seconds, 20))

    return reference(task_item, override_methods(sandboxes, {"phone.hear": hear}))
