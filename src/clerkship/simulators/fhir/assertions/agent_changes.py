"""The changes that the agent made: each resource compared with what it would be without the agent."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import Resource, parse_resource
from clerkship.model.matcher import equals
from clerkship.model.path import MISSING
from clerkship.simulators.fhir.assertions.leaves import flatten_resource
from clerkship.simulators.fhir.events import (
    ResourceCreated,
    ResourceDeleted,
    ResourceUpdated,
    ResourceWithdrawn,
    ResourceWritten,
)

WRITE_EVENTS = (ResourceCreated.kind, ResourceUpdated.kind, ResourceDeleted.kind, ResourceWithdrawn.kind)
ChangeType = Literal["created", "updated", "deleted"]


class ResourceChange(NamedTuple):
    """A resource that the agent created, updated or deleted."""

    key: str
    change_type: ChangeType
    before: Resource | None
    """The resource before the agent's first write."""
    after: Resource | None
    paths: Mapping[str, tuple[Any, Any]]
    """Each path that differs, with its value without the agent and its value now; MISSING for none."""
    seq: int
    """The event number of the agent's last write to the resource."""

    @property
    def type(self) -> str:
        return self.key.partition("/")[0]

    @property
    def resource(self) -> Resource:
        """The resource after the change; before it, if it was deleted."""
        return self.after if self.after is not None else self.before or {}


@dataclass
class _ResourceTrace:
    """One resource during a walk through the log: as it is, and as it would be without the agent's writes."""

    current: Resource | None
    without_agent: dict[str, Any] = field(default_factory=dict)
    exists_without_agent: bool = False
    before_agent: Resource | None = None
    seq: int = 0

    def write(self, event: Event, resource: Resource | None, *, by_agent: bool) -> None:
        if by_agent:
            self.before_agent = self.before_agent if self.seq else self.current
            self.seq = event.seq
        else:
            self._apply_other_write(
                flatten_resource(self.current),
                flatten_resource(resource),
                existed=self.current is not None,
                exists=resource is not None,
            )
        self.current = resource

    def _apply_other_write(self, before: dict[str, Any], after: dict[str, Any], *, existed: bool, exists: bool) -> None:
        """Apply a write that is not the agent's to the state without the agent."""
        self.exists_without_agent = exists and (self.exists_without_agent or not existed)
        if not (existed and exists):
            self.without_agent = dict(after)
        for path, (_, now) in _compare_leaves(before, after).items():
            if now is MISSING:
                self.without_agent.pop(path, None)
            else:
                self.without_agent[path] = now

    def change(self, key: str) -> ResourceChange | None:
        exists = self.current is not None
        if not self.seq or not (exists or self.exists_without_agent):
            return None
        change_type: ChangeType = (
            "updated" if exists and self.exists_without_agent else "created" if exists else "deleted"
        )
        paths = _compare_leaves(self.without_agent if self.exists_without_agent else {}, flatten_resource(self.current))
        return (
            ResourceChange(key, change_type, self.before_agent, self.current, paths, self.seq)
            if paths or change_type != "updated"
            else None
        )


def _compare_leaves(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    paths = [*before, *(path for path in after if path not in before)]
    pairs = {path: (before.get(path, MISSING), after.get(path, MISSING)) for path in paths}
    return {path: pair for path, pair in pairs.items() if not equals(*pair)}


def find_agent_changes(chart: Chart, evidence: Evidence, sandbox: str) -> list[ResourceChange]:
    """Return the agent's changes that remain at the end, in the order of its last writes.

    A change that was reverted is left out, and so are changes of others to the same resource. A change that a
    reaction made because of the agent's request to another sandbox counts as the agent's.
    """
    last = {key: trace for key, trace, _ in _trace_writes(chart, evidence, sandbox)}
    changes = [change for key, trace in last.items() if (change := trace.change(key)) is not None]
    return sorted(changes, key=lambda change: change.seq)


def changes_after_each_write(chart: Chart, evidence: Evidence, sandbox: str) -> Iterator[ResourceChange]:
    """Yield what the agent had changed of a resource after each of its writes, also if it changed again later."""
    for key, trace, by_agent in _trace_writes(chart, evidence, sandbox):
        change = trace.change(key) if by_agent else None
        if change is not None:
            yield change


def _trace_writes(chart: Chart, evidence: Evidence, sandbox: str) -> Iterator[tuple[str, _ResourceTrace, bool]]:
    """Yield the trace of a resource after each write, and whether the agent caused the write."""
    events = [event for event in evidence.of_kind(*WRITE_EVENTS) if event.source == sandbox]
    traces: dict[str, _ResourceTrace] = {}
    for event in sorted(events, key=lambda event: event.seq):
        written = event.payload
        if isinstance(written, ResourceWritten | ResourceDeleted):
            key = f"{written.type}/{written.id}"
            if key not in traces:
                traces[key] = _start_trace(chart.get(key))
            resource = parse_written_resource(written) if isinstance(written, ResourceWritten) else None
            by_agent = evidence.find_originator(event) == "agent"
            traces[key].write(event, resource, by_agent=by_agent)
            yield key, traces[key], by_agent


def _start_trace(line: bytes | None) -> _ResourceTrace:
    resource = parse_resource(line) if line is not None else None
    return _ResourceTrace(resource, flatten_resource(resource), resource is not None)


def parse_written_resource(written: ResourceWritten) -> Resource:
    """Return the written resource with all digits of its decimals."""
    return parse_resource(written.text.encode()) if written.text else written.resource
