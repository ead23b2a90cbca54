"""The resources that the agent received, as they were at that time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import Resource, parse_resource
from clerkship.simulators.fhir.assertions.agent_changes import parse_written_resource
from clerkship.simulators.fhir.events import (
    HistoryRead,
    ResourceDeleted,
    ResourceRead,
    ResourcesExported,
    ResourcesSearched,
    ResourceWritten,
)
from clerkship.simulators.fhir.state import FhirState


class ShownResource(NamedTuple):
    """One resource in one response to the agent."""

    event: Event
    key: str
    content: Resource | bytes | None
    """The resource at that time, parsed or as bytes; None if the log does not have it."""

    @property
    def resource(self) -> Resource | None:
        """The resource as plain data. It is parsed on demand, since most uses need the key only."""
        return parse_resource(self.content) if isinstance(self.content, bytes) else self.content


class _VersionTracker:
    """All versions of all resources during a walk through the log."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.current: dict[str, Resource | None] = {}
        self.versions: dict[tuple[str, str], Resource] = {}

    def apply(self, written: ResourceWritten | ResourceDeleted) -> None:
        key = f"{written.type}/{written.id}"
        self.current[key] = parse_written_resource(written) if isinstance(written, ResourceWritten) else None
        if isinstance(written, ResourceWritten):
            self.versions[key, written.version] = parse_written_resource(written)

    def content(self, key: str, version: str | None = None) -> Resource | bytes | None:
        if version is not None and (key, version) in self.versions:
            return self.versions[key, version]
        if version is None and key in self.current:
            return self.current[key]
        return self.chart.get(key)


def _list_shown_versions(event: Event) -> Iterator[tuple[str, str | None]]:
    """Yield the keys of the resources in a response, and the version where it may be an earlier one."""
    match event.payload:
        case ResourceRead(type=type, id=id, version=version):
            yield f"{type}/{id}", version
        case ResourcesSearched(found=keys, included=included):
            yield from ((key, None) for key in (*keys, *included))
        case HistoryRead(found=versions) | ResourcesExported(found=versions):
            yield from ((key, version) for key, _, version in (entry.partition("/_history/") for entry in versions))


def _trace_shown(chart: Chart, events: Sequence[Event]) -> Iterator[ShownResource]:
    tracker = _VersionTracker(chart)
    for event in sorted(events, key=lambda event: event.seq):
        if isinstance(event.payload, ResourceWritten | ResourceDeleted):
            tracker.apply(event.payload)
        elif event.actor == "agent":
            for key, version in _list_shown_versions(event):
                yield ShownResource(event, key, tracker.content(key, version))


def _trace_all_sandboxes(evidence: Evidence) -> Mapping[str, Sequence[ShownResource]]:
    """Return the shown resources of each FHIR sandbox. Computed once for all criteria."""
    charts = {name: state.chart for name, state in evidence.states.items() if isinstance(state, FhirState)}
    return {
        name: list(_trace_shown(chart, [event for event in evidence.events if event.source == name]))
        for name, chart in charts.items()
    }


def find_shown_resources(evidence: Evidence, sandbox: str) -> Sequence[ShownResource]:
    """Return all resources that the agent received from a sandbox, in order."""
    return evidence.cached(_trace_all_sandboxes)[sandbox]


def find_sandbox_name(evidence: Evidence, state: FhirState) -> str:
    """Return the name of the sandbox with this state."""
    return next(name for name, other in evidence.states.items() if other is state)
