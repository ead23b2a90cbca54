"""`tool_executed`: a tool was called."""

from typing import ClassVar

from clerkship.assertions.occurrence import EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE, HappenedAssertion
from clerkship.assertions.tools import ToolMatch
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.sandbox.assertion import Difference, Engine


class ToolExecutedAssertion(ToolMatch, HappenedAssertion):
    """The tool was called like this, with any result unless `is_error` is given."""

    name: ClassVar[str] = "tool_executed"
    shorthand: ClassVar[str | None] = "tool_name"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    differences: ClassVar[tuple[Difference, ...]] = (EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE)
    event: ClassVar[type[Payload]] = agent.ToolExecuted
    about: ClassVar[str] = "tool_name"
    uses_python_equality: ClassVar[bool] = True
