"""The record of a criterion's `input_entity_id`. Checks are limited to it and to resources that refer to it."""

from collections.abc import Mapping, Sequence
from typing import Any

from clerkship.events.evidence import Evidence
from clerkship.formats.fhir.chart import ChartView
from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.resource import Resource, list_references
from clerkship.formats.fhir.search import matches_search, search_keys
from clerkship.formats.fhir.search_parameters import get_parameters
from clerkship.model.errors import InputError


class CriterionSubject:
    """The record that a criterion is about."""

    def __init__(self, name: str, record: Mapping[str, Any]) -> None:
        self.name = name
        self.type, self.id = str(record.get("resourceType", "")), str(record.get("id", ""))
        if not self.type or not self.id:
            raise InputError.of(f"the entity `{name}` is not a FHIR resource", hint="remove `input_entity_id`")

    @property
    def key(self) -> str:
        return f"{self.type}/{self.id}"

    def __str__(self) -> str:
        return f"{self.name} ({self.key})"

    def keys(self, view: ChartView, type: str) -> set[str]:
        """Return the keys of the resources of a type that are this record or refer to it."""
        if type == self.type:
            return {self.key} if view.resource(self.key) is not None else set()
        return {
            key
            for name in self.require_reference_parameters(type)
            for key in search_keys(view, type, [(name, self.key)])
        }

    def require_reference_parameters(self, type: str) -> Sequence[str]:
        """Return the search parameters by which a type refers to the record.

        Raise InputError if there are none: the check would find nothing, which would look like a result.
        """
        mistake = explain_no_reference(type, self.type)
        if mistake:
            raise InputError.of(f"{mistake}: {self}", hint="remove `input_entity_id` and use `search`")
        return find_reference_parameters(type, self.type)

    def includes(self, view: ChartView, key: str, resource: Resource) -> bool:
        """Return whether an earlier version of a resource is this record or refers to it."""
        type = key.partition("/")[0]
        if type == self.type:
            return key == self.key
        if not any(self.key in reference["reference"] for _, reference in list_references(resource)):
            return False  # a quick test that excludes most resources; `matches_search` is ten times slower
        return any(
            matches_search(view, type, [(name, self.key)], resource)
            for name in find_reference_parameters(type, self.type)
        )


def find_reference_parameters(type: str, target: str) -> Sequence[str]:
    """Return the search parameters by which a type refers to a record of another type.

    If the record is a patient and the type has the parameter `patient`, it is only that one.
    """
    known = get_parameters(type)
    if target == "Patient" and "patient" in known:
        return ("patient",)
    return tuple(
        name for name, parameter in known.items() if parameter.type == "reference" and target in parameter.targets
    )


def explain_no_reference(type: str | None, target: str | None) -> str:
    """Return that no resource of a type can be about a record of another type; empty if one can, or is not known."""
    if type is None or target not in RESOURCE_TYPES or type == target or find_reference_parameters(type, target):
        return ""
    return f"{type} has no reference to a {target}, so no {type} can be about one"


def find_subject(evidence: Evidence) -> CriterionSubject | None:
    """Return the record that the current criterion is about, if it has one."""
    if evidence.subject is None:
        return None
    return CriterionSubject(evidence.subject, evidence.record or {})
