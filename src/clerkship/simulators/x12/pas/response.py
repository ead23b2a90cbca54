"""Write the answer of the payer as ClaimResponse, in a Bundle with the resources that it refers to."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from clerkship.formats.fhir.resource import Resource
from clerkship.payer.answer import (
    Authorization,
    AuthorizationAnswer,
    ClinicalQuestion,
    DecidedService,
    Rejection,
    RejectionSubject,
)
from clerkship.payer.numbers import build_number
from clerkship.simulators.x12.pas.bundle import PasBundle
from clerkship.simulators.x12.pas.elements import DEFINITION, build_code, build_extension, get_extension
from clerkship.simulators.x12.pas.request import list_active_items
from clerkship.simulators.x12.transactions.authorization import (
    CERTIFIED,
    NO_ACTION,
    NOT_REQUIRED,
    OPEN_STATUSES,
    find_event_code,
    find_service_code,
)
from clerkship.simulators.x12.transactions.codes import CODES, to_aaa

_PARTIES = {"patient": "patient", "insurer": "insurer", "requestor": "provider"}
"""Elements of a ClaimResponse that repeat those of the Claim."""
_ERROR_PLACES: Mapping[RejectionSubject, tuple[str, str]] = {
    "payer": ("2010A-NM109", "Claim.insurer"),
    "provider": ("2010B-NM109", "Claim.provider"),
    "subscriber": ("2010C-NM1", "Claim.insurance.coverage"),
    "dependent": ("2010D-NM1", "Claim.patient"),
    "request": ("2000E", "Claim"),
}
"""Loop of a 278, and FHIRPath, of what a rejection is about."""
_SUBMITTED = {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/adjudication", "code": "submitted"}]}


class ResponseWriter:
    """Writes the answers to one request."""

    def __init__(self, bundle: PasBundle, now: datetime, *, is_inquiry: bool) -> None:
        self._bundle, self._now, self._is_inquiry = bundle, now, is_inquiry

    def write(self, answer: AuthorizationAnswer) -> list[list[Resource]]:
        """Return the resources of each answer, the ClaimResponse first; an inquiry may have none."""
        if answer.rejection is not None:
            return [[self._write_response(outcome="error", error=[_write_error(answer.rejection)])]]
        if not answer.is_required:
            adjudication = [_write_action(NO_ACTION, None, NOT_REQUIRED)]
            items = [{"itemSequence": each["sequence"], "adjudication": adjudication} for each in self._bundle.items]
            return [[self._write_response(disposition=answer.text, item=items)]]
        return [self._write_authorization(each) for each in answer.authorizations]

    def wrap(self, resources: Sequence[Resource]) -> Resource:
        """Return a Bundle with the resources of an answer, and with those of the request that it refers to."""
        references = [self._bundle.claim.get(name, {}).get("reference", "") for name in _PARTIES.values()]
        kind = "pas-inquiry-response-bundle" if self._is_inquiry else "pas-response-bundle"
        return {
            "resourceType": "Bundle",
            "meta": {"profile": [f"{DEFINITION}/profile-{kind}"]},
            "identifier": self._bundle.identifier,
            "type": "collection",
            "timestamp": self._now.isoformat(timespec="seconds"),
            "entry": [
                *({"fullUrl": _build_url(each), "resource": each} for each in resources),
                *filter(None, map(self._bundle.find_entry, references)),
            ],
        }

    def _write_response(self, id: str = "", **elements: Any) -> Resource:
        claim, [trace, *_] = self._bundle.claim, self._bundle.claim["identifier"]
        kind = "claiminquiryresponse" if self._is_inquiry else "claimresponse"
        return {
            "resourceType": "ClaimResponse",
            "id": id or build_number("response-", trace, self._now.isoformat()),
            "meta": {"profile": [f"{DEFINITION}/profile-{kind}"]},
            "identifier": [trace],
            "status": "active",
            "type": claim["type"],
            "use": "preauthorization",
            **{name: self._repeat(claim[source]) for name, source in _PARTIES.items()},
            "created": self._now.isoformat(timespec="seconds"),
            **({} if self._is_inquiry else {"request": {"type": "Claim", "identifier": trace}}),
            "outcome": "complete",
            **elements,
        }

    def _repeat(self, reference: dict[str, Any]) -> dict[str, Any]:
        """Return a reference by the fullUrl of its entry, which a reader of the reply can follow."""
        entry = self._bundle.find_entry(reference.get("reference", ""))
        return {"reference": entry["fullUrl"]} if entry else reference

    def _write_authorization(self, record: Authorization) -> list[Resource]:
        code, services = find_event_code(record), record.services
        undecided = sum(each.status in OPEN_STATUSES for each in services)
        questions = [_write_question(record.id, question) for question in record.questions]
        elements: dict[str, Any] = {
            "outcome": "partial" if 0 < undecided < len(services) else "complete",
            "disposition": record.text or record.status,
        }
        if code in CERTIFIED:
            period = _write_period(record.valid_from, record.valid_to)
            elements |= {"preAuthRef": record.number, "preAuthPeriod": period}
        if services:
            pairs = zip(self._list_sequences(len(services)), services, strict=True)
            elements["item"] = [self._write_item(record, *pair) for pair in pairs]
        else:
            elements["adjudication"] = [_write_action(code, record.number, record.reason)]
        if questions:
            elements["communicationRequest"] = [{"reference": _build_url(each)} for each in questions]
        return [self._write_response(record.id, **elements), *questions]

    def _list_sequences(self, count: int) -> list[int]:
        """Return the numbers of the items: those of the Claim if it requests as many, else 1, 2, …"""
        items = list(list_active_items(self._bundle).values()) or self._bundle.items
        is_own = len(items) == count and not self._is_inquiry
        return [item["sequence"] for item in items] if is_own else list(range(1, count + 1))

    def _write_item(self, record: Authorization, sequence: int, service: DecidedService) -> dict[str, Any]:
        code, extensions = find_service_code(service), list[dict[str, Any]]()
        if service.trace:
            stated = [get_extension(item, "itemTraceNumber").get("valueIdentifier", {}) for item in self._bundle.items]
            identifier = next((each for each in stated if each.get("value") == service.trace), {"value": service.trace})
            extensions.append(build_extension("itemTraceNumber", valueIdentifier=identifier))
        if code in CERTIFIED and record.decided is not None:
            issued = record.decided.astimezone(self._now.tzinfo).date().isoformat()
            period = _write_period(record.valid_from, record.valid_to)
            extensions.append(build_extension("itemPreAuthIssueDate", valueDate=issued))
            extensions.append(build_extension("itemPreAuthPeriod", valuePeriod=period))
        if find_event_code(record) not in CERTIFIED:
            name = "authorizationNumber" if record.number else "administrationReferenceNumber"
            extensions.append(build_extension(name, valueString=record.number or record.id))
        if service.start is not None:
            period = _write_period(service.start, service.end)
            extensions.append(build_extension("itemRequestedServiceDate", valuePeriod=period))
        extensions.append(build_extension("itemAuthorizedDetail", extension=_write_detail(service)))
        action = _write_action(code, record.number, service.reason or record.reason)
        return {"extension": extensions, "itemSequence": sequence, "adjudication": [action]}


def _write_detail(service: DecidedService) -> list[dict[str, Any]]:
    """Return the procedure, and if it is decided, how much of it is authorized."""
    procedure = {"coding": [{"code": service.procedure_code}]}
    detail: list[dict[str, Any]] = [{"url": "productOrServiceCode", "valueCodeableConcept": procedure}]
    if service.status not in (*OPEN_STATUSES, "cancelled"):
        amount = int(service.quantity) if service.quantity.is_integer() else service.quantity
        detail.append({"url": "quantity", "valueQuantity": {"value": amount, "unit": service.unit}})
    return detail


def _write_action(code: str, number: str | None, reason: str) -> dict[str, Any]:
    """Return an adjudication with the review action: HCR01, HCR02 and HCR03 of a 278."""
    parts = [build_extension("reviewActionCode", valueCodeableConcept=build_code(306, code))]
    if number and code in CERTIFIED:
        parts.append({"url": "number", "valueString": number})
    if reason:
        stated = CODES.decision_reasons.get(reason)
        concept = build_code(886, stated, reason) if stated else {"text": reason}
        parts.append({"url": "reasonCode", "valueCodeableConcept": concept})
    return {"extension": [build_extension("reviewAction", extension=parts)], "category": _SUBMITTED}


def _write_error(rejection: Rejection) -> dict[str, Any]:
    """Return what an AAA segment of a 278 says, with the words of the payer."""
    aaa, (element, path) = to_aaa(rejection, "278"), _ERROR_PLACES[rejection.subject]
    extensions = [
        build_extension("errorFollowupAction", valueCodeableConcept=build_code(889, aaa.action)),
        build_extension("errorElement", valueString=element),
        build_extension("errorPath", valueString=path),
    ]
    return {"extension": extensions, "code": build_code(901, aaa.reason, rejection.text)}


def _write_question(reference: str, question: ClinicalQuestion) -> Resource:
    """Return a question of the payer. It is answered by its id, as in a 278."""
    number = f"{reference}-{question.id.replace('_', '-')}"[:64]
    text = f"QUESTION {question.id} ({'/'.join(question.choices) or question.type}) - {question.text}"
    return {
        "resourceType": "CommunicationRequest",
        "id": number,
        "identifier": [{"value": number}],
        "status": "active",
        "payload": [{"contentString": text}],
    }


def _write_period(start: date | None, end: date | None) -> dict[str, str]:
    return {name: day.isoformat() for name, day in (("start", start), ("end", end)) if day is not None}


def _build_url(resource: Resource) -> str:
    """Return a fullUrl that follows from the id of a resource: the address of a sandbox differs between machines."""
    key = f"{resource['resourceType']}/{resource['id']}".encode()
    return f"urn:uuid:{UUID(bytes=hashlib.blake2b(key, digest_size=16).digest(), version=4)}"
