"""Convert OBX-5 to an attachment: an embedded document (ED), a pointer to one (RP), or lines of text."""

import base64
import binascii
import re
from typing import Any
from urllib.parse import quote

from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.fields import Repetition, code_table, read_repetition, read_text
from clerkship.reactions.hl7_to_fhir.filing import drop_empty
from clerkship.simulators.fhir.outcome import refusal

_MEDIA_TYPES = {"AP": "application", "AU": "audio", "IM": "image", "FT": "text", "TX": "text", "TEXT": "text"}
"""HL7 table 0191, where its codes differ from the names of media types."""
_SUBTYPES = code_table("0291")
"""HL7 table 0291."""
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
_URL_SAFE = ":/?#[]@!$&'()*+,;=%"
_MEDIA = re.compile(r"[a-z]+/[a-z0-9.+-]+")


def build_attachment(obx: Segment) -> dict[str, Any]:
    """Convert an ED, `LAB^application^pdf^Base64^JVBERi0…`, or an RP, `https://pacs.example/7^PACS^image^jpeg`."""
    repetition = read_repetition(obx, 5)
    if read_text(obx, 2).upper() == "RP":
        return _convert_pointer(obx, repetition)
    data = _decode_data(repetition) if repetition is not None else b""
    if repetition is None or not data:
        raise refusal(422, "required", "OBX-5 is missing: OBX-2 declares a document (ED)")
    media = _media_type(repetition.text(2), repetition.text(3))
    return drop_empty(
        {"contentType": media, "title": _title(obx), "data": base64.b64encode(data).decode(), "size": len(data)}
    )


def _convert_pointer(obx: Segment, repetition: Repetition | None) -> dict[str, Any]:
    """Convert an RP: to a url if the pointer is an address, else to a title.

    A FHIR client would resolve a bare pointer against this server.
    """
    pointer = repetition.text(1) if repetition is not None else ""
    if repetition is None or not pointer:
        raise refusal(422, "required", "OBX-5 is missing: OBX-2 declares a pointer to a document (RP)")
    media = _media_type(repetition.text(3), repetition.text(4)) if repetition.text(3) or repetition.text(4) else ""
    if _ADDRESS.match(pointer):
        return drop_empty({"contentType": media, "url": quote(pointer, safe=_URL_SAFE), "title": _title(obx)})
    location = " ".join(filter(None, (repetition.text(2, 1), pointer)))
    return drop_empty({"contentType": media, "title": ": ".join(filter(None, (_title(obx), location)))})


def _title(obx: Segment) -> str:
    name = read_repetition(obx, 3)
    return (name.text(2) or name.text(1)) if name is not None else ""


def _media_type(kind: str, subtype: str) -> str:
    kind, subtype = kind.upper(), subtype.upper()
    if subtype in _SUBTYPES:
        return _SUBTYPES[subtype]
    media = f"{_MEDIA_TYPES.get(kind, kind)}/{subtype or 'plain'}".lower()
    return media if _MEDIA.fullmatch(media) else "application/octet-stream"


def _decode_data(repetition: Repetition) -> bytes:
    encoding, content = repetition.text(4).upper(), repetition.text(5)
    try:
        if encoding == "BASE64":
            return base64.b64decode(re.sub(r"\s", "", content), validate=True)
        if encoding == "HEX":
            return bytes.fromhex(content)
    except (binascii.Error, ValueError):
        raise refusal(
            422, "value", f"{repetition.where}: the document is not valid {repetition.text(4)[:20]}"
        ) from None
    if encoding in ("A", ""):
        return content.encode()
    raise refusal(
        422, "code-invalid", f"{repetition.where}: unknown encoding `{encoding[:20]}` (expected: A, Hex or Base64)"
    )


def build_text_attachment(lines: str) -> dict[str, Any]:
    """Convert a text to an attachment."""
    data = lines.encode()
    return {"contentType": "text/plain", "data": base64.b64encode(data).decode(), "size": len(data)}
