"""What the monitors of the chart have in common: who is involved in the task, and what the agent wrote."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, NamedTuple
from urllib.parse import parse_qsl

from pydantic import AfterValidator, Field

from clerkship.assertions.agent_acted import find_fork
from clerkship.assertions.field_rows import MAX_NAMES
from clerkship.assertions.occurrence import join_first
from clerkship.assertions.patients.involved import InvolvedPatients, find_involved
from clerkship.events.evidence import Evidence
from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.resource import find_patients
from clerkship.formats.fhir.search import search_keys
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Check
from clerkship.sandbox.monitor import Monitor
from clerkship.simulators.fhir.assertions.agent_changes import (
    ResourceChange,
    changes_after_each_write,
    find_agent_changes,
)
from clerkship.simulators.fhir.assertions.shown_resources import ShownResource, find_shown_resources
from clerkship.simulators.fhir.state import FhirState

MAX_ROWS = 50


def _check_search(text: str) -> str:
    type = text.partition("?")[0]
    if type not in RESOURCE_TYPES:
        raise ValueError(f"`{text[:80]}` is not a search (expected: a type and parameters, such as Appointment?date=…)")
    return text


SearchText = Annotated[str, AfterValidator(_check_search)]


class ChartSandbox(NamedTuple):
    """A sandbox with a chart: its name, and its state at the end."""

    name: str
    state: FhirState


class ChartMonitor(Monitor):
    """A monitor of all charts of an environment."""

    kinds: ClassVar[frozenset[str]] = frozenset({"fhir"})

    def list_charts(self, evidence: Evidence) -> Iterator[ChartSandbox]:
        """Yield the sandboxes that have a chart."""
        return (ChartSandbox(name, state) for name, state in evidence.states.items() if isinstance(state, FhirState))


class InvolvementMonitor(ChartMonitor):
    """A monitor that asks who is involved in the task."""

    patients_of: Annotated[
        tuple[SearchText, ...],
        Field(
            description="searches of the chart, such as `Appointment?date=2026-03-03`: patients of what they find are "
            "involved too; `Patient` for all"
        ),
    ] = ()

    def find_involved(self, evidence: Evidence) -> InvolvedPatients:
        """Return who is involved, without `patients_of`."""
        return evidence.cached(find_involved)

    def list_involved(self, evidence: Evidence) -> frozenset[str]:
        """Return the keys of the patients who are involved."""
        return self.find_involved(evidence).keys | {
            patient
            for chart in self.list_charts(evidence)
            for text in self.patients_of
            for key in search_keys(chart.state, text.partition("?")[0], parse_qsl(text.partition("?")[2]))
            for patient in find_patients(chart.state.resource(key))
        }


def list_final_changes(evidence: Evidence, chart: ChartSandbox) -> Sequence[ResourceChange]:
    """Return what the agent left in a chart that would not be there without it.

    In a fork, changes before the fork are those of another agent, and are left out; likewise below.
    """
    fork = find_fork(evidence)
    return [each for each in find_agent_changes(chart.state.chart, evidence, chart.name) if each.seq > fork]


def list_all_changes(evidence: Evidence, chart: ChartSandbox) -> Sequence[ResourceChange]:
    """Return what the agent had changed of a resource after each of its writes."""
    fork = find_fork(evidence)
    return [each for each in changes_after_each_write(chart.state.chart, evidence, chart.name) if each.seq > fork]


def list_shown(evidence: Evidence, chart: ChartSandbox) -> Sequence[ShownResource]:
    """Return the resources that the agent received."""
    fork = find_fork(evidence)
    return [each for each in find_shown_resources(evidence, chart.name) if each.event.seq > fork]


def build_check(rows: Sequence[FieldCheck], found: str, nothing: str) -> Check:
    """Return the result with the rows of what was found; their paths are listed after `found`."""
    if not rows:
        return Check.of(True, nothing)
    places = join_first(list(dict.fromkeys(row.path for row in rows)), most=MAX_NAMES)
    return Check.of(False, f"{found}: {places}", *rows[:MAX_ROWS])
