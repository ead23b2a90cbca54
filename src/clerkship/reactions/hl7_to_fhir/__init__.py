"""File the HL7 v2 messages of one sandbox in the chart of another."""

from collections.abc import Mapping

from clerkship.reactions.contract import React
from clerkship.reactions.hl7_to_fhir.adt import ADT
from clerkship.reactions.hl7_to_fhir.filing import FileMessage, build_reaction
from clerkship.reactions.hl7_to_fhir.mdm import MDM
from clerkship.reactions.hl7_to_fhir.orm import ORM
from clerkship.reactions.hl7_to_fhir.oru import ORU
from clerkship.reactions.hl7_to_fhir.siu import SIU
from clerkship.simulators.hl7.events import ARRIVED_EVENTS, SENT_EVENTS

FILED: Mapping[str, Mapping[str, FileMessage]] = {"ADT": ADT, "ORM": ORM, "ORU": ORU, "SIU": SIU, "MDM": MDM}
"""The function for each message type and trigger."""
REACTIONS: Mapping[str, React] = {
    events[type].kind: build_reaction(files, type)
    for type, files in FILED.items()
    for events in (SENT_EVENTS, ARRIVED_EVENTS)
}
