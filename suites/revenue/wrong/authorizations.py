"""A wrong solution of a task about authorizations that is more than changed calls."""

from copy import copy


def do_not_wait(task_item, sandboxes, reference):
    """Ask for the decision again and again, and give up."""
    impatient = copy(sandboxes)
    impatient.wait = lambda duration: True
    return reference(task_item, impatient)
