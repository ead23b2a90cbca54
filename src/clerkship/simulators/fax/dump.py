"""The state of a fax line as plain data."""

import hashlib
from typing import Any

from clerkship.simulators.fax.events import PageStored
from clerkship.simulators.fax.records import FaxRecord


def dump_fax(record: FaxRecord) -> dict[str, Any]:
    """Return a fax."""
    due = record.due
    return {
        "header": record.header.model_dump(),
        "created_at": record.created_at.isoformat(),
        "status": record.status,
        "status_at": record.status_at.isoformat(),
        "attempts": record.attempts,
        "pages_sent": record.pages_sent,
        "error": record.error,
        "read": record.is_read,
        "content_deleted": record.is_content_deleted,
        "line_call": record.line_call,
        "due": None if due is None else [due[0].isoformat(), due[1]],
    }


def dump_page(page: PageStored) -> dict[str, Any]:
    """Return a page, with a hash instead of its content."""
    words = None if page.true_words is None else page.true_words.text
    return {"size": [page.width, page.height], "sha256": hashlib.sha256(page.data).hexdigest(), "words": words}
