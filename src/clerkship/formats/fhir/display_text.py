"""FHIR datatypes as text: a name as it is spoken, an address on one line, a quantity with its unit."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.exact import Decimal

_COMMON_ELEMENTS = ("id", "extension", "period", "use", "rank")
_SYSTEMS = ("phone", "fax", "email", "pager", "url", "sms", "other")
_COMPARATORS = {"<": "less than ", "<=": "at most ", ">": "more than ", ">=": "at least "}
_NAME_USES = ("official", "usual", None, "nickname", "anonymous", "maiden", "old")
_ADDRESS_USES = ("home", None, "work", "temp", "billing", "old")


def to_text(value: Any, name: str = "") -> str:
    """Return a value as text for a sentence; `name` is the element that has it."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return _list_to_text(value, name)
    return _object_to_text(value) if isinstance(value, Mapping) else str(value)


def _list_to_text(items: Sequence[Any], name: str) -> str:
    """Return the preferred name or address of a list; for other types, all items."""
    maps = [item for item in items if isinstance(item, Mapping)]
    if maps and all(map(_is_name, maps)):
        return to_text(select_preferred(maps, _NAME_USES))
    if maps and all(map(_is_address, maps)):
        return to_text(select_preferred(maps, _ADDRESS_USES))
    between = " " if name in ("given", "prefix", "suffix") else ", "
    return between.join(filter(None, (to_text(item) for item in items)))


def select_preferred(items: Sequence[Mapping[str, Any]], uses: Sequence[str | None]) -> Mapping[str, Any]:
    """Return the item with the most preferred use; of several, the first."""
    rank = {use: number for number, use in enumerate(uses)}
    return min(items, key=lambda item: rank.get(item.get("use"), len(rank)))


def _object_to_text(value: Mapping[str, Any]) -> str:
    for is_type, format_value in _FORMATTERS:
        if is_type(value) and (text := format_value(value)):
            return text
    if isinstance(value.get("resourceType"), str):
        return format_title(value)
    return (
        exact.dumps(dict(value)).decode()
        if exact.has_exact_decimals(dict(value))
        else orjson.dumps(dict(value)).decode()
    )


def _has_only(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    known = {*names, *_COMMON_ELEMENTS}
    return lambda value: bool(value) and all(name.lstrip("_") in known for name in value)


_is_name = _has_only("text", "family", "given", "prefix", "suffix")
_is_contact = _has_only("system", "value")
_is_address = _has_only("type", "text", "line", "city", "district", "state", "postalCode", "country")


def _join_parts(*parts: Any, between: str = " ") -> str:
    return between.join(filter(None, (to_text(part, "given") for part in parts)))


def format_human_name(name: Mapping[str, Any]) -> str:
    """Return a name such as `Dr. Maria Elena Lopez`, built from its parts because the order in `text` varies."""
    name_parts = _join_parts(name.get("prefix"), name.get("given"), name.get("family"), name.get("suffix"))
    return name_parts or to_text(name.get("text"))


def _format_address(address: Mapping[str, Any]) -> str:
    place = _join_parts(address.get("state"), address.get("postalCode"))
    line = to_text(address.get("line"))
    parts = [
        line,
        to_text(address.get("city")),
        to_text(address.get("district")),
        place,
        to_text(address.get("country")),
    ]
    return ", ".join(filter(None, parts)) or to_text(address.get("text"))


def _format_concept(concept: Mapping[str, Any]) -> str:
    text = concept.get("text")
    coding = concept.get("coding")
    return to_text(text) if text else next(filter(None, map(to_text, coding if isinstance(coding, list) else ())), "")


def _format_quantity(quantity: Mapping[str, Any]) -> str:
    if isinstance(quantity.get("value"), str | None):
        return ""
    unit = quantity.get("unit") or quantity.get("code") or quantity.get("currency")
    number = f"{_COMPARATORS.get(str(quantity.get('comparator')), '')}{to_text(quantity['value'])}"
    return f"{number}{unit}" if unit == "%" else _join_parts(number, unit)


def _format_period(period: Mapping[str, Any]) -> str:
    start, end = to_text(period.get("start")), to_text(period.get("end"))
    return f"{start} to {end}" if start and end else f"since {start}" if start else f"until {end}" if end else ""


def _format_range(value: Mapping[str, Any]) -> str:
    low, high = to_text(value.get("low")), to_text(value.get("high"))
    return f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}" if high else ""


_FORMATTERS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any]], str]], ...] = (
    (_has_only("coding", "text"), _format_concept),
    (_is_name, format_human_name),
    (_is_address, _format_address),
    (_has_only("value", "comparator", "unit", "system", "code", "currency"), _format_quantity),
    (lambda v: _is_contact(v) and v.get("system") in _SYSTEMS, lambda v: to_text(v.get("value"))),
    (
        _has_only("system", "version", "code", "display", "userSelected"),
        lambda v: to_text(v.get("display") or v.get("code")),
    ),
    (_has_only("type", "system", "value", "assigner"), lambda v: to_text(v.get("value"))),
    (_has_only("start", "end"), _format_period),
    (_has_only("low", "high"), _format_range),
    (
        _has_only("numerator", "denominator"),
        lambda v: _join_parts(v.get("numerator"), v.get("denominator"), between=" / "),
    ),
    (
        _has_only("reference", "type", "identifier", "display"),
        lambda v: to_text(v.get("display") or v.get("reference") or v.get("identifier")),
    ),
    (lambda v: "text" in v and "resourceType" not in v, lambda v: to_text(v["text"])),  # Annotation, Dosage
    (lambda v: "title" in v and "contentType" in v, lambda v: to_text(v["title"])),  # Attachment
)
"""A test and a formatter for each datatype. Data does not name its type, so the elements decide."""

_DESCRIBING_ELEMENTS = (
    "code",
    "medicationCodeableConcept",
    "vaccineCode",
    "type",
    "serviceType",
    "category",
    "description",
)
_DATE_ELEMENTS = ("birthDate", "start", "authoredOn", "recordedDate", "issued", "date", "created", "occurrenceDateTime")


def format_title(resource: Mapping[str, Any]) -> str:
    """Return a resource on one line: `Patient/pat-0003 Maria Lopez, born 1965-03-15`."""
    key = f"{resource.get('resourceType')}/{resource.get('id')}"
    description = to_text(resource.get("name")) or next(
        filter(None, (to_text(resource.get(name)) for name in _DESCRIBING_ELEMENTS)), ""
    )
    if resource.get("birthDate"):
        return f"{key} {description}, born {to_text(resource['birthDate'])}".replace(" ,", ",")
    value = to_text(get_choice_value(resource, "value")) if resource.get("resourceType") == "Observation" else ""
    when = next(filter(None, (to_text(resource.get(name)) for name in ("effectiveDateTime", *_DATE_ELEMENTS))), "")
    parts = [f"{key} {description[:80]}".rstrip(), value[:80], to_text(resource.get("status")), when]
    return ", ".join(filter(None, parts))


def get_choice_value(data: Mapping[str, Any], name: str) -> Any:
    """Return the value of a choice element, such as `valueQuantity` for `value`; None if there is none."""
    keys = (key for key in data if key.startswith(name) and key[len(name) : len(name) + 1].isupper())
    key = next(keys, None)
    return data[key] if key is not None else None
