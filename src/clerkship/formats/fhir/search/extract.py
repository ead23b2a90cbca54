"""Extract the searchable values of elements: codes, texts, time ranges, quantities, references."""

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeGuard

from clerkship.formats.fhir.resource import Resource, list_objects
from clerkship.formats.fhir.search.ranges import FOREVER, MAX_NUMBER, TimeRange, parse_date_range
from clerkship.formats.fhir.search_parameters import ParameterPath, select_elements

System = str | tuple[str, ...]
"""The system of a code; for a primitive, the systems that its binding implies."""
SPECIAL_VALUES = ("http://hl7.org/fhir/special-values",)
CURRENCY = "urn:iso:std:iso:4217"
_NAME = ("family", "given", "prefix", "suffix", "text")
_ADDRESS = ("text", "line", "city", "district", "state", "postalCode", "country")
_KEPT_CATEGORIES = {"L", "N", "S"}
"""Unicode categories that string searches compare: letters, numbers and symbols, not accents or punctuation."""


class QuantityRange(NamedTuple):
    """A quantity: lower and upper bound, both inclusive, and its unit as system, code and display."""

    low: float
    high: float
    unit: tuple[str, str, str]


NO_UNIT = ("", "", "")


def normalize_text(text: str) -> str:
    """Normalize a text for comparison: no case, accents, punctuation or repeated space (R4 §3.1.1.4.8, string)."""
    if text.isascii() and text.isalnum():
        return text.lower()
    # The rule of FHIR, not `text.folding.fold`: a search finds no letters that only look alike.
    plain = unicodedata.normalize("NFKD", text.casefold())
    filtered = "".join(
        c if unicodedata.category(c)[0] in _KEPT_CATEGORIES else " " if c.isspace() else "" for c in plain
    )
    return " ".join(filtered.split())


def extract_tokens(path: ParameterPath, resource: Resource, node: Any) -> Iterator[tuple[System, str]]:
    """Yield systems and codes; for a primitive, all systems that its binding implies."""
    if path.kind == "deceased":
        yield SPECIAL_VALUES, "true" if _is_deceased(resource) else "false"
        return
    for value in select_elements(path, node, resource):
        if isinstance(value, bool):
            yield SPECIAL_VALUES, "true" if value else "false"
        elif isinstance(value, str):
            yield path.systems, value.lower()
        elif isinstance(value, dict):
            yield from _extract_codes(path.kind, value)


def _is_deceased(resource: Resource) -> bool:
    return resource.get("deceasedBoolean") is True or "deceasedDateTime" in resource


def _extract_codes(kind: str, value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if kind == "CodeableConcept":
        for coding in list_objects(value, "coding"):
            yield from _extract_code(coding, "code")
    elif kind == "ContactPoint":
        if isinstance(value.get("value"), str):
            yield "", value["value"].lower()  # R4 does not define its system; `phone` or a use is not a code system
    else:
        yield from _extract_code(value, "code" if kind == "Coding" else "value")


def _extract_code(value: dict[str, Any], name: str) -> Iterator[tuple[str, str]]:
    system, code = value.get("system"), value.get(name)
    if isinstance(code, str) or isinstance(system, str):
        yield system if isinstance(system, str) else "", code.lower() if isinstance(code, str) else ""


def extract_labels(path: ParameterPath, resource: Resource, node: Any) -> Iterator[str]:
    """Yield the texts of codes: CodeableConcept.text, Coding.display, Identifier.type.text."""
    for value in select_elements(path, node, resource) if path.kind != "deceased" else ():
        if not isinstance(value, dict):
            continue
        if path.kind == "CodeableConcept":
            yield from _extract_texts(value, ("text",))
            for coding in list_objects(value, "coding"):
                yield from _extract_texts(coding, ("display",))
        elif path.kind == "Coding":
            yield from _extract_texts(value, ("display",))
        elif path.kind == "Identifier" and isinstance(value.get("type"), dict):
            yield from _extract_texts(value["type"], ("text",))


def extract_typed_identifiers(path: ParameterPath, resource: Resource, node: Any) -> Iterator[str]:
    """Yield `system|code|value` of every identifier with a type."""
    for value in select_elements(path, node, resource) if path.kind == "Identifier" else ():
        if isinstance(value, dict) and isinstance(value.get("type"), dict) and isinstance(value.get("value"), str):
            for system, code in _extract_codes("CodeableConcept", value["type"]):
                yield f"{system}|{code}|{value['value'].lower()}"


def extract_strings(path: ParameterPath, resource: Resource, node: Any) -> Iterator[str]:
    """Yield every text; names and addresses part by part."""
    for value in select_elements(path, node, resource):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from _extract_texts(value, _NAME if path.kind == "HumanName" else _ADDRESS)


def _extract_texts(value: dict[str, Any], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        texts = value.get(name)
        for item in texts if isinstance(texts, list) else (texts,):
            if isinstance(item, str):
                yield item


def extract_dates(path: ParameterPath, resource: Resource, node: Any, zone: int) -> list[TimeRange]:
    """Return the time ranges."""
    spans = [_to_time_range(path.kind, value, zone) for value in select_elements(path, node, resource)]
    return [span for span in spans if span is not None]


def _to_time_range(kind: str, value: Any, zone: int) -> TimeRange | None:
    if isinstance(value, str):
        return _parse_date(value, zone)
    if not isinstance(value, dict):
        return None
    if kind == "Period":
        return _parse_period(value, zone)
    repeat = value.get("repeat")
    bounds = repeat.get("boundsPeriod") if isinstance(repeat, dict) else None
    events = value.get("event")
    spans = [_parse_date(event, zone) for event in (events if isinstance(events, list) else ())]
    known = [
        span for span in [*spans, _parse_period(bounds, zone) if isinstance(bounds, dict) else None] if span is not None
    ]
    # Only the outer limits of a schedule count (R4 §3.1.1.4.7).
    return TimeRange(min(span.low for span in known), max(span.high for span in known)) if known else None


def _parse_period(value: dict[str, Any], zone: int) -> TimeRange | None:
    start, end = _parse_date(value.get("start"), zone), _parse_date(value.get("end"), zone)
    if start is None and end is None:
        return None
    return TimeRange(start.low if start is not None else -FOREVER, end.high if end is not None else FOREVER)


def _parse_date(text: Any, zone: int) -> TimeRange | None:
    if not isinstance(text, str):
        return None
    try:
        return parse_date_range(text, zone)
    except ValueError:
        return None  # possible on a lenient server; not found by date


def extract_quantities(path: ParameterPath, resource: Resource, node: Any) -> list[QuantityRange]:
    """Return every number or quantity."""
    quantities = [_to_quantity_range(path.kind, value) for value in select_elements(path, node, resource)]
    return [amount for amount in quantities if amount is not None]


def _to_quantity_range(kind: str, value: Any) -> QuantityRange | None:
    if _is_number(value):
        return QuantityRange(float(value), float(value), NO_UNIT)
    if not isinstance(value, dict):
        return None
    if kind == "Range":
        return _parse_range(value)
    if kind == "SampledData":
        return _parse_sampled_data(value)
    if not _is_number(value.get("value")):
        return None
    number = float(value["value"])
    if kind == "Money":
        return QuantityRange(number, number, (CURRENCY, _get_text(value, "currency"), ""))
    comparator = _get_text(value, "comparator")
    low = -MAX_NUMBER if comparator.startswith("<") else number
    return QuantityRange(low, MAX_NUMBER if comparator.startswith(">") else number, _get_unit(value))


def _parse_range(value: dict[str, Any]) -> QuantityRange | None:
    ends = [value[name] for name in ("low", "high") if isinstance(value.get(name), dict)]
    if not any(_is_number(end.get("value")) for end in ends):
        return None
    low, high = (_get_bound(value, name) for name in ("low", "high"))
    return QuantityRange(-MAX_NUMBER if low is None else low, MAX_NUMBER if high is None else high, _get_unit(ends[0]))


def _get_bound(value: dict[str, Any], name: str) -> float | None:
    end = value.get(name)
    number = end.get("value") if isinstance(end, dict) else None
    return float(number) if _is_number(number) else None


def _parse_sampled_data(value: dict[str, Any]) -> QuantityRange | None:
    origin = value.get("origin")
    if not isinstance(origin, dict) or not _is_number(origin.get("value")):
        return None
    factor = value.get("factor", 1)
    numbers = [_parse_float(word) for word in _get_text(value, "data").split()]
    points = [origin["value"] + number * factor for number in numbers if number is not None]
    return QuantityRange(min(points), max(points), _get_unit(origin)) if points else None


def _parse_float(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None  # E, U and L: error, above or below the limits


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _get_text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""


def _get_unit(value: dict[str, Any]) -> tuple[str, str, str]:
    return _get_text(value, "system"), _get_text(value, "code"), _get_text(value, "unit")


def extract_references(path: ParameterPath, resource: Resource, node: Any) -> Iterator[str]:
    """Yield references as they are written, without version: `Patient/42`, a URL, a canonical URL."""
    for value in select_elements(path, node, resource):
        text = value.get("reference") if isinstance(value, dict) else value
        if isinstance(text, str) and not text.startswith("#"):
            yield text.partition("/_history/")[0]


def extract_reference_identifiers(path: ParameterPath, resource: Resource, node: Any) -> Iterator[tuple[str, str]]:
    """Yield system and value of the identifiers in references."""
    for value in select_elements(path, node, resource):
        if isinstance(value, dict) and isinstance(value.get("identifier"), dict):
            yield from _extract_code(value["identifier"], "value")


def is_present(path: ParameterPath, resource: Resource) -> bool:
    """Return whether there is any value."""
    return path.kind == "deceased" or any(True for _ in select_elements(path, resource, resource))
