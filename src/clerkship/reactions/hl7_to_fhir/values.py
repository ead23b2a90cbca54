"""Convert OBX-5 to the value of an Observation by the data type of OBX-2, and OBX-7 to a reference range."""

import re
from collections.abc import Callable
from typing import Any

from clerkship.fhir import exact
from clerkship.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.codes import UCUM, find_system, to_concept
from clerkship.reactions.hl7_to_fhir.fields import Repetition, read_repetition, read_repetitions, read_text
from clerkship.reactions.hl7_to_fhir.filing import drop_empty
from clerkship.reactions.hl7_to_fhir.times import parse_clock, read_time
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
    whole, _, rest = text.lstrip("+-").partition(".")
    plain = f"{sign}{whole.lstrip('0') or '0'}{f'.{rest}' if rest else ''}"
    return exact.loads(f"[{plain}]".encode())[0]


def read_unit(obx: Segment) -> dict[str, Any]:
    """Convert OBX-6 to a unit, with its code if it is UCUM's."""
    found = read_repetition(obx, 6)
    if found is None:
        return {}
    code, shown = found.text(1), found.text(2)
    if code and find_system(found.text(3)) == UCUM:
        return {"unit": shown or code, "system": UCUM, "code": code}
    return drop_empty({"unit": shown or code})


def convert_value(obx: Segment, zone: int) -> dict[str, Any]:
    """Convert OBX-5: `{"valueQuantity": …}`; empty if OBX-5 is empty."""
    found = read_repetitions(obx, 5)
    if not found:
        return {}
    kind = read_text(obx, 2).upper()
    if kind in TEXT_TYPES:
        return {"valueString": "\n".join(each.whole for each in found)}
    read = _CONVERTERS.get(kind)
    if read is None:
        told = f"`{kind[:10]}`" if kind else "nothing"
        raise refusal(501, "not-supported", f"OBX-2: unsupported value type {told}")
    if len(found) > 1 and kind not in _CODED:
        raise refusal(422, "value", f"OBX-5 has {len(found)} values of type {kind}; an Observation has one")
    return read(found, obx, zone)


def _quantity(found: list[Repetition], obx: Segment, zone: int) -> dict[str, Any]:
    read = _NUMBER.fullmatch(found[0].whole)
    value = to_decimal(read[2]) if read is not None else None
    if read is None or value is None:
        raise refusal(422, "value", f"OBX-5: `{found[0].whole[:60]}` is not a number (NM)")
    return {"valueQuantity": drop_empty({"comparator": read[1]}) | {"value": value} | read_unit(obx)}


def _structured(found: list[Repetition], obx: Segment, zone: int) -> dict[str, Any]:
    """Convert an SN: `>^100`, `^10^-^20`, `^1^:^128`."""
    comparator, first, between, second = (found[0].text(at) for at in range(1, 5))
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
    raise refusal(422, "value", f"OBX-5: `{found[0].whole[:60]}` is not a structured numeric (SN)")


def _coded(found: list[Repetition], obx: Segment, zone: int) -> dict[str, Any]:
    concepts = [each for each in map(to_concept, found) if each is not None]
    if not concepts:
        return {}
    if len(concepts) == 1:
        return {"valueCodeableConcept": concepts[0]}
    codings = [each for one in concepts for each in one.get("coding", ())]
    return {"valueCodeableConcept": drop_empty({"coding": codings, "text": ", ".join(one["text"] for one in concepts)})}


def _time(found: list[Repetition], obx: Segment, zone: int) -> dict[str, Any]:
    read = read_time(found[0], zone)
    return {"valueDateTime": read.text} if read is not None else {}


def _clock(found: list[Repetition], obx: Segment, zone: int) -> dict[str, Any]:
    return {"valueTime": parse_clock(found[0])}


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
    found = read_repetition(obx, 7)
    if found is None:
        return []
    said, unit = found.whole, read_unit(obx)
    both, one = _CLOSED_RANGE.fullmatch(said), _OPEN_RANGE.fullmatch(said)
    made: dict[str, Any] = {"text": said}
    if both is not None and (low := to_decimal(both[1])) is not None and (high := to_decimal(both[2])) is not None:
        if low <= high:
            made |= {"low": {"value": low, **unit}, "high": {"value": high, **unit}}
    elif one is not None and (edge := to_decimal(one[2])) is not None:
        made["high" if one[1].startswith("<") else "low"] = {"value": edge, **unit}
    return [made]
