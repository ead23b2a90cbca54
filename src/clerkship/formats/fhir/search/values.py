"""Parse the values of search parameters by type and modifier (R4 §3.1.1.4)."""

import re
from collections.abc import Callable, Iterator
from typing import cast

from clerkship.formats.fhir.issue import fhir_error
from clerkship.formats.fhir.resource import ID_PATTERN
from clerkship.formats.fhir.search.extract import normalize_text
from clerkship.formats.fhir.search.query import (
    DateValue,
    Prefix,
    QuantityValue,
    ReferenceValue,
    SearchContext,
    SearchValue,
    TextValue,
    TokenValue,
)
from clerkship.formats.fhir.search.ranges import parse_date_range, parse_number
from clerkship.formats.fhir.search_parameters import SearchParameter

MAX_VALUES_PER_PARAMETER = 1000
"""The maximum number of alternatives of one parameter."""
_PREFIX = re.compile(r"(eq|ne|gt|ge|lt|le|sa|eb|ap)?(.*)", re.DOTALL)
_UNESCAPED = re.compile(r"(T[\d:.]+) (\d\d:\d\d)")
"""A time whose zone was written with an unescaped `+`, which means a space in a query string."""
_RELATIVE = re.compile(r"([A-Z][A-Za-z]+)/([A-Za-z0-9\-.]{1,64})(?:/_history/[A-Za-z0-9\-.]{1,64})?")


def split_unescaped(text: str, mark: str) -> list[str]:
    """Split a text at a separator that is not escaped; backslashes are kept."""
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == mark:
            parts.append(text[start:at])
            start = at + 1
        at += 1
    return [*parts, text[start:]]


def unescape(text: str) -> str:
    r"""Remove the escapes `\,`, `\|`, `\$` and `\\` (R4 §3.1.1.4.1)."""
    return re.sub(r"\\([,|$\\])", r"\1", text) if "\\" in text else text


def split_alternatives(name: str, text: str) -> list[str]:
    """Split a value at its commas; raises FhirError if there are too many values, or an empty one."""
    values = split_unescaped(text, ",")
    if len(values) > MAX_VALUES_PER_PARAMETER:
        raise fhir_error(
            "too-costly", f"{name} has {len(values)} values; at most {MAX_VALUES_PER_PARAMETER} are allowed"
        )
    if not all(values):
        raise fhir_error("value", f"{name} has an empty value: omit the parameter, or give a value")
    return values


def parse_boolean(name: str, text: str) -> bool:
    """Parse `true` or `false`; raise FhirError for any other text."""
    if text not in {"true", "false"}:
        raise fhir_error("value", f"{name} is true or false, not {text!r}")
    return text == "true"


def parse_value(name: str, parameter: SearchParameter, modifier: str, text: str, context: SearchContext) -> SearchValue:
    """Parse one value of a parameter; raises FhirError."""
    if parameter.type == "reference" and modifier != "identifier":
        return parse_reference_value(name, parameter, modifier, unescape(text), context)
    if parameter.type == "date":
        return parse_date(name, text, context)
    return _PARSERS[parameter.type](name, modifier, text)


def _parse_token(name: str, modifier: str, text: str) -> SearchValue:
    if modifier == "text":
        return parse_text(name, "", text)
    parts = [unescape(part) for part in split_unescaped(text, "|")]
    if modifier == "of-type":
        if len(parts) != 3 or not all(parts):
            raise fhir_error("value", f"{name} is system|code|value, all three of them")
        return TextValue(f"{parts[0]}|{parts[1].lower()}|{parts[2].lower()}", "same")
    if len(parts) > 2:
        raise fhir_error("value", f"{name} is code or system|code; write \\| for a | that belongs to it")
    if len(parts) == 1:
        return TokenValue(None, parts[0].lower())
    if not any(parts):
        raise fhir_error("value", f"{name} has neither system nor code")
    return TokenValue(parts[0], parts[1].lower() or None)


def parse_text(name: str, modifier: str, text: str) -> SearchValue:
    """Parse a text by its modifier."""
    text = unescape(text)
    if modifier == "exact":
        return TextValue(text, "same")
    looked = normalize_text(text)
    if not looked:
        raise fhir_error("value", f"{name}: {text!r} has no letter or digit to search for")
    return TextValue(looked, "contains" if modifier == "contains" else "starts")


def _parse_uri(name: str, modifier: str, text: str) -> SearchValue:
    return TextValue(unescape(text), "above" if modifier == "above" else "starts" if modifier == "below" else "same")


def _parse_quantity(name: str, modifier: str, text: str) -> SearchValue:
    number, *unit = split_unescaped(text, "|")
    if len(unit) not in {0, 2}:
        raise fhir_error("value", f"{name} is a number, or number|system|code: {text!r} is neither")
    prefix, digits = _split_prefix(number)
    try:
        value, low, high = parse_number(digits)
    except ValueError as error:
        raise fhir_error("value", f"{name}: {error}") from None
    if prefix == "ap":
        low, high = min(low, value - abs(value) * 0.1), max(high, value + abs(value) * 0.1)
    system, code = (unescape(part) or None for part in unit) if unit else (None, None)
    return QuantityValue(prefix, value, low, high, system, code)


def _parse_number(name: str, modifier: str, text: str) -> SearchValue:
    if "|" in text:
        raise fhir_error("value", f"{name} is a number without a unit, not {text!r}")
    return _parse_quantity(name, modifier, text)


def parse_date(name: str, text: str, context: SearchContext) -> DateValue:
    """Parse a date with its prefix; `ap` extends it by a tenth of the distance to now, if that is known (R4
    §3.1.1.4.5).
    """
    prefix, written = _split_prefix(unescape(text))
    try:
        low, high = parse_date_range(_UNESCAPED.sub(r"\1+\2", written), context.zone)
    except ValueError as error:
        raise fhir_error("value", f"{name}: {error}") from None
    if prefix == "ap" and context.now is not None:
        margin = max(abs(context.now - low), abs(context.now - high)) // 10
        return DateValue(prefix, low - margin, high + margin)
    return DateValue(prefix, low, high)


def _split_prefix(text: str) -> tuple[Prefix, str]:
    match = _PREFIX.fullmatch(text)
    assert match is not None
    return cast(Prefix, match[1] or "eq"), match[2]


def parse_reference_value(
    name: str, parameter: SearchParameter, modifier: str, text: str, context: SearchContext
) -> ReferenceValue:
    """Parse a reference: `42`, `Patient/42`, a URL, or a canonical URL with or without version."""
    if context.base and text.startswith(context.base.rstrip("/") + "/"):
        text = text[len(context.base.rstrip("/")) + 1 :]
    match = _RELATIVE.fullmatch(text)
    if match is not None:
        if modifier and match[1] != modifier:
            raise fhir_error("value", f"{name} expects a {modifier}, not {text}")
        return ReferenceValue(tuple(_with_base([f"{match[1]}/{match[2]}"], context)))
    if ID_PATTERN.fullmatch(text):
        types = [modifier] if modifier else sorted(parameter.targets)
        return ReferenceValue((*_with_base((f"{type}/{text}" for type in types), context), text))
    if ":" in text:
        return ReferenceValue((text,))
    raise fhir_error("value", f"{name} must be an id, Type/id or a URL, not {text!r}")


def _with_base(keys: "Iterator[str] | list[str]", context: SearchContext) -> Iterator[str]:
    for key in keys:
        yield key
        if context.base:
            yield f"{context.base.rstrip('/')}/{key}"


_PARSERS: dict[str, Callable[[str, str, str], SearchValue]] = {
    "token": _parse_token,
    "reference": _parse_token,  # only by identifier; other references are parsed above
    "string": parse_text,
    "uri": _parse_uri,
    "number": _parse_number,
    "quantity": _parse_quantity,
}
