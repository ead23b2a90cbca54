"""Asking a payer with a CoverageEligibilityRequest."""

import re
from datetime import date
from typing import Any

from clerkship.formats.fhir.resource import Resource
from clerkship.payer.inquiry import EligibilityInquiry, PersonQuery
from clerkship.reactions.payer_codes import build_category, find_service_type
from tests.payer.comparison import ComparableAnswer, Way


class FhirByContent(Way):
    """A CoverageEligibilityRequest that contains the resources it refers to."""

    name = "fhir, by content"

    def ask(self, inquiry: EligibilityInquiry) -> ComparableAnswer:
        contained: list[Resource] = [
            _build_organization("insurer", "https://riverbend.example/ids/payer", inquiry.payer_id),
            _build_organization("provider", "http://hl7.org/fhir/sid/us-npi", inquiry.provider_id),
            _build_patient("patient", inquiry.dependent or inquiry.subscriber),
            _build_coverage(inquiry),
        ]
        if inquiry.dependent is not None:
            contained.append(_build_patient("subscriber", inquiry.subscriber))
        parties = {name: {"reference": f"#{name}"} for name in ("patient", "insurer", "provider")}
        insurance = [{"coverage": {"reference": "#coverage"}}]
        return self.request({"contained": contained, "insurance": insurance, **parties}, inquiry)

    def request(self, elements: Resource, inquiry: EligibilityInquiry) -> ComparableAnswer:
        """Create the request, and read the response that the chart then has."""
        serviced = {"servicedDate": inquiry.service_date.isoformat()} if inquiry.service_date else {}
        categories = [{"category": build_category(each)} for each in inquiry.service_types]
        procedures = [{"productOrService": {"coding": [{"code": code}]}} for code in inquiry.procedure_codes]
        request = self.office.ehr.create(
            {
                "resourceType": "CoverageEligibilityRequest",
                "status": "active",
                "purpose": ["benefits", "auth-requirements"],
                "created": "2026-03-02",
                "item": [*categories, *procedures],
                **serviced,
                **elements,
            }
        )
        key = f"CoverageEligibilityRequest/{request['id']}"
        [response] = self.office.ehr.search("CoverageEligibilityResponse", request=key)
        return describe_response(response)


class FhirByReference(FhirByContent):
    """A CoverageEligibilityRequest about resources of the chart."""

    name = "fhir, by reference"
    asks_about_chart_only = True

    def can_ask(self, inquiry: EligibilityInquiry) -> bool:
        return self.office.find_references(inquiry) is not None

    def ask(self, inquiry: EligibilityInquiry) -> ComparableAnswer:
        references = self.office.find_references(inquiry)
        assert references is not None
        return self.request(references, inquiry)


def _build_organization(id: str, system: str, number: str) -> Resource:
    return {"resourceType": "Organization", "id": id, "identifier": [{"system": system, "value": number}]}


def _build_patient(id: str, person: PersonQuery) -> Resource:
    name = {"family": person.family, "given": [person.given] if person.given else None}
    return _drop_none(
        {
            "resourceType": "Patient",
            "id": id,
            "name": [_drop_none(name)] if person.family or person.given else None,
            "birthDate": person.birth_date.isoformat() if person.birth_date else None,
            "gender": person.gender,
        }
    )


def _build_coverage(inquiry: EligibilityInquiry) -> Resource:
    return _drop_none(
        {
            "resourceType": "Coverage",
            "id": "coverage",
            "status": "active",
            "subscriberId": inquiry.subscriber.member_id,
            "subscriber": {"reference": "#subscriber"} if inquiry.dependent is not None else None,
            "beneficiary": {"reference": "#patient"},
            "payor": [{"reference": "#insurer"}],
        }
    )


def _drop_none(data: Resource) -> Resource:
    return {name: value for name, value in data.items() if value is not None}


_KINDS = {"copay": "copay", "copay-percent": "coinsurance", "deductible": "deductible", "visit": "limit"}


def describe_response(response: Resource) -> ComparableAnswer:
    """Return a CoverageEligibilityResponse as it can be compared."""
    if response["outcome"] == "error":
        [error] = response["error"]
        return ComparableAnswer(rejection=error["code"]["coding"][0]["code"])
    [insurance] = response["insurance"]
    period = insurance["benefitPeriod"]
    start, end = date.fromisoformat(period["start"]), period.get("end")
    day = date.fromisoformat(response["servicedDate"])
    status = "active" if insurance["inforce"] else "future" if day < start else "terminated"
    comparable = ComparableAnswer(
        status=status,
        plan=insurance["coverage"]["display"].upper(),
        period=(start, date.fromisoformat(end) if end else None),
        others={name.upper() for name in re.findall(r"\. ([^.]+?) also covers the patient", response["disposition"])},
    )
    for item in insurance.get("item", ()):
        _describe_item(comparable, item)
    return comparable


def _describe_item(comparable: ComparableAnswer, item: dict[str, Any]) -> None:
    network = {"in": True, "out": False, None: None}[_get_code(item.get("network"))]
    subject = _get_code(item.get("productOrService")) or find_service_type(_get_code(item["category"]) or "") or ""
    if item.get("excluded"):
        comparable.excluded.add((subject, network))
    if "authorizationRequired" in item:
        comparable.authorizations[subject] = item["authorizationRequired"]
    for benefit in item.get("benefit", ()):
        kind = _KINDS.get(_get_code(benefit["type"]) or "", "out_of_pocket_maximum")
        allowed = benefit["allowedMoney"]["value"] if "allowedMoney" in benefit else benefit["allowedUnsignedInt"]
        used = benefit["usedMoney"]["value"] if "usedMoney" in benefit else benefit.get("usedUnsignedInt")
        total = float(allowed) / (100 if kind == "coinsurance" else 1)
        remaining = None if used is None else round(total - float(used), 2)
        comparable.amounts[kind, subject, _get_code(item.get("unit")) or "", network] = (total, remaining)


def _get_code(concept: dict[str, Any] | None) -> str | None:
    codings = concept.get("coding", ()) if concept is not None else ()
    return codings[0]["code"] if codings else None
