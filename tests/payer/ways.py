"""The ways to ask a payer.

A new way (a portal, the phone) is one more class here: it sends an EligibilityInquiry by its own means, and reads the
reply into a ComparableAnswer.
"""

from tests.payer.comparison import Way
from tests.payer.fhir_way import FhirByContent, FhirByReference
from tests.payer.x12_way import X12Batch, X12Core, X12RealTime

WAYS: tuple[type[Way], ...] = (FhirByContent, X12RealTime, FhirByReference, X12Core, X12Batch)
"""The ways that are compared with the direct one."""
