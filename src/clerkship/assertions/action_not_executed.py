"""`action_not_executed`: an action never ran."""

from typing import ClassVar

from clerkship.assertions.action import Action
from clerkship.assertions.occurrence import NeverHappened


class ActionNotExecuted(Action, NeverHappened):
    """The action never ran, or never with these arguments (ours)."""

    name: ClassVar[str] = "action_not_executed"
