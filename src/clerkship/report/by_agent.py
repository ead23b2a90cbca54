"""Which events of a stored log the agent did itself, by the rule that criteria use."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from clerkship.events.event import Payload, is_own_act
from clerkship.events.lifecycle import LIFECYCLE_EVENTS
from clerkship.simulators.registry import DOMAINS, KINDS, SpecEntry


def is_by_agent_itself(event: Mapping[str, Any]) -> bool:
    """Return whether the agent did what a parsed event tells.

    An event of a plug-in counts as done by its actor, because plug-ins are not imported for a report.
    """
    return is_own_act(event["actor"], _load_payloads(event["kind"].partition(".")[0]).get(event["kind"], Payload))


@cache
def _load_payloads(family: str) -> Mapping[str, type[Payload]]:
    """Return the payloads of the kinds of events with a first part, which is that of the simulator or domain."""
    entries: tuple[SpecEntry[Any], ...] = (*KINDS, *DOMAINS)
    entry = next((entry for entry in entries if entry.kind == family), None)
    return {each.kind: each for each in (LIFECYCLE_EVENTS if entry is None else entry.load().events)}
