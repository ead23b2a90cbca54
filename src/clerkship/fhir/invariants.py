"""Rules of R4 that hold between elements: those of its invariants that are cheap to tell and leave no doubt."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.fhir.definitions import Structure
from clerkship.fhir.resource import objects_in

_TABLE = Path(__file__).parent / "tables" / "invariants.json"
Held = Callable[[Mapping[str, Any]], bool]


class Invariant(NamedTuple):
    """One rule: the key it has in R4, what it asks in words, and whether an object keeps it."""

    key: str
    text: str
    held: Held


def invariants_of(made: Structure) -> tuple[Invariant, ...]:
    """The rules for a type."""
    return (*_generic(made), *_SPECIAL.get(made.name, ()))


@cache
def _table() -> list[tuple[str, str, str, list[str]]]:
    """Read the rules that are alike but for the elements: type, key of the invariant, form, and the elements."""
    table: list[tuple[str, str, str, list[str]]] = orjson.loads(_TABLE.read_bytes())
    return table


def _generic(made: Structure) -> Iterator[Invariant]:
    for type, key, form, names in _table():
        if type == made.name:
            text, check = _FORMS[form]
            held = check(*(_spelled(made, name) for name in names))
            yield Invariant(key, text.format(*names, all=", ".join(names)), held)


def _spelled(made: Structure, name: str) -> frozenset[str]:
    found = [spelling for element in made.elements if element.name == name for spelling in element.spellings]
    return frozenset((*found, *("_" + spelling for spelling in found)))


def _needs(one: frozenset[str], other: frozenset[str]) -> Held:
    return lambda value: one.isdisjoint(value) or not other.isdisjoint(value)


def _excludes(one: frozenset[str], other: frozenset[str]) -> Held:
    return lambda value: one.isdisjoint(value) or other.isdisjoint(value)


def _some(*elements: frozenset[str]) -> Held:
    names = frozenset[str]().union(*elements)
    return lambda value: not names.isdisjoint(value)


_FORMS: Mapping[str, tuple[str, Callable[..., Held]]] = {
    "needs": ("{0} without {1}", _needs),
    "excludes": ("{0} and {1} exclude each other", _excludes),
    "some": ("at least one of {all} is due", _some),
}
_NO_VALUE = frozenset(("id", "url", "extension"))


def _extension(value: Mapping[str, Any]) -> bool:
    return ("extension" in value) != any(name not in _NO_VALUE for name in value)


def _in_order(first: str, last: str, value: Mapping[str, Any]) -> bool:
    one, other = value.get(first), value.get(last)
    if not isinstance(one, str) or not isinstance(other, str):
        return True
    if "T" not in one or "T" not in other:
        same = min(len(one), len(other), 10)
        return one[:same] <= other[:same]  # as far as both say: 2024 and 2024-03 are in order either way round
    try:
        return datetime.fromisoformat(one).timestamp() <= datetime.fromisoformat(other).timestamp()
    except (ValueError, OverflowError):
        return True  # a leap second; or no moment at all, which is said elsewhere


def _ratio(value: Mapping[str, Any]) -> bool:
    both = ("numerator" in value) == ("denominator" in value)
    return both and ("numerator" in value or "extension" in value)


def _has_code(value: Mapping[str, Any], name: str, codes: tuple[str, ...]) -> bool:
    return any(coding.get("code") in codes for coding in objects_in(value.get(name), "coding"))


def _withdrawn(value: Mapping[str, Any]) -> bool:
    return _has_code(value, "verificationStatus", ("entered-in-error",))


def _abated(value: Mapping[str, Any]) -> bool:
    return not any(str(name).lstrip("_").startswith("abatement") for name in value) or _has_code(
        value, "clinicalStatus", ("resolved", "remission", "inactive")
    )


def _without_status(value: Mapping[str, Any]) -> bool:
    return not _withdrawn(value) or "clinicalStatus" not in value


def _with_status(value: Mapping[str, Any]) -> bool:
    return _withdrawn(value) or "clinicalStatus" in value


def _both_times(value: Mapping[str, Any]) -> bool:
    return ("start" in value) == ("end" in value)


def _timed(value: Mapping[str, Any]) -> bool:
    return ("start" in value and "end" in value) or value.get("status") in ("proposed", "cancelled", "waitlist")


def _cancelled(value: Mapping[str, Any]) -> bool:
    # R4's own expression says `no-show`, which is not a code of the status; the code is `noshow`.
    return "cancelationReason" not in value or value.get("status") in ("noshow", "cancelled")


def _codes_of(concept: Any) -> set[tuple[Any, Any]]:
    pairs = [(coding.get("system"), coding.get("code")) for coding in objects_in(concept, "coding")]
    return {pair for pair in pairs if isinstance(pair[0], str) and isinstance(pair[1], str)}


def _not_again(value: Mapping[str, Any]) -> bool:
    if "component" not in value or not any(str(name).lstrip("_").startswith("value") for name in value):
        return True
    codes = _codes_of(value.get("code"))
    return not any(codes & _codes_of(one.get("code")) for one in objects_in(value, "component"))


def _totalled(bundle: Mapping[str, Any]) -> bool:
    return "total" not in bundle or bundle.get("type") in ("searchset", "history")


def _searched(bundle: Mapping[str, Any]) -> bool:
    return bundle.get("type") == "searchset" or not any("search" in entry for entry in objects_in(bundle, "entry"))


def _only_in(element: str, types: tuple[str, ...], bundle: Mapping[str, Any]) -> bool:
    due = bundle.get("type") in types
    return all((element in entry) == due for entry in objects_in(bundle, "entry"))


_ASKED = partial(_only_in, "request", ("batch", "transaction", "history"))
_ANSWERED = partial(_only_in, "response", ("batch-response", "transaction-response", "history"))


def _distinct(bundle: Mapping[str, Any]) -> bool:
    if bundle.get("type") == "history":
        return True
    urls = [(str(entry["fullUrl"]), _version(entry)) for entry in objects_in(bundle, "entry") if "fullUrl" in entry]
    return len(set(urls)) == len(urls)


def _version(entry: Mapping[str, Any]) -> str:
    resource = entry.get("resource")
    meta = resource.get("meta") if isinstance(resource, dict) else None
    return str(meta.get("versionId", "")) if isinstance(meta, dict) else ""


def _unversioned(entry: Mapping[str, Any]) -> bool:
    return "/_history/" not in str(entry.get("fullUrl", ""))


def _named_and_dated(bundle: Mapping[str, Any]) -> bool:
    if bundle.get("type") != "document":
        return True
    identifier = bundle.get("identifier")
    return isinstance(identifier, dict) and {"system", "value"} <= identifier.keys() and "timestamp" in bundle


def _headed(bundle: Mapping[str, Any]) -> bool:
    due = {"document": "Composition", "message": "MessageHeader"}.get(str(bundle.get("type")))
    first = (objects_in(bundle, "entry") or [{}])[0].get("resource")
    return due is None or (isinstance(first, dict) and first.get("resourceType") == due)


_SPECIAL: Mapping[str, tuple[Invariant, ...]] = {
    "Extension": (Invariant("ext-1", "either a value or extensions, and not both", _extension),),
    "Period": (Invariant("per-1", "the end is before the start", partial(_in_order, "start", "end")),),
    "Ratio": (Invariant("rat-1", "numerator and denominator are due, both", _ratio),),
    "Condition": (
        Invariant("con-4", "abated, so clinicalStatus is resolved, remission or inactive", _abated),
        Invariant("con-5", "entered in error, so there is no clinicalStatus", _without_status),
    ),
    "AllergyIntolerance": (
        Invariant("ait-1", "clinicalStatus is due, unless entered in error", _with_status),
        Invariant("ait-2", "entered in error, so there is no clinicalStatus", _without_status),
    ),
    "Appointment": (
        Invariant("app-2", "start and end are due together, or neither", _both_times),
        Invariant("app-3", "only a proposed, cancelled or waitlisted one may be without start and end", _timed),
        Invariant("app-4", "a cancelationReason is for the cancelled and noshow", _cancelled),
    ),
    "Observation": (Invariant("obs-7", "a component has the code that the value is already given for", _not_again),),
    "Task": (Invariant("inv-1", "modified before it was authored", partial(_in_order, "authoredOn", "lastModified")),),
    "Bundle": (
        Invariant("bdl-1", "a total is for a searchset or a history", _totalled),
        Invariant("bdl-2", "entry.search is for a searchset", _searched),
        Invariant("bdl-3", "entry.request is due in a batch, transaction or history, and nowhere else", _ASKED),
        Invariant("bdl-4", "entry.response is due in a response or history, and nowhere else", _ANSWERED),
        Invariant("bdl-7", "two entries have the same fullUrl and version", _distinct),
        Invariant(
            "bdl-9", "a document has an identifier with system and value, and a timestamp (bdl-10)", _named_and_dated
        ),
        Invariant("bdl-11", "the first entry of a document is a Composition, of a message a MessageHeader", _headed),
    ),
    "Bundle.entry": (Invariant("bdl-8", "a fullUrl names no version", _unversioned),),
}
