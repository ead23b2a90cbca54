"""Find the kinds of agent events that an assertion needs and that the agent never reported."""

from clerkship.events.evidence import Evidence
from clerkship.model.agent_domain import event_family
from clerkship.sandbox.assertion import Assertion, Check

GUIDE = "docs/guide/connect_an_agent.md"


def explain_unreported(assertion: Assertion, check: Check, evidence: Evidence) -> Check:
    """Add to a failed check that the agent reported no event of a family that the assertion needs."""
    if check.passed or not (missing := find_unreported(assertion, evidence)):
        return check
    note = f"the agent reported no {' or '.join(missing)} in this run, and only reported events can be checked"
    return check._replace(detail=f"{check.detail}; {note}: see {GUIDE}")


def find_unreported(assertion: Assertion, evidence: Evidence) -> list[str]:
    """Return the event families that an assertion needs and of which the agent reported no event."""
    needed = [families for kinds in assertion.needs() if (families := {event_family(kind) for kind in kinds} - {""})]
    if not needed:
        return []
    reported = evidence.cached(_find_reported)
    return sorted({family for families in needed if families.isdisjoint(reported) for family in families})


def _find_reported(evidence: Evidence) -> frozenset[str]:
    """Return the event families that the agent reported, without those set by the scenario."""
    return frozenset(event_family(event.kind) for event in evidence.events if event.actor == "agent")
