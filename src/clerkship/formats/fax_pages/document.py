"""A document that is sent by fax, and why one cannot be."""

from typing import Annotated, Literal

from pydantic import Field

from clerkship.model.frozen import Frozen

DocumentFormat = Literal["pdf", "tiff", "png", "jpeg", "text"]
MAX_PAGES = 200
"""Pages of one fax."""
MAX_DOCUMENT_BYTES = 20_000_000
MAX_SIDE = 20_000
"""Dots of the longer side of an image."""
MAX_DOTS = 50_000_000
"""Dots of an image. A letter scanned at 600 dpi has 34 million."""


class FaxDocument(Frozen):
    """A file to send."""

    name: Annotated[str, Field(max_length=255)]
    format: DocumentFormat
    data: bytes


class UnreadableDocument(Exception):
    """A document that cannot be converted to pages.

    Codes: `unknown_format`, `corrupt`, `encrypted`, `no_pages`, `too_many_pages`, `too_large` (bytes, dots or memory),
    `too_slow`.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason
