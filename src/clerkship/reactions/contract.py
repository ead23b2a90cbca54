"""The contract of a reaction, and of the pair of kinds that it belongs to."""

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clerkship.by_name import load
from clerkship.events.event import Event
from clerkship.kit.text import describe_error
from clerkship.model.errors import PlatformError
from clerkship.sandbox.state import ActionContext

React = Callable[[Any, ActionContext, Event], object]
"""Change the state of the target because of an event of the source, and return a result for the source, or None.

Raises Refusal to object to the event. The source reads both from its ActionContext.
"""


class BrokenReactions(PlatformError):
    """The module of a pair cannot be imported, or does not define reactions to events of its source."""


def pair_name(source: str, target: str) -> str:
    """Return the name that a pair is registered under: `hl7 to fhir`."""
    return f"{source} to {target}"


@dataclass(frozen=True, kw_only=True)
class ReactionPair:
    """Where to find the reactions of one kind of sandbox to the events of another kind."""

    source: str
    """The kind of sandbox whose events are reacted to."""
    target: str
    """The kind of sandbox that is changed."""
    module: str
    """Imported when an environment declares such a reaction. Its `REACTIONS` maps kinds of events to functions."""

    @property
    def name(self) -> str:
        """Return the name that the pair is registered under."""
        return pair_name(self.source, self.target)

    def load(self) -> Mapping[str, React]:
        """Return the function for each kind of event, in the order of the module.

        Raises BrokenReactions if the module cannot be imported or its `REACTIONS` cannot be used.
        """
        try:
            with contextlib.redirect_stdout(sys.stderr):  # a plug-in may print, and standard output is for results
                reactions: Mapping[str, React] = load(f"{self.module}:REACTIONS")
        except (Exception, SystemExit) as error:  # a plug-in's module may raise anything
            raise self._broken(describe_error(error)) from error
        if not isinstance(reactions, Mapping) or not all(map(callable, reactions.values())):
            raise self._broken("REACTIONS is not a mapping of event kinds to functions")
        for kind in reactions:
            if not kind.startswith(f"{self.source}."):
                raise self._broken(f"`{kind}` is not an event of {self.source}")
        return reactions

    def _broken(self, reason: str) -> BrokenReactions:
        return BrokenReactions(
            f"the reactions of {self.target} to {self.source} cannot be loaded from {self.module}: {reason}"
        )
