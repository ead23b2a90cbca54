"""FHIR's data types in words: a name as people write it, an address on one line, a quantity with its unit."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from clerkship.fhir import exact
from clerkship.fhir.exact import Decimal

_ASIDE = ("id", "extension", "period", "use", "rank")
_SYSTEMS = ("phone", "fax", "email", "pager", "url", "sms", "other")
_COMPARATORS = {"<": "less than ", "<=": "at most ", ">": "more than ", ">=": "at least "}
_NAMES = ("official", "usual", None, "nickname", "anonymous", "maiden", "old")
_HOMES = ("home", None, "work", "temp", "billing", "old")


def words(value: Any, name: str = "") -> str:
    """A value as it stands in a sentence; `name` is the element it was found in."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return _of_list(value, name)
    return _of_map(value) if isinstance(value, Mapping) else str(value)


def _of_list(items: Sequence[Any], name: str) -> str:
    """Of names and addresses the one that holds; of other things all."""
    maps = [item for item in items if isinstance(item, Mapping)]
    if maps and all(map(_is_name, maps)):
        return words(preferred(maps, _NAMES))
    if maps and all(map(_is_address, maps)):
        return words(preferred(maps, _HOMES))
    between = " " if name in ("given", "prefix", "suffix") else ", "
    return between.join(filter(None, (words(item) for item in items)))


def preferred(items: Sequence[Mapping[str, Any]], uses: Sequence[str | None]) -> Mapping[str, Any]:
    """The one to go by: by its use, and of several the first."""
    rank = {use: number for number, use in enumerate(uses)}
    return min(items, key=lambda item: rank.get(item.get("use"), len(rank)))


def _of_map(value: Mapping[str, Any]) -> str:
    for fits, told in _TYPES:
        if fits(value) and (text := told(value)):
            return text
    if isinstance(value.get("resourceType"), str):
        return title(value)
    return exact.dumps(dict(value)).decode() if exact.is_exact(dict(value)) else orjson.dumps(dict(value)).decode()


def _only(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    known = {*names, *_ASIDE}
    return lambda value: bool(value) and all(name.lstrip("_") in known for name in value)


_is_name = _only("text", "family", "given", "prefix", "suffix")
_is_contact = _only("system", "value")
_is_address = _only("type", "text", "line", "city", "district", "state", "postalCode", "country")


def _parts(*parts: Any, between: str = " ") -> str:
    return between.join(filter(None, (words(part, "given") for part in parts)))


def human_name(name: Mapping[str, Any]) -> str:
    """`Dr. Maria Elena Lopez`: put together where it is in parts, since its `text` may be in any order."""
    whole = _parts(name.get("prefix"), name.get("given"), name.get("family"), name.get("suffix"))
    return whole or words(name.get("text"))


def _address(address: Mapping[str, Any]) -> str:
    place = _parts(address.get("state"), address.get("postalCode"))
    line = words(address.get("line"))
    parts = [line, words(address.get("city")), words(address.get("district")), place, words(address.get("country"))]
    return ", ".join(filter(None, parts)) or words(address.get("text"))


def _concept(concept: Mapping[str, Any]) -> str:
    text = concept.get("text")
    coding = concept.get("coding")
    return words(text) if text else next(filter(None, map(words, coding if isinstance(coding, list) else ())), "")


def _quantity(quantity: Mapping[str, Any]) -> str:
    if isinstance(quantity.get("value"), str | None):
        return ""
    unit = quantity.get("unit") or quantity.get("code") or quantity.get("currency")
    number = f"{_COMPARATORS.get(str(quantity.get('comparator')), '')}{words(quantity['value'])}"
    return f"{number}{unit}" if unit == "%" else _parts(number, unit)


def _period(period: Mapping[str, Any]) -> str:
    start, end = words(period.get("start")), words(period.get("end"))
    return f"{start} to {end}" if start and end else f"since {start}" if start else f"until {end}" if end else ""


def _range(value: Mapping[str, Any]) -> str:
    low, high = words(value.get("low")), words(value.get("high"))
    return f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}" if high else ""


_TYPES: tuple[tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any]], str]], ...] = (
    (_only("coding", "text"), _concept),
    (_is_name, human_name),
    (_is_address, _address),
    (_only("value", "comparator", "unit", "system", "code", "currency"), _quantity),
    (lambda v: _is_contact(v) and v.get("system") in _SYSTEMS, lambda v: words(v.get("value"))),
    (_only("system", "version", "code", "display", "userSelected"), lambda v: words(v.get("display") or v.get("code"))),
    (_only("type", "system", "value", "assigner"), lambda v: words(v.get("value"))),
    (_only("start", "end"), _period),
    (_only("low", "high"), _range),
    (_only("numerator", "denominator"), lambda v: _parts(v.get("numerator"), v.get("denominator"), between=" / ")),
    (
        _only("reference", "type", "identifier", "display"),
        lambda v: words(v.get("display") or v.get("reference") or v.get("identifier")),
    ),
    (lambda v: "text" in v and "resourceType" not in v, lambda v: words(v["text"])),  # Annotation, Dosage
    (lambda v: "title" in v and "contentType" in v, lambda v: words(v["title"])),  # Attachment
)
"""By the elements it has: data does not say which type it is of."""

_SAYING = ("code", "medicationCodeableConcept", "vaccineCode", "type", "serviceType", "category", "description")
_WHEN = ("birthDate", "start", "authoredOn", "recordedDate", "issued", "date", "created", "occurrenceDateTime")


def title(resource: Mapping[str, Any]) -> str:
    """A resource as a list shows it: `Patient/pat-0003 Maria Lopez, born 1965-03-15`."""
    key = f"{resource.get('resourceType')}/{resource.get('id')}"
    said = words(resource.get("name")) or next(filter(None, (words(resource.get(name)) for name in _SAYING)), "")
    if resource.get("birthDate"):
        return f"{key} {said}, born {words(resource['birthDate'])}".replace(" ,", ",")
    value = words(choice(resource, "value")) if resource.get("resourceType") == "Observation" else ""
    when = next(filter(None, (words(resource.get(name)) for name in ("effectiveDateTime", *_WHEN))), "")
    parts = [f"{key} {said[:80]}".rstrip(), value[:80], words(resource.get("status")), when]
    return ", ".join(filter(None, parts))


def choice(data: Mapping[str, Any], name: str) -> Any:
    """What stands for `value[x]`, however its type is spelled; None where nothing does."""
    found = (key for key in data if key.startswith(name) and key[len(name) : len(name) + 1].isupper())
    key = next(found, None)
    return data[key] if key is not None else None
