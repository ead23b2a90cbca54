"""What a FHIR server does about HL7 messages that another sandbox has: it files them in the chart."""

from collections.abc import Mapping

from clerkship.simulators.fhir.reactions.adt import ADT
from clerkship.simulators.fhir.reactions.filing import File, reaction
from clerkship.simulators.fhir.reactions.mdm import MDM
from clerkship.simulators.fhir.reactions.orm import ORM
from clerkship.simulators.fhir.reactions.oru import ORU
from clerkship.simulators.fhir.reactions.siu import SIU
from clerkship.simulators.spec import React

FILED: Mapping[str, Mapping[str, File]] = {"ADT": ADT, "ORM": ORM, "ORU": ORU, "SIU": SIU, "MDM": MDM}
"""By message type and trigger."""
REACTIONS: Mapping[str, React] = {
    f"hl7.{type.lower()}.{way}": reaction(files, type) for type, files in FILED.items() for way in ("sent", "arrived")
}
