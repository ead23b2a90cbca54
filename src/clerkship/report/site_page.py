"""Take the pages of websites out of the events of a log, which refer to them by their hashes then."""

import hashlib
from collections.abc import Callable
from typing import Any

ReadPage = Callable[[], bytes]
SITE_EVENTS = frozenset({"portal.page.viewed", "portal.submit.refused", "portal.error.shown"})
"""Events with a page as it was sent."""


def take_page(event: dict[str, Any], blob: Callable[[str], bytes]) -> tuple[str, ReadPage] | None:
    """Take the page out of an event, which refers to it by its hash then; return the hash and how to read it."""
    payload, blobs = event["payload"], event.get("blobs", {})
    stored, inline = blobs.pop("html", None), payload.pop("html", "")
    if stored is not None:
        digest = str(stored["sha256"])
        event["page"] = digest
        return digest, lambda: blob(digest)
    if not inline:
        return None
    data = str(inline).encode()
    digest = hashlib.sha256(data).hexdigest()
    event["page"] = digest
    return digest, lambda: data
