"""What the agent sees of a fax. Documents of a fax that arrived are not among it: a fax is only pages."""

from typing import Any

from clerkship.simulators.fax.config import FaxContact
from clerkship.simulators.fax.records import FaxRecord


def view_fax(record: FaxRecord) -> dict[str, Any]:
    """Describe a fax."""
    header = record.header
    view = {
        "id": header.id,
        "direction": header.direction,
        "sender": header.sender,
        "to": header.to,
        "at": record.created_at.isoformat(),
        "status": record.status,
        "pages": len(header.pages),
        "resolution": header.resolution,
    }
    view |= {"unread": record.is_unread} if record.is_inbound else _view_sending(record)
    return view | ({"content_deleted": True} if record.is_content_deleted else {})


def _view_sending(record: FaxRecord) -> dict[str, Any]:
    """Describe what only a fax that was sent has."""
    header = record.header
    optional = {"in_reply_to": header.in_reply_to, "labels": dict(header.labels), "error": record.error}
    return {
        "status_at": record.status_at.isoformat(),
        "documents": [{"name": part.name, "format": part.format, "pages": len(part.pages)} for part in header.parts],
        "header": header.header_text,
        "attempts": record.attempts,
        "pages_sent": record.pages_sent,
        "max_retries": header.max_retries,
        "retry_delay": header.retry_delay,
        **{name: value for name, value in optional.items() if value},
    }


def view_contact(contact: FaxContact) -> dict[str, Any]:
    """Describe a contact, without how its line behaves."""
    return {"name": contact.name, "number": contact.number}
