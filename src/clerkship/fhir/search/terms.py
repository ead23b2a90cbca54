"""What the elements of a resource say to a search: codes, words, spans of time, amounts, references."""

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeGuard

from clerkship.fhir.parameters import Arm, elements
from clerkship.fhir.resource import Resource, objects_in
from clerkship.fhir.search.spans import FOREVER, MOST, Span, date_span

System = str | tuple[str, ...]
"""What an element says of its system; of what says nothing itself, those that its definition implies."""
SPECIAL = ("http://hl7.org/fhir/special-values",)
CURRENCY = "urn:iso:std:iso:4217"
_NAME = ("family", "given", "prefix", "suffix", "text")
_ADDRESS = ("text", "line", "city", "district", "state", "postalCode", "country")
_KEPT = {"L", "N", "S"}
"""Of Unicode's classes, what a search by words looks at: letters, digits, signs. Not accents, not punctuation."""


class Amount(NamedTuple):
    """A quantity: from, to (both in it), and its unit as system, code and what people read."""

    low: float
    high: float
    unit: tuple[str, str, str]


NO_UNIT = ("", "", "")


def normal(text: str) -> str:
    """A text as searches compare it: without case, accents, punctuation and repeated space (R4 §3.1.1.4.8, string)."""
    if text.isascii() and text.isalnum():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(c if unicodedata.category(c)[0] in _KEPT else " " if c.isspace() else "" for c in plain)
    return " ".join(kept.split())


def tokens(arm: Arm, resource: Resource, node: Any) -> Iterator[tuple[System, str]]:
    """System and code of everything there; for a primitive, all systems that are implied, for it says none itself."""
    if arm.kind == "deceased":
        yield SPECIAL, "true" if _deceased(resource) else "false"
        return
    for value in elements(arm, node, resource):
        if isinstance(value, bool):
            yield SPECIAL, "true" if value else "false"
        elif isinstance(value, str):
            yield arm.systems, value.lower()
        elif isinstance(value, dict):
            yield from _coded(arm.kind, value)


def _deceased(resource: Resource) -> bool:
    return resource.get("deceasedBoolean") is True or "deceasedDateTime" in resource


def _coded(kind: str, value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if kind == "CodeableConcept":
        for coding in objects_in(value, "coding"):
            yield from _pair(coding, "code")
    elif kind == "ContactPoint":
        if isinstance(value.get("value"), str):
            yield "", value["value"].lower()  # R4 leaves open what its system is; a use or `phone` is no system
    else:
        yield from _pair(value, "code" if kind == "Coding" else "value")


def _pair(value: dict[str, Any], name: str) -> Iterator[tuple[str, str]]:
    system, code = value.get("system"), value.get(name)
    if isinstance(code, str) or isinstance(system, str):
        yield system if isinstance(system, str) else "", code.lower() if isinstance(code, str) else ""


def labels(arm: Arm, resource: Resource, node: Any) -> Iterator[str]:
    """The words beside codes: CodeableConcept.text, Coding.display, Identifier.type.text."""
    for value in elements(arm, node, resource) if arm.kind != "deceased" else ():
        if not isinstance(value, dict):
            continue
        if arm.kind == "CodeableConcept":
            yield from _strings(value, ("text",))
            for coding in objects_in(value, "coding"):
                yield from _strings(coding, ("display",))
        elif arm.kind == "Coding":
            yield from _strings(value, ("display",))
        elif arm.kind == "Identifier" and isinstance(value.get("type"), dict):
            yield from _strings(value["type"], ("text",))


def typed_identifiers(arm: Arm, resource: Resource, node: Any) -> Iterator[str]:
    """`system|code|value` of every identifier that says its type."""
    for value in elements(arm, node, resource) if arm.kind == "Identifier" else ():
        if isinstance(value, dict) and isinstance(value.get("type"), dict) and isinstance(value.get("value"), str):
            for system, code in _coded("CodeableConcept", value["type"]):
                yield f"{system}|{code}|{value['value'].lower()}"


def strings(arm: Arm, resource: Resource, node: Any) -> Iterator[str]:
    """Every text there, a name's and an address's part by part."""
    for value in elements(arm, node, resource):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from _strings(value, _NAME if arm.kind == "HumanName" else _ADDRESS)


def _strings(value: dict[str, Any], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        found = value.get(name)
        for item in found if isinstance(found, list) else (found,):
            if isinstance(item, str):
                yield item


def dates(arm: Arm, resource: Resource, node: Any, zone: int) -> list[Span]:
    """The time everything there covers."""
    spans = [_covered(arm.kind, value, zone) for value in elements(arm, node, resource)]
    return [span for span in spans if span is not None]


def _covered(kind: str, value: Any, zone: int) -> Span | None:
    if isinstance(value, str):
        return _moment(value, zone)
    if not isinstance(value, dict):
        return None
    if kind == "Period":
        return _period(value, zone)
    repeat = value.get("repeat")
    bounds = repeat.get("boundsPeriod") if isinstance(repeat, dict) else None
    events = value.get("event")
    spans = [_moment(event, zone) for event in (events if isinstance(events, list) else ())]
    known = [span for span in [*spans, _period(bounds, zone) if isinstance(bounds, dict) else None] if span is not None]
    # Of a schedule the outer limits alone matter (R4 §3.1.1.4.7).
    return Span(min(span.low for span in known), max(span.high for span in known)) if known else None


def _period(value: dict[str, Any], zone: int) -> Span | None:
    start, end = _moment(value.get("start"), zone), _moment(value.get("end"), zone)
    if start is None and end is None:
        return None
    return Span(start.low if start is not None else -FOREVER, end.high if end is not None else FOREVER)


def _moment(text: Any, zone: int) -> Span | None:
    if not isinstance(text, str):
        return None
    try:
        return date_span(text, zone)
    except ValueError:
        return None  # a lenient server keeps such; no search by date can find it


def amounts(arm: Arm, resource: Resource, node: Any) -> list[Amount]:
    """Every number or quantity there."""
    found = [_amount(arm.kind, value) for value in elements(arm, node, resource)]
    return [amount for amount in found if amount is not None]


def _amount(kind: str, value: Any) -> Amount | None:
    if _is_number(value):
        return Amount(float(value), float(value), NO_UNIT)
    if not isinstance(value, dict):
        return None
    if kind == "Range":
        return _range(value)
    if kind == "SampledData":
        return _sampled(value)
    if not _is_number(value.get("value")):
        return None
    number = float(value["value"])
    if kind == "Money":
        return Amount(number, number, (CURRENCY, _text(value, "currency"), ""))
    comparator = _text(value, "comparator")
    low = -MOST if comparator.startswith("<") else number
    return Amount(low, MOST if comparator.startswith(">") else number, _unit(value))


def _range(value: dict[str, Any]) -> Amount | None:
    ends = [value[name] for name in ("low", "high") if isinstance(value.get(name), dict)]
    if not any(_is_number(end.get("value")) for end in ends):
        return None
    low, high = (_end(value, name) for name in ("low", "high"))
    return Amount(-MOST if low is None else low, MOST if high is None else high, _unit(ends[0]))


def _end(value: dict[str, Any], name: str) -> float | None:
    end = value.get(name)
    number = end.get("value") if isinstance(end, dict) else None
    return float(number) if _is_number(number) else None


def _sampled(value: dict[str, Any]) -> Amount | None:
    origin = value.get("origin")
    if not isinstance(origin, dict) or not _is_number(origin.get("value")):
        return None
    factor = value.get("factor", 1)
    numbers = [_float(word) for word in _text(value, "data").split()]
    points = [origin["value"] + number * factor for number in numbers if number is not None]
    return Amount(min(points), max(points), _unit(origin)) if points else None


def _float(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None  # E, U and L: an error, above or below what can be measured


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: dict[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _unit(value: dict[str, Any]) -> tuple[str, str, str]:
    return _text(value, "system"), _text(value, "code"), _text(value, "unit")


def links(arm: Arm, resource: Resource, node: Any) -> Iterator[str]:
    """What the references there say, as written but for a version: `Patient/42`, an address, a canonical URL."""
    for value in elements(arm, node, resource):
        text = value.get("reference") if isinstance(value, dict) else value
        if isinstance(text, str) and not text.startswith("#"):
            yield text.partition("/_history/")[0]


def reference_identifiers(arm: Arm, resource: Resource, node: Any) -> Iterator[tuple[str, str]]:
    """System and value of the identifiers by which references mean something."""
    for value in elements(arm, node, resource):
        if isinstance(value, dict) and isinstance(value.get("identifier"), dict):
            yield from _pair(value["identifier"], "value")


def is_present(arm: Arm, resource: Resource) -> bool:
    """Whether there is anything at all."""
    return arm.kind == "deceased" or any(True for _ in elements(arm, resource, resource))
