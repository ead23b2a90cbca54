"""Codes of FHIR for the words of the payer domain.

R4 and the guides for payers use codes of X12, which are taken from the X12 simulator. `payer_codes.json` has the
codes that only R4 has, and which service types R4's list has.
"""

from pathlib import Path
from typing import Any, Final, get_args

import orjson

from clerkship.payer.answer import Rejection, RejectionReason
from clerkship.payer.inquiry import SERVICE_TYPE_NAMES, ServiceType
from clerkship.simulators.x12.transactions.codes import CODES, SERVICE_TYPE_CODES, to_aaa

REQUEST_TYPE = "CoverageEligibilityRequest"
_TABLES: Final[dict[str, Any]] = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())
HL7_SYSTEM = "http://terminology.hl7.org/CodeSystem"
CATEGORY_SYSTEM = f"{HL7_SYSTEM}/ex-benefitcategory"
"""R4's example list of categories. It has some of the service types of X12, under the same codes."""
SERVICE_TYPE_SYSTEM = "https://x12.org/codes/service-type-codes"
REJECTION_SYSTEM = "https://codesystem.x12.org/005010/901"
"""The reject reasons of X12, by the name that the Da Vinci guides use."""
SERVICE_TYPES: tuple[ServiceType, ...] = get_args(ServiceType)
REJECTION_REASONS: tuple[RejectionReason, ...] = get_args(RejectionReason)
_SERVICE_TYPE_BY_CODE: dict[str, ServiceType] = {**CODES.service_types, **_TABLES["categories"]}


def find_service_type(code: str) -> ServiceType | None:
    """Return the service type with a code of R4's list or of X12; None if there is none."""
    return _SERVICE_TYPE_BY_CODE.get(code)


def list_category_codes(service_type: ServiceType) -> list[str]:
    """Return the codes that name a service type in a request; the first names it in a response."""
    return [code for code, name in _SERVICE_TYPE_BY_CODE.items() if name == service_type]


def build_category(service_type: ServiceType) -> dict[str, Any]:
    """Return a service type as a CodeableConcept, in R4's list if it is there, and in that of X12."""
    code, is_in_r4 = SERVICE_TYPE_CODES[service_type], service_type in _TABLES["service_types"]
    systems = [CATEGORY_SYSTEM, SERVICE_TYPE_SYSTEM] if is_in_r4 else [SERVICE_TYPE_SYSTEM]
    coding = [{"system": system, "code": code} for system in systems]
    return {"coding": coding, "text": SERVICE_TYPE_NAMES[service_type]}


def get_rejection_code(rejection: Rejection) -> str:
    """Return the reject reason of X12 for a rejection, which is that of a 271."""
    return to_aaa(rejection, "271").reason
