"""Convert OBX-5 to an attachment: an embedded document (ED), a pointer to one (RP), or lines of text."""

import base64
import binascii
import re
from typing import Any
from urllib.parse import quote

from clerkship.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.filing import trimmed
from clerkship.reactions.hl7_to_fhir.parts import Part, part, text
from clerkship.reactions.hl7_to_fhir.tables import code_table
from clerkship.simulators.fhir.outcome import refusal

_KINDS = {"AP": "application", "AU": "audio", "IM": "image", "FT": "text", "TX": "text", "TEXT": "text"}
"""HL7 table 0191, where its codes differ from the names of media types."""
_SUBTYPES = code_table("0291")
"""HL7 table 0291."""
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
_IN_ADDRESSES = ":/?#[]@!$&'()*+,;=%"
_MEDIA = re.compile(r"[a-z]+/[a-z0-9.+-]+")


def attachment(obx: Segment) -> dict[str, Any]:
    """Convert an ED, `LAB^application^pdf^Base64^JVBERi0…`, or an RP, `https://pacs.example/7^PACS^image^jpeg`."""
    found = part(obx, 5)
    if text(obx, 2).upper() == "RP":
        return _pointed(obx, found)
    data = _data(found) if found is not None else b""
    if found is None or not data:
        raise refusal(422, "required", "OBX-5 is empty, and OBX-2 says that it is a document (ED)")
    media = _media(found.text(2), found.text(3))
    return trimmed(
        {"contentType": media, "title": _title(obx), "data": base64.b64encode(data).decode(), "size": len(data)}
    )


def _pointed(obx: Segment, found: Part | None) -> dict[str, Any]:
    """Convert an RP: a url if the pointer is an address, else a title, since a FHIR client would resolve a bare
    pointer against this server."""
    pointer = found.text(1) if found is not None else ""
    if found is None or not pointer:
        raise refusal(422, "required", "OBX-5 is empty, and OBX-2 says that it is where a document lies (RP)")
    media = _media(found.text(3), found.text(4)) if found.text(3) or found.text(4) else ""
    if _ADDRESS.match(pointer):
        return trimmed({"contentType": media, "url": quote(pointer, safe=_IN_ADDRESSES), "title": _title(obx)})
    told = " ".join(filter(None, (found.text(2, 1), pointer)))
    return trimmed({"contentType": media, "title": ": ".join(filter(None, (_title(obx), told)))})


def _title(obx: Segment) -> str:
    name = part(obx, 3)
    return (name.text(2) or name.text(1)) if name is not None else ""


def _media(kind: str, subtype: str) -> str:
    kind, subtype = kind.upper(), subtype.upper()
    if subtype in _SUBTYPES:
        return _SUBTYPES[subtype]
    media = f"{_KINDS.get(kind, kind)}/{subtype or 'plain'}".lower()
    return media if _MEDIA.fullmatch(media) else "application/octet-stream"


def _data(found: Part) -> bytes:
    encoding, content = found.text(4).upper(), found.text(5)
    try:
        if encoding == "BASE64":
            return base64.b64decode(re.sub(r"\s", "", content), validate=True)
        if encoding == "HEX":
            return bytes.fromhex(content)
    except (binascii.Error, ValueError):
        raise refusal(422, "value", f"{found.where}: the document is not {found.text(4)[:20]}, as it says") from None
    if encoding in ("A", ""):
        return content.encode()
    raise refusal(422, "code-invalid", f"{found.where}: `{encoding[:20]}` is no encoding; A, Hex and Base64 are")


def plain(lines: str) -> dict[str, Any]:
    """Convert a text to an attachment."""
    data = lines.encode()
    return {"contentType": "text/plain", "data": base64.b64encode(data).decode(), "size": len(data)}
