"""The HTTP routes of a fax line."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.sandbox.route import HttpCall, Route, bind_input, validate_input
from clerkship.simulators.fax import operations as ops
from clerkship.simulators.fax.checks import MAX_DOCUMENTS
from clerkship.simulators.fax.operations import Context
from clerkship.transports.multipart import FORM, FormPart, parse_form

MEDIA_TYPES: Mapping[str, str] = {"pdf": "application/pdf", "tiff": "image/tiff", "png": "image/png"}
_MAX_FORM_PARTS = MAX_DOCUMENTS + 20
_LABEL_PREFIX = "labels."
_NUMBERS = {"max_retries": int, "retry_delay": float}
"""Fields of a form that are not text."""


def parse_new_fax(call: HttpCall, context: Context) -> ops.NewFax:
    """Parse a fax to send: a JSON object, or a form whose files are the documents."""
    media = call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != FORM:
        fax: ops.NewFax = bind_input(call, context)
        return fax
    filled: ops.NewFax = validate_input(ops.send_fax, read_form(parse_form(call.request, _MAX_FORM_PARTS)))
    return filled


def read_form(parts: Sequence[FormPart]) -> dict[str, Any]:
    """Return the fields of a form as those of the JSON object; refused if a field is given twice or is no number.

    Each file is a document, whatever its field is called; a field `text` is a document, too.
    """
    values: dict[str, Any] = {}
    documents: list[dict[str, str]] = []
    for part in parts:
        if part.filename is not None:
            content = base64.b64encode(part.data).decode()
            documents.append({"name": part.filename, "base64": content, "content_type": part.media})
        elif part.name == "text":
            documents.append({"text": part.text})
        elif part.name.startswith(_LABEL_PREFIX):
            values.setdefault("labels", {})[part.name.removeprefix(_LABEL_PREFIX)] = part.text
        elif part.name in values or part.name in ("documents", "labels"):
            raise Refusal(422, "invalid_input", f"{part.name[:60]}: expected once, and as text")
        else:
            values[part.name] = _parse_field(part)
    return {**values, "documents": documents}


def _parse_field(part: FormPart) -> str | float:
    kind = _NUMBERS.get(part.name)
    try:
        return part.text if kind is None else kind(part.text)
    except ValueError:
        raise Refusal(422, "invalid_input", f"{part.name}: expected a number") from None


def render_file(call: HttpCall, context: Context, data: bytes) -> Reply:
    """Render a downloaded fax with its media type."""
    format = call.request.query.get("format", "pdf")
    name = f"{call.params['id']}.{format}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return Reply(200, data, MEDIA_TYPES[format], headers)


def render_page(call: HttpCall, context: Context, data: bytes) -> Reply:
    """Render a page as a picture."""
    return Reply(200, data, MEDIA_TYPES["png"], {"X-Content-Type-Options": "nosniff"})


def always_heavy(request: Request) -> bool:
    """Return True: rendering pages may take long."""
    return True


ROUTES = (
    Route("GET", "/", ops.show_line),
    Route("GET", "/contacts", ops.list_contacts),
    Route("POST", "/faxes", ops.send_fax, status=201, parse=parse_new_fax, is_heavy=always_heavy),
    Route("GET", "/faxes", ops.list_faxes),
    Route("GET", "/faxes/{id}", ops.show_fax),
    Route("GET", "/faxes/{id}/content", ops.download_fax, render=render_file, is_heavy=always_heavy),
    Route("DELETE", "/faxes/{id}/content", ops.delete_fax_content),
    Route("GET", "/faxes/{id}/pages/{page}", ops.download_page, render=render_page, is_heavy=always_heavy),
    Route("GET", "/faxes/{id}/text", ops.read_fax_text, is_heavy=always_heavy),
    Route("POST", "/faxes/{id}/read", ops.mark_fax),
    Route("POST", "/webhook", ops.register_webhook),
)
