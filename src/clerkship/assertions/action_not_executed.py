"""`action_not_executed`: an action never ran."""

from typing import ClassVar

from clerkship.assertions.action_match import ActionMatch
from clerkship.assertions.occurrence import NeverHappenedAssertion


class ActionNotExecuted(ActionMatch, NeverHappenedAssertion):
    """The action never ran, or never with these arguments (ours)."""

    name: ClassVar[str] = "action_not_executed"
