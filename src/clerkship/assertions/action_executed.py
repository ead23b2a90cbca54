"""`action_executed`: an action ran."""

from typing import ClassVar

from clerkship.assertions.action_match import ActionMatch
from clerkship.assertions.occurrence import HappenedAssertion
from clerkship.sandbox.assertion import Engine


class ActionExecutedAssertion(ActionMatch, HappenedAssertion):
    """The action ran. Responses, listening and actions of patterns count too, if the agent reports them."""

    name: ClassVar[str] = "action_executed"
    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
