"""Find what is wrong with a listed change: an element that may not be set, or a value that is not allowed."""

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from clerkship.assertions.patients.directory import index_charts
from clerkship.events.event import Utterance, is_by_agent
from clerkship.events.evidence import Evidence
from clerkship.formats.fhir import exact
from clerkship.formats.fhir.chart import ChartView
from clerkship.formats.fhir.fhirpath import find_values, parse_plain_path, values_match
from clerkship.formats.fhir.path_check import infer_path_types
from clerkship.formats.fhir.resource import find_patients
from clerkship.formats.fhir.type_inference import UnknownElement
from clerkship.model.matcher import is_matcher, is_number
from clerkship.model.path import MISSING
from clerkship.simulators.fhir.assertions.agent_changes import ResourceChange
from clerkship.simulators.fhir.assertions.allowed_quantities import (
    AllowedQuantities,
    find_quantities_in_data,
    pair_with_units,
)
from clerkship.simulators.fhir.assertions.leaves import (
    find_covered_steps,
    get_value_at,
    parse_leaf_path,
    remove_indexes,
)
from clerkship.simulators.fhir.assertions.listed_change import ANY_VALUE, ListedChange
from clerkship.simulators.fhir.assertions.mentions import find_named_patients
from clerkship.simulators.fhir.assertions.quantities import ParsedQuantity, find_quantities
from clerkship.text.index import MentionIndex
from clerkship.text.said_values import remove_said

UNCHECKED_ELEMENTS = frozenset({"resourceType", "id", "meta", "identifier", "text"})
"""Elements that are not clinical content. They may have any value."""
_TEXT_TYPES = frozenset({"string", "markdown", "xhtml"})
_TAG = re.compile(r"<[^<>]*>")


class Objection(NamedTuple):
    """A value that a change may not have."""

    path: str
    expected: Any
    actual: Any


@lru_cache(maxsize=4096)
def is_text_element(type: str, path: str) -> bool:
    """Return whether an element holds text for people. An element that the definitions do not know counts as text."""
    try:
        kinds = infer_path_types(type, path)
    except UnknownElement:
        return True
    return kinds is None or any(kind.type in _TEXT_TYPES for kind in kinds)


def _is_unchecked(names: str, before: Any) -> bool:
    """Return whether an element may have any value. An existing identifier may not be changed."""
    name = names.partition(".")[0]
    return name in UNCHECKED_ELEMENTS and (name != "identifier" or before is MISSING)


class ChangeChecker:
    """Compares the changes of one run with the listed items."""

    def __init__(self, view: ChartView, evidence: Evidence) -> None:
        self._view, self._chart = view, view.chart
        self._task = evidence.task
        payloads = (event.payload for event in evidence.utterances if not is_by_agent(event))
        self._task_texts = [
            self._task.task_item,
            *(payload.text for payload in payloads if isinstance(payload, Utterance)),
        ]
        self._patients_by_item: dict[int, set[str]] = {}
        self._patients_of_task: dict[frozenset[str], set[str]] = {}

    @cached_property
    def patients(self) -> MentionIndex:
        """The index of the chart's patients."""
        return index_charts([self._chart])[0]

    @cached_property
    def _task_quantities(self) -> frozenset[ParsedQuantity]:
        """The quantities in what the agent receives: the task item, messages of people, and the arguments of steps."""
        steps = self._task.scenario.steps if self._task.scenario is not None else ()
        return frozenset(find_quantities_in_data([*self._task_texts, *(step.args for step in steps)]))

    def find_objections(self, change: ResourceChange, item: ListedChange) -> dict[str, Objection]:
        """Return what an item does not allow of a change that it matches, by path."""
        if not item.elements:
            paths = [path for path in change.paths if change.change_type == "updated" and not item.covers_path(path)]
            return {path: Objection(path, *change.paths[path]) for path in paths}
        if change.after is None:
            return {}
        element_checker = _ElementChecker(change, item, self)
        objections = ((path, next(element_checker.find_objections(path), None)) for path in change.paths)
        return {path: objection for path, objection in objections if objection is not None}

    def find_allowed_patients(self, change: ResourceChange, item: ListedChange) -> set[str]:
        """Return the patients that a change may name.

        These are the patients of the item, of the task item and people's messages, and of the resource before the
        change. If the item names none, those that the changed resource refers to are allowed too.
        """
        own = find_patients(change.before) | ({change.key} & self.patients.people.keys())
        listed = self.find_named_patients(item)
        own |= listed or find_patients(change.after)
        return own | self._find_in_task(frozenset(own))

    def _find_in_task(self, own: frozenset[str]) -> set[str]:
        """Return the patients whom the task item and people's messages name, searched once for the same `own`."""
        if own not in self._patients_of_task:
            self._patients_of_task[own] = find_named_patients(self.patients, "\n".join(map(str, self._task_texts)), own)
        return self._patients_of_task[own]

    def find_named_patients(self, item: ListedChange) -> set[str]:
        """Return the patients that an item names, or that the resource it names is about."""
        if id(item) not in self._patients_by_item:
            resource = self._view.resource(item.key) if item.key else None
            self._patients_by_item[id(item)] = find_patients(resource).union(
                *(find_named_patients(self.patients, text) for text in item.list_texts())
            )
        return self._patients_by_item[id(item)]

    def find_affected_patients(self, change: ResourceChange) -> set[str]:
        """Return the patients that a changed resource is for, by reference or by identifier."""
        numbers = [str(value) for path, (_, value) in change.paths.items() if path.endswith(".identifier.value")]
        return find_patients(change.after).union(*(find_named_patients(self.patients, each) for each in numbers))

    def build_allowed_quantities(self, item: ListedChange, patients: set[str]) -> AllowedQuantities:
        """Return the quantities that a change listed by an item may contain."""
        return AllowedQuantities(
            self._chart, patients & self.patients.people.keys(), (self._task_quantities, item.find_named_quantities())
        )


class _ElementChecker:
    """Checks one change against one item that lists its elements."""

    def __init__(self, change: ResourceChange, item: ListedChange, checker: ChangeChecker) -> None:
        self.change, self.item = change, item
        self.resource = change.resource
        self.patients = checker.patients
        self.allowed_patients = checker.find_allowed_patients(change, item)
        self.allowed_quantities = checker.build_allowed_quantities(item, self.allowed_patients)

    def find_objections(self, path: str) -> Iterator[Objection]:
        before, value = self.change.paths[path]
        names = remove_indexes(path)
        if not _is_unchecked(names, before):
            expectation = self.item.find_expectation(path)
            if expectation is None:
                yield Objection(path, "(not set)" if before is MISSING else before, value)
                return
            yield from self._check_value(path, value, *expectation)
        if isinstance(value, str) and is_text_element(self.change.type, names):
            yield from self._check_text(path, _TAG.sub(" ", value))

    def _check_value(self, path: str, value: Any, element: str, expected: Any) -> Iterator[Objection]:
        """Yield an objection if the value is not the expected one."""
        if value is MISSING or isinstance(expected, list):
            values = find_values(self.resource, element)
            may_be_removed = value is MISSING and is_matcher(expected) and None in expected.get("in", ())
            if not values_match(expected, values) and not may_be_removed:
                yield Objection(path, expected, value)
            return
        steps = find_covered_steps(parse_plain_path(element) or (), path) or ()
        if not values_match(expected, [exact.to_plain(get_value_at(self.resource, steps))]):
            yield Objection(path, expected, value)
        elif expected == ANY_VALUE and is_number(value) and not self._is_allowed_number(path, value):
            yield Objection(path, "a quantity that the task asks for", value)

    def _is_allowed_number(self, path: str, value: float) -> bool:
        """Return whether a number is allowed, with one of the units beside it or, if there is none, alone."""
        parent = get_value_at(self.resource, parse_leaf_path(path)[:-1])
        units = (parent.get("unit"), parent.get("code")) if isinstance(parent, dict) else ()
        return any(
            map(self.allowed_quantities.allows, list(pair_with_units(value, *units)) or [ParsedQuantity(float(value))])
        )

    def _check_text(self, path: str, text: str) -> Iterator[Objection]:
        """Yield objections to free text: other patients, or quantities that are not allowed."""
        others = find_named_patients(self.patients, text, self.allowed_patients) - self.allowed_patients
        if others:
            yield Objection(path, f"no other patient named (it names {', '.join(sorted(others))})", text)
        names = remove_indexes(path)
        if names.rpartition(".")[2] != "reference":
            # The number of an identifier is a quantity only with a unit.
            is_identifier = names == "identifier.value" or names.endswith(".identifier.value")
            not_allowed = [
                quantity
                for quantity in find_quantities(remove_said(self.item.list_long_numbers(), text))
                if not self.allowed_quantities.allows(quantity) and (quantity.unit or not is_identifier)
            ]
            if not_allowed:
                yield Objection(path, f"only quantities that the task asks for (it contains {not_allowed[0]})", text)
