"""Template filters of the payer portal."""

import base64
from typing import Any

from clerkship.formats.pdf_letter.letter import build_text_pdf
from clerkship.suite_files.template import Filter, FormatText


def _to_pdf(value: Any, more: Any, text: FormatText) -> str:
    """Return a text, and more lines if they are given, as a PDF file in base64, as an attachment of a chart has it."""
    lines = text(value) if more is None else f"{text(value)}\n{more}"
    return base64.b64encode(build_text_pdf(lines)).decode()


FILTERS: dict[str, Filter] = {"pdf": _to_pdf}
