"""`tool_executed`: a tool was called."""

from typing import ClassVar

from clerkship.assertions.contract import Difference, Engine
from clerkship.assertions.occurrence import BY_EQUALITY, NO_MATCHER, Happened
from clerkship.assertions.tools import ToolMatch
from clerkship.events import agent
from clerkship.events.event import Payload


class ToolExecuted(ToolMatch, Happened):
    """The tool was called so, whatever came of it unless that is given."""

    name: ClassVar[str] = "tool_executed"
    shorthand: ClassVar[str | None] = "tool_name"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    differences: ClassVar[tuple[Difference, ...]] = (BY_EQUALITY, NO_MATCHER)
    event: ClassVar[type[Payload]] = agent.ToolExecuted
    about: ClassVar[str] = "tool_name"
    by_python: ClassVar[bool] = True
