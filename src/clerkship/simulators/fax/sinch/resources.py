"""The resources of the Sinch API as JSON: faxes, and the fax service of the project."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from clerkship.simulators.fax.config import FaxConfig
from clerkship.simulators.fax.line import NOT_IN_SERVICE
from clerkship.simulators.fax.records import FINAL_STATUSES, FaxRecord, FaxStatus

CallbackType = Literal["form", "json"]
FORM, JSON = "multipart/form-data", "application/json"
MEDIA_TYPES: Mapping[CallbackType, str] = {"form": FORM, "json": JSON}
"""Type of a callback -> its media type, which is its name in the API."""
SinchStatus = Literal["QUEUED", "IN_PROGRESS", "COMPLETED", "FAILURE"]
STATUSES: Mapping[FaxStatus, SinchStatus] = {
    "queued": "QUEUED",
    "sending": "IN_PROGRESS",
    "retrying": "IN_PROGRESS",
    "delivered": "COMPLETED",
    "received": "COMPLETED",
    "partial": "FAILURE",
    "busy": "FAILURE",
    "no_answer": "FAILURE",
    "failed": "FAILURE",
}
DOCUMENT_CONVERSION_ERROR = "DOCUMENT_CONVERSION_ERROR"
CALL_ERROR, FAX_ERROR = "CALL_ERROR", "FAX_ERROR"


class SinchError(NamedTuple):
    """Why a fax was not delivered: the type and the code of Sinch, and a message."""

    type: str
    code: int
    message: str


_ERRORS: Mapping[FaxStatus, SinchError] = {
    "busy": SinchError(CALL_ERROR, 17, "The line is busy"),
    "no_answer": SinchError(CALL_ERROR, 16, "The call was not answered"),
    "partial": SinchError(FAX_ERROR, 131, "Only some of the pages were transmitted"),
    "failed": SinchError(FAX_ERROR, 132, "The call was answered, but not by a fax machine"),
}
_NOT_IN_SERVICE = SinchError(CALL_ERROR, 34, "The number is not in service")


def render_time(at: datetime) -> str:
    """Return a time in UTC, to the second: `2026-03-02T09:00:00Z`."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def find_error(record: FaxRecord) -> SinchError | None:
    """Return why a fax was not delivered; None if it was, or may still be."""
    if record.status == "failed" and record.error == NOT_IN_SERVICE:
        return _NOT_IN_SERVICE
    return _ERRORS.get(record.status)


def build_service_id(project: str) -> str:
    """Return the id of the one service of a project."""
    return f"01{hashlib.blake2b(project.encode(), digest_size=12).hexdigest().upper()}"


def render_fax(config: FaxConfig, record: FaxRecord, callback_type: CallbackType | None = None) -> dict[str, Any]:
    """Return a fax as the Fax resource. The URL of its callback is not in it."""
    header = record.header
    fax: dict[str, Any] = {
        "id": header.id,
        "direction": header.direction.upper(),
        "from": header.sender,
        "to": header.to,
        "numberOfPages": len(header.pages),
        "status": STATUSES[record.status],
        "createTime": render_time(record.created_at),
        "projectId": config.project,
        "serviceId": build_service_id(config.project),
        "hasFile": not record.is_content_deleted,
        "labels": dict(header.labels),
        "resolution": "FINE" if header.resolution == "fine" else "STANDARD",
    }
    if record.status in FINAL_STATUSES:
        fax["completedTime"] = render_time(record.status_at)
    return fax if record.is_inbound else fax | _render_sending(record, callback_type)


def _render_sending(record: FaxRecord, callback_type: CallbackType | None) -> dict[str, Any]:
    """Return what is known of a sent fax besides: its header line, attempts and error."""
    header, error = record.header, find_error(record)
    sending: dict[str, Any] = {
        "headerText": header.header_text,
        "headerPageNumbers": True,
        "headerTimeZone": "UTC",
        "pagesSentSuccessfully": record.pages_sent,
        "maxRetries": header.max_retries,
        "retryCount": max(record.attempts - 1, 0),
        "retryDelaySeconds": int(header.retry_delay),
    }
    if callback_type is not None:
        sending["callbackUrlContentType"] = MEDIA_TYPES[callback_type]
    if error is not None:
        sending |= {"errorType": error.type, "errorCode": error.code, "errorMessage": error.message}
    return sending


def render_service(config: FaxConfig, webhook: str, callback_type: CallbackType) -> dict[str, Any]:
    """Return the service of the project, with the URL that is called for faxes that arrive."""
    return {
        "id": build_service_id(config.project),
        "projectId": config.project,
        "name": config.organization,
        "incomingWebhookUrl": webhook,
        "webhookContentType": MEDIA_TYPES[callback_type],
        "defaultForProject": True,
        "defaultFrom": config.numbers[0],
        "saveInboundFaxDocuments": True,
        "saveOutboundFaxDocuments": True,
    }


def render_page(name: str, items: Sequence[Any], page: int, size: int, total: int) -> dict[str, Any]:
    """Return one page of a list. The first page is 1, also of an empty list."""
    return {
        name: list(items),
        "page": page,
        "pageSize": size,
        "totalPages": max(-(-total // size), 1),
        "totalItems": total,
    }
