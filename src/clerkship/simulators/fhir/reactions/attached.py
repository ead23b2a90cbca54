"""OBX-5 as an attachment: a document that came whole (ED), or text in lines."""

import base64
import binascii
import re
from typing import Any

from clerkship.hl7.message import Segment
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.reactions.filing import trimmed
from clerkship.simulators.fhir.reactions.parts import Part, part

_KINDS = {"AP": "application", "AU": "audio", "IM": "image", "FT": "text", "TX": "text", "TEXT": "text"}
"""HL7 table 0191: what is not spelled as a media type is."""
_SUBTYPES = {
    "PDF": "application/pdf",
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "TIFF": "image/tiff",
    "HTML": "text/html",
}
_MEDIA = re.compile(r"[a-z]+/[a-z0-9.+-]+")


def attachment(obx: Segment) -> dict[str, Any]:
    """An ED: `LAB^application^pdf^Base64^JVBERi0…`."""
    found = part(obx, 5)
    data = _data(found) if found is not None else b""
    if found is None or not data:
        raise refusal(422, "required", "OBX-5 is empty, and OBX-2 says that it is a document (ED)")
    return trimmed(
        {"contentType": _media(found), "title": _title(obx), "data": base64.b64encode(data).decode(), "size": len(data)}
    )


def _title(obx: Segment) -> str:
    name = part(obx, 3)
    return (name.text(2) or name.text(1)) if name is not None else ""


def _media(found: Part) -> str:
    kind, subtype = found.text(2).upper(), found.text(3).upper()
    if subtype in _SUBTYPES:
        return _SUBTYPES[subtype]
    media = f"{_KINDS.get(kind, kind)}/{subtype or 'plain'}".lower()
    return media if _MEDIA.fullmatch(media) else "application/octet-stream"


def _data(found: Part) -> bytes:
    encoding, text = found.text(4).upper(), found.text(5)
    try:
        if encoding == "BASE64":
            return base64.b64decode(re.sub(r"\s", "", text), validate=True)
        if encoding == "HEX":
            return bytes.fromhex(text)
    except (binascii.Error, ValueError):
        raise refusal(422, "value", f"{found.where}: the document is not {found.text(4)[:20]}, as it says") from None
    if encoding in ("A", ""):
        return text.encode()
    raise refusal(422, "code-invalid", f"{found.where}: `{encoding[:20]}` is no encoding; A, Hex and Base64 are")


def plain(text: str) -> dict[str, Any]:
    """A text as an attachment."""
    data = text.encode()
    return {"contentType": "text/plain", "data": base64.b64encode(data).decode(), "size": len(data)}
