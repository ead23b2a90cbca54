"""A resource as a template reads it: its own elements, and what people ask for that no element says outright."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, ClassVar

import orjson

from clerkship.fhir import exact
from clerkship.fhir.resource import Resource, key_of, objects_in
from clerkship.fhir.wording import choice, preferred, title, words
from clerkship.model.dataset import RecordView

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Charted(RecordView):
    """A resource whose `get` also knows derived fields; as data it is the resource and nothing more."""

    derived: ClassVar[Mapping[str, "Derived"]]
    """By name, besides its elements."""

    def __init__(self, resource: Resource, now: datetime) -> None:
        super().__init__(resource)
        self.now = now

    def get(self, key: str, default: Any = None) -> Any:
        """An element; else of a choice the one that is there (`value` of `valueQuantity`); else a derived field."""
        if key in self:
            return self[key]
        found = choice(self, key)
        if found is None and key in self.derived:
            found = self.derived[key][1](self)
        return default if found is None else found

    def names(self) -> list[str]:
        """What can be asked of it."""
        return [*self, *(name for name, (_, find) in self.derived.items() if find(self) is not None)]

    def text(self, value: Any, name: str) -> str:
        """Write a value in words: `Maria Lopez`, not a list of HumanNames."""
        return words(value, name)

    def plain(self, value: Any) -> Any:
        """Return plain JSON data, its numbers as any reader of JSON has them."""
        return orjson.loads(exact.dumps(value)) if isinstance(value, Charted) or exact.is_exact(value) else value


def _mrn(resource: Charted) -> str | None:
    """The medical record number: the identifier of type MR, else one whose system says so."""
    found = [item for item in objects_in(resource, "identifier") if isinstance(item.get("value"), str)]
    by_type = [item for item in found if any(c.get("code") == "MR" for c in objects_in(item.get("type"), "coding"))]
    by_system = [item for item in found if "mrn" in str(item.get("system")).lower()]
    usual = [item for item in found if item.get("use") == "usual"]
    best = next(iter([*by_type, *by_system, *usual]), None)
    return best["value"] if best is not None else None


def _age(resource: Charted) -> int | None:
    """Whole years, on the environment's day."""
    born = resource.get("birthDate")
    if not isinstance(born, str) or _DAY.fullmatch(born) is None:
        return None
    first, today = date.fromisoformat(born), resource.now.date()
    return today.year - first.year - ((today.month, today.day) < (first.month, first.day))


def _contact(system: str) -> Callable[[Charted], str | None]:
    def find(resource: Charted) -> str | None:
        found = [item for item in objects_in(resource, "telecom") if item.get("system") == system and item.get("value")]
        return words(preferred(found, ("home", "mobile", None, "work", "temp", "old"))) if found else None

    return find


def _of_name(element: str) -> Callable[[Charted], str | None]:
    def find(resource: Charted) -> str | None:
        names = objects_in(resource, "name")
        best = preferred(names, ("official", "usual", None)) if names else {}
        return words(best.get(element), "given") or None

    return find


def _full_name(resource: Charted) -> str | None:
    return words(resource["name"]) if objects_in(resource, "name") else None


def _full_address(resource: Charted) -> str | None:
    return words(resource["address"]) or None if "address" in resource else None


Derived = tuple[str, Callable[[Charted], Any]]
"""What a field gives, and how it is found."""
DERIVED: dict[str, Derived] = {
    "reference": ("`Patient/42`, as others refer to it", key_of),
    "title": ("what it is, on one line", title),
    "full_name": ("the name that holds, in words", _full_name),
    "given": ("given names of it", _of_name("given")),
    "family": ("family name of it", _of_name("family")),
    "full_address": ("the address that holds, on one line", _full_address),
    "mrn": ("the medical record number: the identifier of type MR", _mrn),
    "age": ("whole years, on the environment's day", _age),
    "phone": ("a telephone number, that at home first", _contact("phone")),
    "email": ("an email address", _contact("email")),
}
"""What a template may ask of a resource besides its elements."""
Charted.derived = DERIVED
