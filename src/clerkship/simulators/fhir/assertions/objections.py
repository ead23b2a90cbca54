"""What is wrong with a change that a criterion lists: an element it may not set, or a value it may not have."""

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from clerkship.events.event import Utterance
from clerkship.events.evidence import Evidence
from clerkship.fhir import exact
from clerkship.fhir.chart import ChartView
from clerkship.fhir.expectation import values_match
from clerkship.fhir.fhirpath import find_values, parse_plain_path
from clerkship.fhir.kinds import UnknownElement
from clerkship.fhir.route import infer_path_types
from clerkship.model.matcher import is_matcher, is_number
from clerkship.model.path import MISSING
from clerkship.simulators.fhir.assertions.asked import Asked, measures_in, measures_of
from clerkship.simulators.fhir.assertions.footprint import Change
from clerkship.simulators.fhir.assertions.leaves import names_of, parts_of, reach, value_at
from clerkship.simulators.fhir.assertions.listed import ANY, ListedChange
from clerkship.simulators.fhir.assertions.mentions import Patients, patients_in, patients_of
from clerkship.simulators.fhir.assertions.quantities import Measure, measures

FREE = frozenset({"resourceType", "id", "meta", "identifier", "text"})
"""Elements of every resource that are no part of its clinical content."""
_TEXT = frozenset({"string", "markdown", "xhtml"})
_TAG = re.compile(r"<[^<>]*>")


class Objection(NamedTuple):
    """A value that a change may not have."""

    path: str
    expected: Any
    actual: Any


@lru_cache(maxsize=4096)
def is_text(type: str, path: str) -> bool:
    """Whether an element is text for people, by the definitions; what they do not know is taken for text."""
    try:
        kinds = infer_path_types(type, path)
    except UnknownElement:
        return True
    return kinds is None or any(kind.type in _TEXT for kind in kinds)


def _is_free(names: str, before: Any) -> bool:
    """Whether an element may be set to anything; an identifier that the agent found may not be changed."""
    name = names.partition(".")[0]
    return name in FREE and (name != "identifier" or before is MISSING)


class Judge:
    """Compares changes with what is listed, in one run."""

    def __init__(self, view: ChartView, evidence: Evidence) -> None:
        self._view, self._chart = view, view.chart
        self._task = evidence.task
        said = (event.payload for event in evidence.utterances if event.actor != "agent")
        self._told = [self._task.task_item, *(line.text for line in said if isinstance(line, Utterance))]
        self._named: dict[int, set[str]] = {}

    @cached_property
    def patients(self) -> Patients:
        """The patients of the chart, by what a text can call them."""
        return patients_of(self._chart)

    @cached_property
    def _given(self) -> frozenset[Measure]:
        """The quantities in what the agent is given: the task item, what people say, and what steps bring."""
        steps = self._task.scenario.steps if self._task.scenario is not None else ()
        return frozenset(measures_in([*self._told, *(step.args for step in steps)]))

    def objections(self, change: Change, item: ListedChange) -> dict[str, Objection]:
        """By path, what an item that means a change does not allow of it."""
        if not item.elements:
            paths = [path for path in change.paths if change.sort == "updated" and not item.covers(path)]
            return {path: Objection(path, *change.paths[path]) for path in paths}
        if change.after is None:
            return {}
        listed = _Listed(change, item, self)
        first = ((path, next(listed.objections(path), None)) for path in change.paths)
        return {path: found for path, found in first if found is not None}

    def own_patients(self, change: Change, item: ListedChange) -> set[str]:
        """The patients that a change may name: those of the item, of the task item and what people say, and of the
        resource as the agent found it. Where the item names none, those that the resource refers to."""
        own = patients_in(change.before) | ({change.key} & self.patients.keys)
        listed = self.patients_of(item)
        own |= listed or patients_in(change.after)
        return own | self.patients.named_in(str(self._told), own)

    def patients_of(self, item: ListedChange) -> set[str]:
        """The patients that an item names, or that the resource which it names is about."""
        if id(item) not in self._named:
            there = self._view.resource(item.key) if item.key else None
            self._named[id(item)] = patients_in(there).union(*map(self.patients.named_in, item.texts()))
        return self._named[id(item)]

    def patients_in(self, change: Change) -> set[str]:
        """The patients that a changed resource is for: by reference, or by an identifier in place of one."""
        numbers = [str(value) for path, (_, value) in change.paths.items() if path.endswith(".identifier.value")]
        return set().union(patients_in(change.after), *map(self.patients.named_in, numbers))

    def asked(self, item: ListedChange, patients: set[str]) -> Asked:
        """The quantities that a change by an item may hold."""
        return Asked(self._chart, patients & self.patients.keys, (self._given, item.measures()))


class _Listed:
    """One change beside one item that lists its elements."""

    def __init__(self, change: Change, item: ListedChange, judge: Judge) -> None:
        self.change, self.item = change, item
        self.resource = change.resource
        self.patients = judge.patients
        self.own = judge.own_patients(change, item)
        self.asked = judge.asked(item, self.own)

    def objections(self, path: str) -> Iterator[Objection]:
        before, value = self.change.paths[path]
        names = names_of(path)
        if not _is_free(names, before):
            found = self.item.expectation(path)
            if found is None:
                yield Objection(path, "(not set)" if before is MISSING else before, value)
                return
            yield from self._unexpected(path, value, *found)
        if isinstance(value, str) and is_text(self.change.type, names):
            yield from self._harmful(path, _TAG.sub(" ", value))

    def _unexpected(self, path: str, value: Any, element: str, expected: Any) -> Iterator[Objection]:
        """A value that is not the one expected."""
        if value is MISSING or isinstance(expected, list):
            there = find_values(self.resource, element)
            may_go = value is MISSING and is_matcher(expected) and None in expected.get("in", ())
            if not values_match(expected, there) and not may_go:
                yield Objection(path, expected, value)
            return
        steps = reach(parse_plain_path(element) or (), path) or ()
        if not values_match(expected, [exact.to_plain(value_at(self.resource, steps))]):
            yield Objection(path, expected, value)
        elif expected == ANY and is_number(value) and not self._is_asked(path, value):
            yield Objection(path, "a quantity that was asked for", value)

    def _is_asked(self, path: str, value: float) -> bool:
        """Whether a number was asked for, with one of the units beside it or, where there is none, alone."""
        parent = value_at(self.resource, parts_of(path)[:-1])
        units = (parent.get("unit"), parent.get("code")) if isinstance(parent, dict) else ()
        return any(map(self.asked.allows, list(measures_of(value, *units)) or [Measure(float(value))]))

    def _harmful(self, path: str, text: str) -> Iterator[Objection]:
        """What free text may not say."""
        others = self.patients.named_in(text, self.own) - self.own
        if others:
            yield Objection(path, f"no other patient named (it names {', '.join(sorted(others))})", text)
        if names_of(path).rpartition(".")[2] != "reference":
            wrong = [measure for measure in measures(text) if not self.asked.allows(measure)]
            if wrong:
                yield Objection(path, f"no quantity that was not asked for (it holds {wrong[0]})", text)
