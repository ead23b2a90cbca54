"""Pages of faxes in a trial's log, and what a report shows of the events that name them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from clerkship.formats.fax_pages.page import DOTS_PER_INCH, PageWords, Resolution

PAGE_STORED = "fax.page.stored"
FAX_EVENTS = frozenset({"fax.arrived", "fax.queued"})
"""Events that name the pages of a fax in their header."""
MAX_FAX_PAGES = 12
"""Pages of one fax that are shown in the timeline."""


@dataclass(frozen=True)
class StoredPage:
    """A page in the log. Its file is read only if the report shows it."""

    hash: str
    resolution: Resolution
    width: int
    height: int
    read: Callable[[], bytes]
    """Return the page as a TIFF file."""

    @property
    def stretch(self) -> float:
        """The height of a dot, as a multiple of its width."""
        across, down = DOTS_PER_INCH[self.resolution]
        return across / down


def find_pages(events: Iterable[Mapping[str, Any]], blob: Callable[[str], bytes]) -> dict[str, StoredPage]:
    """Return the pages that a log stores, by hash. The events are as `parse_line` returns them."""
    pages = (_parse_page(event, blob) for event in events if event["kind"] == PAGE_STORED)
    return {page.hash: page for page in pages if page is not None}


def _parse_page(event: Mapping[str, Any], blob: Callable[[str], bytes]) -> StoredPage | None:
    payload, stored = event["payload"], event.get("blobs", {}).get("data")
    if payload.get("resolution") not in DOTS_PER_INCH:
        return None
    digest = stored["sha256"] if stored is not None else ""
    inline = str(payload.get("data", "")).encode()
    return StoredPage(
        hash=str(payload.get("hash", "")),
        resolution=payload["resolution"],
        width=int(payload.get("width", 0)),
        height=int(payload.get("height", 0)),
        read=lambda: blob(digest) if digest else inline,
    )


def summarize_fax_event(event: dict[str, Any], blob: Callable[[str], bytes]) -> None:
    """Replace the parts of a fax event that only programs read: the file of a page, and the places of its words.

    A stored page gets `true_text`, the lines that were drawn on it. An event that names a fax gets `fax`: its numbers,
    documents and pages.
    """
    if event["kind"] == PAGE_STORED:
        words = load_field(event, "true_words", blob)
        for field in ("data", "true_words"):
            event["payload"].pop(field, None)
            event.get("blobs", {}).pop(field, None)
        if words is not None:
            event["payload"]["true_text"] = PageWords.model_validate(words).text
    elif event["kind"] in FAX_EVENTS:
        header = load_field(event, "header", blob) or {}
        event["fax"] = _build_fax(event["kind"], header)


def load_field(event: Mapping[str, Any], field: str, blob: Callable[[str], bytes]) -> Any:
    """Return a field of an event, which may be stored as a body; None if there is none."""
    stored = event.get("blobs", {}).get(field)
    return event["payload"].get(field) if stored is None else orjson.loads(blob(stored["sha256"]))


def _build_fax(kind: str, header: Mapping[str, Any]) -> dict[str, Any]:
    parts = header.get("parts", ())
    pages = [
        {"hash": page, "document": part.get("name", ""), "number": number}
        for part in parts
        for number, page in enumerate(part.get("pages", ()), 1)
    ]
    return {
        "arrived": kind == "fax.arrived",
        "id": header.get("id", ""),
        "sender": header.get("sender", ""),
        "to": header.get("to", ""),
        "documents": [part.get("name", "") for part in parts][:MAX_FAX_PAGES],
        "pages": pages[:MAX_FAX_PAGES],
        "total": len(pages),
    }
