"""Convert OBX-5 to the value of an Observation by the data type of OBX-2, and OBX-7 to a reference range."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from clerkship.formats.fhir import exact
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.fields import (
    UCUM,
    Repetition,
    code_table,
    find_system,
    parse_clock,
    read_repetition,
    read_repetitions,
    read_text,
    read_time,
    to_concept,
)
from clerkship.reactions.hl7_to_fhir.filing import drop_empty
from clerkship.simulators.fhir.outcome import refusal

TEXT_TYPES = frozenset({"ST", "TX", "FT", "SI"})
DOCUMENT_TYPES = frozenset({"ED", "RP"})
_DIGITS = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_NUMBER = re.compile(rf"\s*(<=|>=|<|>)?\s*({_DIGITS})\s*")
_CLOSED_RANGE = re.compile(rf"\s*({_DIGITS})\s*(?:-|to|–)\s*({_DIGITS})\s*")
_OPEN_RANGE = re.compile(rf"\s*(<=|>=|<|>)\s*({_DIGITS})\s*")
_MAX_LENGTH = 40
"""The largest number of digits."""


def to_decimal(text: str) -> Any:
    """Convert a number to a FHIR decimal with the same digits; None if it is not a number."""
    if re.fullmatch(_DIGITS, text) is None or len(text) > _MAX_LENGTH:
        return None
    sign = "-" if text.startswith("-") else ""
    whole, _, fraction = text.lstrip("+-").partition(".")
    normalized = f"{sign}{whole.lstrip('0') or '0'}{f'.{fraction}' if fraction else ''}"
    return exact.loads(f"[{normalized}]".encode())[0]


def read_unit(obx: Segment) -> dict[str, Any]:
    """Convert OBX-6 to a unit, with its code if it is UCUM's."""
    repetition = read_repetition(obx, 6)
    if repetition is None:
        return {}
    code, display = repetition.text(1), repetition.text(2)
    if code and find_system(repetition.text(3)) == UCUM:
        return {"unit": display or code, "system": UCUM, "code": code}
    return drop_empty({"unit": display or code})


def convert_value(obx: Segment, zone: int) -> dict[str, Any]:
    """Convert OBX-5: `{"valueQuantity": …}`; empty if OBX-5 is empty."""
    repetitions = read_repetitions(obx, 5)
    if not repetitions:
        return {}
    kind = read_text(obx, 2).upper()
    if kind in TEXT_TYPES:
        return {"valueString": "\n".join(each.whole for each in repetitions)}
    read = _CONVERTERS.get(kind)
    if read is None:
        type_text = f"`{kind[:10]}`" if kind else "nothing"
        raise refusal(501, "not-supported", f"OBX-2: unsupported value type {type_text}")
    if len(repetitions) > 1 and kind not in _CODED:
        raise refusal(422, "value", f"OBX-5 has {len(repetitions)} values of type {kind}; an Observation has one")
    return read(repetitions, obx, zone)


def _quantity(repetitions: list[Repetition], obx: Segment, zone: int) -> dict[str, Any]:
    match = _NUMBER.fullmatch(repetitions[0].whole)
    value = to_decimal(match[2]) if match is not None else None
    if match is None or value is None:
        raise refusal(422, "value", f"OBX-5: `{repetitions[0].whole[:60]}` is not a number (NM)")
    return {"valueQuantity": drop_empty({"comparator": match[1]}) | {"value": value} | read_unit(obx)}


def _structured(repetitions: list[Repetition], obx: Segment, zone: int) -> dict[str, Any]:
    """Convert an SN: `>^100`, `^10^-^20`, `^1^:^128`."""
    comparator, first, between, second = (repetitions[0].text(at) for at in range(1, 5))
    low, high, unit = to_decimal(first), to_decimal(second), read_unit(obx)
    if low is not None and not between and not second:
        if comparator in ("", "=", "<", "<=", ">", ">="):
            sign = drop_empty({"comparator": comparator.strip("=") and comparator})
            return {"valueQuantity": sign | {"value": low} | unit}
    elif low is not None and high is not None and not comparator and between == "-":
        return {"valueRange": {"low": {"value": low, **unit}, "high": {"value": high, **unit}}}
    elif low is not None and high is not None and not comparator and between in (":", "/"):
        return {"valueRatio": {"numerator": {"value": low, **unit}, "denominator": {"value": high}}}
    elif low is not None and between == "+" and not second:
        return {"valueString": f"{comparator}{first}+"}
    raise refusal(422, "value", f"OBX-5: `{repetitions[0].whole[:60]}` is not a structured numeric (SN)")


def _coded(repetitions: list[Repetition], obx: Segment, zone: int) -> dict[str, Any]:
    concepts = [each for each in map(to_concept, repetitions) if each is not None]
    if not concepts:
        return {}
    if len(concepts) == 1:
        return {"valueCodeableConcept": concepts[0]}
    codings = [each for item in concepts for each in item.get("coding", ())]
    return {
        "valueCodeableConcept": drop_empty({"coding": codings, "text": ", ".join(item["text"] for item in concepts)})
    }


def _time(repetitions: list[Repetition], obx: Segment, zone: int) -> dict[str, Any]:
    time = read_time(repetitions[0], zone)
    return {"valueDateTime": time.text} if time is not None else {}


def _clock(repetitions: list[Repetition], obx: Segment, zone: int) -> dict[str, Any]:
    return {"valueTime": parse_clock(repetitions[0])}


_CODED = ("CE", "CWE", "CNE", "CF", "IS", "ID")
_CONVERTERS: dict[str, Callable[[list[Repetition], Segment, int], dict[str, Any]]] = {
    "NM": _quantity,
    "SN": _structured,
    **dict.fromkeys(_CODED, _coded),
    **dict.fromkeys(("DT", "TS", "DTM"), _time),
    "TM": _clock,
}


def convert_reference_range(obx: Segment) -> list[dict[str, Any]]:
    """Convert OBX-7: always as text (`<5` is not `up to 5`), and in numbers where possible."""
    repetition = read_repetition(obx, 7)
    if repetition is None:
        return []
    text, unit = repetition.whole, read_unit(obx)
    closed, half_open = _CLOSED_RANGE.fullmatch(text), _OPEN_RANGE.fullmatch(text)
    range_element: dict[str, Any] = {"text": text}
    if (
        closed is not None
        and (low := to_decimal(closed[1])) is not None
        and (high := to_decimal(closed[2])) is not None
    ):
        if low <= high:
            range_element |= {"low": {"value": low, **unit}, "high": {"value": high, **unit}}
    elif half_open is not None and (edge := to_decimal(half_open[2])) is not None:
        range_element["high" if half_open[1].startswith("<") else "low"] = {"value": edge, **unit}
    return [range_element]


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
