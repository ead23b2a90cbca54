"""What a FHIR server does about HL7 messages that another sandbox has: it files them in the chart."""

from collections.abc import Mapping

from clerkship.reactions.contract import React
from clerkship.reactions.hl7_to_fhir.adt import ADT
from clerkship.reactions.hl7_to_fhir.filing import File, reaction
from clerkship.reactions.hl7_to_fhir.mdm import MDM
from clerkship.reactions.hl7_to_fhir.orm import ORM
from clerkship.reactions.hl7_to_fhir.oru import ORU
from clerkship.reactions.hl7_to_fhir.siu import SIU

FILED: Mapping[str, Mapping[str, File]] = {"ADT": ADT, "ORM": ORM, "ORU": ORU, "SIU": SIU, "MDM": MDM}
"""By message type and trigger."""
REACTIONS: Mapping[str, React] = {
    f"hl7.{type.lower()}.{way}": reaction(files, type) for type, files in FILED.items() for way in ("sent", "arrived")
}
