"""The assertion `portal_document`, on uploads that a payer has with its requests and appeals."""

import base64
import hashlib
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.formats.fhir.chart import Chart, UnchangedView
from clerkship.formats.pdf_letter.letter import build_text_pdf
from clerkship.model.errors import InputError
from clerkship.model.task import Task
from clerkship.sandbox.assertion import Check
from clerkship.simulators.portal.assertions.portal_document import PortalDocumentSent
from clerkship.simulators.portal.document_events import DocumentUploaded
from clerkship.simulators.portal.records import UploadedDocument
from tests.payer.clinic import JANE, PayerClinic, party, request

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOTE = "Progress note\nMigraine for six weeks; treated with ibuprofen."
CHART = Chart(
    orjson.dumps(
        {
            "resourceType": "DocumentReference",
            "id": id,
            "content": [
                {"attachment": {"contentType": "text/plain", "data": base64.b64encode(text.encode()).decode()}}
            ],
        }
    )
    for id, text in {"note": NOTE, "other": "Another note about a knee."}.items()
)


def upload(seq: int, id: str, text: str, type: str = "clinical_note") -> Event:
    data = build_text_pdf(text)
    document = UploadedDocument.model_validate(
        {
            "id": id, "name": f"{id}.pdf", "media": "application/pdf", "format": "pdf", "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(), "type": type, "uploaded": AT, "user": "m.okafor",
        }
    )  # fmt: skip
    payload = DocumentUploaded(document=document, data=data)
    return Event(seq=seq, at=AT, source="portal", actor="agent", kind=payload.kind, cause=None, payload=payload)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    deny = {"match": {"procedure_code": "70553"}, "status": "denied", "reason": "not_medically_necessary"}
    clinic = PayerClinic(members=[{**JANE, "patient": "Patient/jane"}], determinations=[deny])
    clinic.payer.request_authorization(clinic.action, request("70551", attachments=("D1",)))
    [denied] = clinic.payer.request_authorization(clinic.action, request("70553")).authorizations
    clinic.payer.appeal(clinic.action, party(), denied.id, "It is needed.", ("D2",))
    uploads = [upload(901, "D1", NOTE), upload(902, "D2", "Order", "order"), upload(903, "D3", "Never sent")]
    states: dict[str, Any] = {"payer": clinic.payer, "chart": UnchangedView(CHART)}
    return Evidence(Task(name="t"), uploads, states, "agent_done")


def check(evidence: Evidence, **fields: Any) -> Check:
    return PortalDocumentSent.model_validate(fields).check(evidence)


@pytest.mark.parametrize(
    ("fields", "passed"),
    [
        ({"count": 2}, True),
        ({"text": {"contains": "six weeks"}}, True),
        ({"text": {"contains": "Never sent"}}, False),
        ({"text": {"contains": "Never sent"}, "none": True}, True),
        ({"sent_with": "appeal", "type": "order", "text": {"contains": "Order"}}, True),
        ({"sent_with": "appeal", "type": "clinical_note"}, False),
        ({"sent_with": "request", "same_as": "DocumentReference/note"}, True),
        ({"same_as": "DocumentReference/other"}, False),
        ({"sent_with": "appeal", "same_as": "DocumentReference/note"}, False),
        ({"member_id": "nobody", "none": True}, True),
        ({"reference": "R-0"}, False),
    ],
)
def test_documents_are_selected_and_compared(evidence: Evidence, fields: dict[str, Any], passed: bool) -> None:
    result = check(evidence, **fields)
    assert result.passed is passed, result.detail


def test_a_document_that_the_chart_does_not_have_is_a_mistake_of_the_task(evidence: Evidence) -> None:
    with pytest.raises(InputError):
        check(evidence, same_as="DocumentReference/none")
