"""A resource as templates see it: its elements and derived fields such as `full_name` and `age`."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

import orjson

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.display_text import format_title, get_choice_value, select_preferred, to_text
from clerkship.formats.fhir.resource import Resource, get_key, list_objects
from clerkship.model.dataset import RecordView
from clerkship.text.dates import parse_iso_date


class ResourceView(RecordView):
    """A resource whose `get` also returns derived fields. As data it is only the resource."""

    derived: ClassVar[Mapping[str, "DerivedField"]]
    """Derived fields by name."""

    def __init__(self, resource: Resource, now: datetime) -> None:
        super().__init__(resource)
        self.now = now

    def get(self, key: str, default: Any = None) -> Any:
        """Return an element; else the value of a choice (`value` finds `valueQuantity`); else a derived field."""
        if key in self:
            return self[key]
        value = get_choice_value(self, key)
        if value is None and key in self.derived:
            value = self.derived[key][1](self)
        return default if value is None else value

    def names(self) -> list[str]:
        """Return the names of all elements and available derived fields."""
        return [*self, *(name for name, (_, find) in self.derived.items() if find(self) is not None)]

    def text(self, value: Any, name: str) -> str:
        """Return a value as text: `Maria Lopez` for a list of HumanNames."""
        return to_text(value, name)

    def plain(self, value: Any) -> Any:
        """Return plain JSON data without exact decimals."""
        return (
            orjson.loads(exact.dumps(value))
            if isinstance(value, ResourceView) or exact.has_exact_decimals(value)
            else value
        )


def _find_mrn(resource: ResourceView) -> str | None:
    """Return the medical record number: the identifier of type MR, else one whose system contains `mrn`."""
    identifiers = [item for item in list_objects(resource, "identifier") if isinstance(item.get("value"), str)]
    by_type = [
        item for item in identifiers if any(c.get("code") == "MR" for c in list_objects(item.get("type"), "coding"))
    ]
    by_system = [item for item in identifiers if "mrn" in str(item.get("system")).lower()]
    usual = [item for item in identifiers if item.get("use") == "usual"]
    best = next(iter([*by_type, *by_system, *usual]), None)
    return best["value"] if best is not None else None


def _compute_age(resource: ResourceView) -> int | None:
    """Return the age in completed years on the day of the environment."""
    first, today = parse_iso_date(resource.get("birthDate")), resource.now.date()
    if first is None:
        return None
    return today.year - first.year - ((today.month, today.day) < (first.month, first.day))


def _build_contact_finder(system: str) -> Callable[[ResourceView], str | None]:
    def find(resource: ResourceView) -> str | None:
        contacts = [
            item for item in list_objects(resource, "telecom") if item.get("system") == system and item.get("value")
        ]
        return (
            to_text(select_preferred(contacts, ("home", "mobile", None, "work", "temp", "old"))) if contacts else None
        )

    return find


def _build_name_finder(element: str) -> Callable[[ResourceView], str | None]:
    def find(resource: ResourceView) -> str | None:
        names = list_objects(resource, "name")
        best = select_preferred(names, ("official", "usual", None)) if names else {}
        return to_text(best.get(element), "given") or None

    return find


def _format_full_name(resource: ResourceView) -> str | None:
    return to_text(resource["name"]) if list_objects(resource, "name") else None


def _format_full_address(resource: ResourceView) -> str | None:
    return to_text(resource["address"]) or None if "address" in resource else None


DerivedField = tuple[str, Callable[[ResourceView], Any]]
"""The description of a derived field, and the function that computes it."""
DERIVED_FIELDS: dict[str, DerivedField] = {
    "reference": ("its key, such as `Patient/42`", get_key),
    "title": ("a description on one line", format_title),
    "full_name": ("the preferred name as text", _format_full_name),
    "given": ("the given names of the preferred name", _build_name_finder("given")),
    "family": ("the family name of the preferred name", _build_name_finder("family")),
    "full_address": ("the preferred address on one line", _format_full_address),
    "mrn": ("the medical record number: the identifier of type MR", _find_mrn),
    "age": ("age in completed years on the day of the environment", _compute_age),
    "phone": ("a phone number, preferably at home", _build_contact_finder("phone")),
    "email": ("an email address", _build_contact_finder("email")),
}
"""Fields that templates can use besides the elements of a resource."""
ResourceView.derived = DERIVED_FIELDS
