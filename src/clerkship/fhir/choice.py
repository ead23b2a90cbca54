"""Elements whose name goes on with the type of what they hold: `value[x]` (R4 §2.24.0.4)."""

from collections.abc import Sequence
from functools import lru_cache

_NAMES = """
abatement additive age allowed amount answer asNeeded author born bounds characteristic chargeItem code collected
content created date deceased defaultValue definingSubstance definition detail diagnosis dose doseNumber due effective
entity event example fastingStatus fixed identified indication item legallyBinding location manufacturer maxValue
medication minValue minimumVolume module multipleBirth name occurred occurrence offset onset participantEffective
pattern performed probability procedure product quantity rate reported scheduled seriesDoses serviced source start
statusReason studyEffective subject substance target time timing topic used value when
"""
_DATATYPES = """
Address Age Annotation Attachment Base64Binary Boolean Canonical Code CodeableConcept Coding ContactDetail
ContactPoint Contributor Count DataRequirement Date DateTime Decimal Distance Dosage Duration Expression HumanName Id
Identifier Instant Integer Markdown Meta Money Oid ParameterDefinition Period PositiveInt Quantity Range Ratio
Reference RelatedArtifact SampledData Signature String Time Timing TriggerDefinition UnsignedInt Uri Url UsageContext
Uuid
"""
NAMES = frozenset(_NAMES.split())
DATATYPES = tuple(_DATATYPES.split())
"""What a name may go on with: all that `Extension.value[x]` and `ElementDefinition.fixed[x]` may be."""


@lru_cache(maxsize=1024)
def spellings(name: str) -> Sequence[str]:
    """How `value` may be written, `valueQuantity` and so on; none where it is no such element."""
    return tuple(name + datatype for datatype in DATATYPES) if name in NAMES else ()
