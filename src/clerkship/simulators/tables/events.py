"""Events of tables and their functions."""

from typing import Any, ClassVar, Literal

from clerkship.events.event import EffectType, Payload, collect_events


class FunctionsListed(Payload, kind="tables.functions.listed"):
    """The functions were listed."""

    effect: ClassVar[EffectType] = "none"
    count: int


class PolicyRead(Payload, kind="tables.policy.read"):
    """The policy was read."""

    effect: ClassVar[EffectType] = "none"
    size: int


class FunctionCalled(Payload, kind="tables.function.called"):
    """A function was called. Its changes are the `tables.record.changed` events before it."""

    effect: ClassVar[EffectType] = "none"
    holds_body: ClassVar[bool] = True
    name: str
    arguments: dict[str, Any]
    size: int = 0
    """Bytes of its result as JSON."""
    changes: int = 0
    """How many records it changed."""
    refusal: str = ""
    """Why it refused; empty if it did not."""
    ids: tuple[str, ...] = ()
    """The ids that were made for it."""


class RecordChanged(Payload, kind="tables.record.changed"):
    """A record was created, updated or deleted."""

    effect: ClassVar[EffectType] = "state"
    table: str
    id: str
    change: Literal["created", "updated", "deleted"]
    before: dict[str, Any] = {}
    """The fields that changed or were removed, with their old values; all of them for a deleted record."""
    after: dict[str, Any] = {}
    """The fields that changed or were added, with their new values; all of them for a created record."""


EVENTS = collect_events(globals())
