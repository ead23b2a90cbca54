"""An agent's reply as a handle, so that a variant changes its parts as it changes calls of sandboxes."""

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from typing import Any, cast

from clerkship.actors.contract import ReplyPart, Say
from clerkship.events.agent import AgentEvents
from clerkship.events.reply_calls import REPLY, SAY, list_reply_calls, name_event_call
from clerkship.sandbox.handle import Handle, Sandboxes


class ReplyHandle:
    """The reply of one turn. Each call of a method adds a part: `say` a message, the others an event."""

    kind = REPLY

    def __init__(self, events: AgentEvents) -> None:
        self.parts: list[ReplyPart] = []
        self._events = {name_event_call(kind): event for kind, event in events.items()}
        self._parameters = list_reply_calls(events)

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_") or name not in self._parameters:
            raise AttributeError(name)
        optional = [Parameter(each, Parameter.POSITIONAL_OR_KEYWORD, default=None) for each in self._parameters[name]]
        signature = Signature(optional)

        def add(*args: Any, **kwargs: Any) -> None:
            self.parts.append(self._build_part(name, signature.bind(*args, **kwargs).arguments))

        add.__signature__ = signature  # type: ignore[attr-defined]
        return add

    def add_to(self, sandboxes: Sandboxes) -> Sandboxes:
        """Return the sandboxes with the reply among them."""
        return sandboxes.with_handles({**sandboxes, REPLY: cast("Handle", self)})

    def _build_part(self, name: str, fields: dict[str, Any]) -> ReplyPart:
        if name == SAY:
            return Say(**{**fields, "buttons": tuple(fields.get("buttons") or ())})
        return self._events[name].model_validate(fields)


def make_reply(parts: Iterable[ReplyPart], handle: Handle) -> None:
    """Make the calls that the parts of a reply stand for."""
    for part in parts:
        if isinstance(part, Say):
            getattr(handle, SAY)(**part.fields())
        else:
            getattr(handle, name_event_call(part.kind))(**part.model_dump())
