"""Evidence for assertions on messages: an engine with sent and received messages, and their patient."""

from collections.abc import Mapping
from typing import Any

from clerkship.events.evidence import Evidence
from clerkship.model.task import Task
from tests.simulators.hl7.interface import Interface

ANA: Mapping[str, Any] = {
    "resourceType": "Patient",
    "id": "ana",
    "identifier": [{"value": "999-99"}, {"value": "4711"}],
}
NOBODY: Mapping[str, Any] = {"resourceType": "Practitioner", "id": "may"}


def evidence(engine: Interface, about: str = "") -> Evidence:
    """Build the evidence of a check."""
    found = Evidence(
        task=Task(name="a task"),
        events=engine.rig.playground.log.events,
        states={"lab": engine.state},
        ending="agent_done",
        entities={"ana": ANA, "may": NOBODY},
    )
    return found.for_entity(about) if about else found
