"""The parts of an agent's reply as calls: `reply.say`, `reply.slot_set`. Variants of a solution name them so."""

from collections.abc import Mapping

from pydantic import BaseModel

from clerkship.events.event import Utterance

REPLY = "reply"
"""The name in the place of a sandbox's."""
SAY = "say"


def name_event_call(kind: str) -> str:
    """Return the name of the call that reports a kind of event: `slot_set` for `agent.slot.set`."""
    return kind.removeprefix("agent.").replace(".", "_")


def list_reply_calls(events: Mapping[str, type[BaseModel]]) -> dict[str, tuple[str, ...]]:
    """Return the parameters of each call, in order, by its name."""
    say = tuple(name for name in Utterance.model_fields if name != "turn")
    return {SAY: say, **{name_event_call(kind): tuple(event.model_fields) for kind, event in events.items()}}
