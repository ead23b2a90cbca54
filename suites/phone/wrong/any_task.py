"""Wrong solutions of several tasks: less than the work, or the work twice. Their answers are in the YAML files."""

from clerkship.plugin import override_methods


class CallingStopped(Exception):
    """Raised in place of a call that is not made."""


def answer_only(task_item, sandboxes):
    """Do nothing but answer."""
    return {}


def stop_after_first_call(task_item, sandboxes, reference):
    """Make one call, and give up."""
    calls = []

    def dial(original, to):
        if calls:
            raise CallingStopped
        calls.append(to)
        return original(to)

    try:
        return reference(task_item, override_methods(sandboxes, {"phone.dial": dial}))
    except CallingStopped:
        return {}


def solve_twice(task_item, sandboxes, reference):
    """Do everything a second time."""
    reference(task_item, sandboxes)
    return reference(task_item, sandboxes)
