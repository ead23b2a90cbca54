"""Checks of a fax that is to be sent: numbers, names and limits."""

import math
from collections.abc import Mapping

from clerkship.formats.fax_pages.document import MAX_DOCUMENT_BYTES, UnreadableDocument
from clerkship.model.conversation_key import normalize_phone
from clerkship.sandbox.request import Refusal
from clerkship.simulators.fax.config import FaxConfig
from clerkship.simulators.fax.outgoing import OutgoingFax
from clerkship.simulators.fax.records import FaxRecord

MAX_DOCUMENTS = 20
MAX_NAME_LENGTH = 255
MAX_HEADER_TEXT = 50
"""Characters of the sender's name in the header line, as in Sinch's API."""
MAX_RETRIES = 5
MAX_RETRY_DELAY = 3600
MAX_LABELS = 20
MAX_LABEL_LENGTH = 200
_CODES = {"too_large": 413, "too_many_pages": 413, "unknown_format": 415}
"""Codes of UnreadableDocument whose HTTP status is not 422."""


def check_outgoing(fax: OutgoingFax, config: FaxConfig, answered: FaxRecord | None) -> OutgoingFax:
    """Return the fax with its numbers in E.164 and the sender's name; refused if a field is not valid."""
    to, sender = fax.to, fax.sender
    if answered is not None:
        header = answered.header
        is_inbound = header.direction == "inbound"
        to = to or (header.sender if is_inbound else header.to)
        sender = sender or (header.to if is_inbound else header.sender)
    header_text = fax.header_text
    if header_text is None:
        header_text = " ".join(config.organization.split())[:MAX_HEADER_TEXT]
    checked = fax.model_copy(
        update={
            "to": check_number(to, "to"),
            "sender": check_own_number(sender, config),
            "header_text": check_text(header_text, "header", MAX_HEADER_TEXT),
            "labels": _check_labels(fax.labels),
        }
    )
    _check_documents(checked)
    if not 0 <= fax.max_retries <= MAX_RETRIES:
        raise Refusal(422, "invalid_retries", f"max_retries is {fax.max_retries} (expected: 0 to {MAX_RETRIES})")
    if not (math.isfinite(fax.retry_delay) and 0 <= fax.retry_delay <= MAX_RETRY_DELAY):
        expected = f"expected: 0 to {MAX_RETRY_DELAY} seconds"
        raise Refusal(422, "invalid_retries", f"retry_delay is {fax.retry_delay} ({expected})")
    return checked


def check_number(number: str, field: str) -> str:
    """Return a fax number in E.164; refused if it is none."""
    normalized = normalize_phone(number)
    if normalized is None:
        shown = repr(number[:40]) if number else "missing"
        raise Refusal(422, "invalid_number", f"{field}: {shown} is no fax number (expected: +15550100123)")
    return normalized


def check_own_number(number: str, config: FaxConfig) -> str:
    """Return one of the organization's own numbers, the first by default; refused for any other."""
    if not number:
        return config.numbers[0]
    normalized = check_number(number, "sender")
    if normalized not in config.numbers:
        expected = f"expected: {', '.join(config.numbers)}"
        raise Refusal(422, "not_own_number", f"sender: {normalized} is not a number of the organization ({expected})")
    return normalized


def check_text(text: str, field: str, max_length: int) -> str:
    """Return a text of one line without control characters; refused if it is not one, or too long."""
    if len(text) > max_length:
        raise Refusal(422, "invalid_text", f"{field}: {len(text)} characters (expected: at most {max_length})")
    if not text.isprintable():
        raise Refusal(422, "invalid_text", f"{field}: expected one line without control characters")
    return text


def _check_labels(labels: Mapping[str, str]) -> dict[str, str]:
    if len(labels) > MAX_LABELS:
        raise Refusal(422, "invalid_labels", f"labels: {len(labels)} labels (expected: at most {MAX_LABELS})")
    for name, value in labels.items():
        check_text(name, "labels", MAX_LABEL_LENGTH)
        check_text(value, "labels", MAX_LABEL_LENGTH)
    return dict(labels)


def _check_documents(fax: OutgoingFax) -> None:
    if not fax.documents:
        raise Refusal(422, "no_documents", "documents: expected at least one file or text")
    if len(fax.documents) > MAX_DOCUMENTS:
        raise Refusal(413, "too_many_documents", f"documents: {len(fax.documents)} (expected: at most {MAX_DOCUMENTS})")
    for document in fax.documents:
        check_text(document.name, "name of a document", MAX_NAME_LENGTH)
        if len(document.data) > MAX_DOCUMENT_BYTES:
            raise Refusal(413, "too_large", f"{document.name}: more than {MAX_DOCUMENT_BYTES} bytes")


def refuse_document(name: str, error: UnreadableDocument) -> Refusal:
    """Return the refusal of a document that cannot be converted to pages."""
    return Refusal(_CODES.get(error.code, 422), error.code, f"document {name[:60]!r}: {error.reason}")
