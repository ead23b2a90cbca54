"""Codes that FHIR has for the words of the payer domain: `payer_codes.json`."""

from pathlib import Path
from typing import Any, Final, cast, get_args

import orjson

from clerkship.domains.payer.answer import Rejection, RejectionReason
from clerkship.domains.payer.inquiry import ServiceType

_TABLES: Final[dict[str, dict[str, Any]]] = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())
HL7_SYSTEM = "http://terminology.hl7.org/CodeSystem"
CATEGORY_SYSTEM = f"{HL7_SYSTEM}/ex-benefitcategory"
"""R4's example list of categories. It has some of the service types of X12, under the same codes."""
SERVICE_TYPE_SYSTEM = "https://x12.org/codes/service-type-codes"
REJECTION_SYSTEM = "https://codesystem.x12.org/005010/901"
"""The reject reasons of X12, by the name that the Da Vinci guides use."""


def _map_codes() -> dict[str, ServiceType]:
    by_code = {row["code"]: name for name, row in _TABLES["service_types"].items()}
    return cast(dict[str, ServiceType], {**_TABLES["categories"], **by_code})


_SERVICE_TYPE_BY_CODE = _map_codes()


def find_service_type(code: str) -> ServiceType | None:
    """Return the service type with a code of R4's list or of X12; None if there is none."""
    return _SERVICE_TYPE_BY_CODE.get(code)


def list_category_codes(service_type: ServiceType) -> list[str]:
    """Return the codes that name a service type in a request; the first names it in a response."""
    return sorted(
        (code for code, name in _SERVICE_TYPE_BY_CODE.items() if name == service_type),
        key=lambda code: code != _TABLES["service_types"][service_type]["code"],
    )


def build_category(service_type: ServiceType) -> dict[str, Any]:
    """Return a service type as a CodeableConcept, in R4's list if it is there, and in that of X12."""
    row = _TABLES["service_types"][service_type]
    systems = [CATEGORY_SYSTEM, SERVICE_TYPE_SYSTEM] if row.get("in_r4") else [SERVICE_TYPE_SYSTEM]
    return {"coding": [{"system": system, "code": row["code"]} for system in systems], "text": row["text"]}


def get_rejection_code(rejection: Rejection) -> str:
    """Return the reject reason of X12 for a rejection. Some have codes for subscribers and for dependents."""
    codes = _TABLES["rejections"]
    if rejection.subject == "dependent":
        codes = codes | _TABLES["dependent_rejections"]
    code: str = codes[rejection.reason]
    return code


SERVICE_TYPES: tuple[ServiceType, ...] = get_args(ServiceType)
REJECTION_REASONS: tuple[RejectionReason, ...] = get_args(RejectionReason)
