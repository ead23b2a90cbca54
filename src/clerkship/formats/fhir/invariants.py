"""Invariants of R4: those that are cheap to check and unambiguous."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.formats.fhir.definitions import StructureDefinition
from clerkship.formats.fhir.resource import list_objects

_TABLE = Path(__file__).parent / "tables" / "invariants.json"
InvariantCheck = Callable[[Mapping[str, Any]], bool]


class Invariant(NamedTuple):
    """One invariant: its key in R4, a message, and a check."""

    key: str
    text: str
    is_satisfied: InvariantCheck


def get_invariants(definition: StructureDefinition) -> tuple[Invariant, ...]:
    """Return the invariants of a type."""
    return (*_build_table_invariants(definition), *_TYPE_INVARIANTS.get(definition.name, ()))


@cache
def _load_table() -> list[tuple[str, str, str, list[str]]]:
    """Load the invariants of common forms: type, key, form, and elements."""
    table: list[tuple[str, str, str, list[str]]] = orjson.loads(_TABLE.read_bytes())
    return table


def _build_table_invariants(definition: StructureDefinition) -> Iterator[Invariant]:
    for type, key, form, names in _load_table():
        if type == definition.name:
            text, check = _FORMS[form]
            is_satisfied = check(*(_list_json_names(definition, name) for name in names))
            yield Invariant(key, text.format(*names, all=", ".join(names)), is_satisfied)


def _list_json_names(definition: StructureDefinition, name: str) -> frozenset[str]:
    names = [spelling for element in definition.elements if element.name == name for spelling in element.spellings]
    return frozenset((*names, *("_" + spelling for spelling in names)))


def _requires(one: frozenset[str], other: frozenset[str]) -> InvariantCheck:
    return lambda value: one.isdisjoint(value) or not other.isdisjoint(value)


def _excludes(one: frozenset[str], other: frozenset[str]) -> InvariantCheck:
    return lambda value: one.isdisjoint(value) or other.isdisjoint(value)


def _requires_any(*elements: frozenset[str]) -> InvariantCheck:
    names = frozenset[str]().union(*elements)
    return lambda value: not names.isdisjoint(value)


_FORMS: Mapping[str, tuple[str, Callable[..., InvariantCheck]]] = {
    "needs": ("{0} without {1}", _requires),
    "excludes": ("{0} and {1} exclude each other", _excludes),
    "some": ("at least one of {all} is required", _requires_any),
}
_NO_VALUE = frozenset(("id", "url", "extension"))


def _has_value_or_extensions(value: Mapping[str, Any]) -> bool:
    return ("extension" in value) != any(name not in _NO_VALUE for name in value)


def _is_in_order(first: str, last: str, value: Mapping[str, Any]) -> bool:
    one, other = value.get(first), value.get(last)
    if not isinstance(one, str) or not isinstance(other, str):
        return True
    if "T" not in one or "T" not in other:
        same = min(len(one), len(other), 10)
        return one[:same] <= other[:same]  # at the common precision: 2024 and 2024-03 are in order either way
    try:
        return datetime.fromisoformat(one).timestamp() <= datetime.fromisoformat(other).timestamp()
    except (ValueError, OverflowError):
        return True  # a leap second, or a malformed date, which is reported elsewhere


def _is_complete_ratio(value: Mapping[str, Any]) -> bool:
    both = ("numerator" in value) == ("denominator" in value)
    return both and ("numerator" in value or "extension" in value)


def _has_code(value: Mapping[str, Any], name: str, codes: tuple[str, ...]) -> bool:
    return any(coding.get("code") in codes for coding in list_objects(value.get(name), "coding"))


def _is_entered_in_error(value: Mapping[str, Any]) -> bool:
    return _has_code(value, "verificationStatus", ("entered-in-error",))


def _is_abatement_consistent(value: Mapping[str, Any]) -> bool:
    return not any(str(name).lstrip("_").startswith("abatement") for name in value) or _has_code(
        value, "clinicalStatus", ("resolved", "remission", "inactive")
    )


def _has_no_status_if_in_error(value: Mapping[str, Any]) -> bool:
    return not _is_entered_in_error(value) or "clinicalStatus" not in value


def _has_status_unless_in_error(value: Mapping[str, Any]) -> bool:
    return _is_entered_in_error(value) or "clinicalStatus" in value


def _has_both_times_or_none(value: Mapping[str, Any]) -> bool:
    return ("start" in value) == ("end" in value)


def _has_times_if_booked(value: Mapping[str, Any]) -> bool:
    return ("start" in value and "end" in value) or value.get("status") in ("proposed", "cancelled", "waitlist")


def _may_have_cancelation_reason(value: Mapping[str, Any]) -> bool:
    # R4's own expression says `no-show`, which is not a code of the status; the code is `noshow`.
    return "cancelationReason" not in value or value.get("status") in ("noshow", "cancelled")


def _get_code_pairs(concept: Any) -> set[tuple[Any, Any]]:
    pairs = [(coding.get("system"), coding.get("code")) for coding in list_objects(concept, "coding")]
    return {pair for pair in pairs if isinstance(pair[0], str) and isinstance(pair[1], str)}


def _has_no_repeated_component(value: Mapping[str, Any]) -> bool:
    if "component" not in value or not any(str(name).lstrip("_").startswith("value") for name in value):
        return True
    codes = _get_code_pairs(value.get("code"))
    return not any(codes & _get_code_pairs(component.get("code")) for component in list_objects(value, "component"))


def _may_have_total(bundle: Mapping[str, Any]) -> bool:
    return "total" not in bundle or bundle.get("type") in ("searchset", "history")


def _may_have_search(bundle: Mapping[str, Any]) -> bool:
    return bundle.get("type") == "searchset" or not any("search" in entry for entry in list_objects(bundle, "entry"))


def _is_element_only_in(element: str, types: tuple[str, ...], bundle: Mapping[str, Any]) -> bool:
    is_required = bundle.get("type") in types
    return all((element in entry) == is_required for entry in list_objects(bundle, "entry"))


_HAS_REQUESTS = partial(_is_element_only_in, "request", ("batch", "transaction", "history"))
_HAS_RESPONSES = partial(_is_element_only_in, "response", ("batch-response", "transaction-response", "history"))


def _has_distinct_urls(bundle: Mapping[str, Any]) -> bool:
    if bundle.get("type") == "history":
        return True
    urls = [
        (str(entry["fullUrl"]), _get_version(entry)) for entry in list_objects(bundle, "entry") if "fullUrl" in entry
    ]
    return len(set(urls)) == len(urls)


def _get_version(entry: Mapping[str, Any]) -> str:
    resource = entry.get("resource")
    meta = resource.get("meta") if isinstance(resource, dict) else None
    return str(meta.get("versionId", "")) if isinstance(meta, dict) else ""


def _is_unversioned(entry: Mapping[str, Any]) -> bool:
    return "/_history/" not in str(entry.get("fullUrl", ""))


def _is_document_identified(bundle: Mapping[str, Any]) -> bool:
    if bundle.get("type") != "document":
        return True
    identifier = bundle.get("identifier")
    return isinstance(identifier, dict) and {"system", "value"} <= identifier.keys() and "timestamp" in bundle


def _has_required_first_entry(bundle: Mapping[str, Any]) -> bool:
    required_type = {"document": "Composition", "message": "MessageHeader"}.get(str(bundle.get("type")))
    first = (list_objects(bundle, "entry") or [{}])[0].get("resource")
    return required_type is None or (isinstance(first, dict) and first.get("resourceType") == required_type)


_TYPE_INVARIANTS: Mapping[str, tuple[Invariant, ...]] = {
    "Extension": (Invariant("ext-1", "either a value or extensions, and not both", _has_value_or_extensions),),
    "Period": (Invariant("per-1", "the end is before the start", partial(_is_in_order, "start", "end")),),
    "Ratio": (Invariant("rat-1", "numerator and denominator are both required", _is_complete_ratio),),
    "Condition": (
        Invariant(
            "con-4", "with abatement, clinicalStatus must be resolved, remission or inactive", _is_abatement_consistent
        ),
        Invariant("con-5", "clinicalStatus is not allowed if entered in error", _has_no_status_if_in_error),
    ),
    "AllergyIntolerance": (
        Invariant("ait-1", "clinicalStatus is required unless entered in error", _has_status_unless_in_error),
        Invariant("ait-2", "clinicalStatus is not allowed if entered in error", _has_no_status_if_in_error),
    ),
    "Appointment": (
        Invariant("app-2", "start and end must both be present, or both absent", _has_both_times_or_none),
        Invariant("app-3", "start and end are required unless proposed, cancelled or waitlisted", _has_times_if_booked),
        Invariant(
            "app-4", "cancelationReason is allowed only for status cancelled or noshow", _may_have_cancelation_reason
        ),
    ),
    "Observation": (Invariant("obs-7", "a component repeats the code of the value", _has_no_repeated_component),),
    "Task": (
        Invariant("inv-1", "lastModified is before authoredOn", partial(_is_in_order, "authoredOn", "lastModified")),
    ),
    "Bundle": (
        Invariant("bdl-1", "total is allowed only in a searchset or history", _may_have_total),
        Invariant("bdl-2", "entry.search is allowed only in a searchset", _may_have_search),
        Invariant(
            "bdl-3",
            "entry.request is required in a batch, transaction or history, and not allowed elsewhere",
            _HAS_REQUESTS,
        ),
        Invariant(
            "bdl-4", "entry.response is required in a response or history, and not allowed elsewhere", _HAS_RESPONSES
        ),
        Invariant("bdl-7", "two entries have the same fullUrl and version", _has_distinct_urls),
        Invariant(
            "bdl-9",
            "a document requires an identifier with system and value, and a timestamp (bdl-10)",
            _is_document_identified,
        ),
        Invariant(
            "bdl-11",
            "the first entry of a document must be a Composition, of a message a MessageHeader",
            _has_required_first_entry,
        ),
    ),
    "Bundle.entry": (Invariant("bdl-8", "fullUrl must not have a version", _is_unversioned),),
}
