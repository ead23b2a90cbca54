"""What the agent has changed: how each resource is, beside how it would be had the agent not touched it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.fhir.chart import Chart
from clerkship.fhir.resource import Resource, parse_resource
from clerkship.model.matcher import equals
from clerkship.model.path import MISSING
from clerkship.simulators.fhir.assertions.leaves import leaves
from clerkship.simulators.fhir.events import ResourceCreated, ResourceDeleted, ResourceUpdated, ResourceWritten

WRITES = (ResourceCreated.kind, ResourceUpdated.kind, ResourceDeleted.kind)
Sort = Literal["created", "updated", "deleted"]


class Change(NamedTuple):
    """One resource that the agent made, altered or removed."""

    key: str
    sort: Sort
    before: Resource | None
    """As the agent found it."""
    after: Resource | None
    paths: Mapping[str, tuple[Any, Any]]
    """Each path that differs, with what would be there and what is; MISSING for nothing."""
    seq: int
    """The agent's last write to it."""

    @property
    def type(self) -> str:
        """`Patient`."""
        return self.key.partition("/")[0]

    @property
    def resource(self) -> Resource:
        """As it is; or, of one that is gone, as it was."""
        return self.after if self.after is not None else self.before or {}


@dataclass
class _Trace:
    """One resource, followed through the log: as it is, and as others alone would have it."""

    now: Resource | None
    others: dict[str, Any] = field(default_factory=dict)
    others_have_it: bool = False
    found: Resource | None = None
    seq: int = 0

    def write(self, event: Event, resource: Resource | None, *, agents: bool) -> None:
        if agents:
            self.found = self.found if self.seq else self.now
            self.seq = event.seq
        else:
            self._take_in(leaves(self.now), leaves(resource), was=self.now is not None, stays=resource is not None)
        self.now = resource

    def _take_in(self, before: dict[str, Any], after: dict[str, Any], *, was: bool, stays: bool) -> None:
        """What somebody else changes would have changed without the agent too."""
        self.others_have_it = stays and (self.others_have_it or not was)
        if not (was and stays):
            self.others = dict(after)
        for path, (_, now) in _difference(before, after).items():
            if now is MISSING:
                self.others.pop(path, None)
            else:
                self.others[path] = now

    def change(self, key: str) -> Change | None:
        there = self.now is not None
        if not self.seq or not (there or self.others_have_it):
            return None
        sort: Sort = "updated" if there and self.others_have_it else "created" if there else "deleted"
        paths = _difference(self.others if self.others_have_it else {}, leaves(self.now))
        return Change(key, sort, self.found, self.now, paths, self.seq) if paths or sort != "updated" else None


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    paths = [*before, *(path for path in after if path not in before)]
    pairs = {path: (before.get(path, MISSING), after.get(path, MISSING)) for path in paths}
    return {path: pair for path, pair in pairs.items() if not equals(*pair)}


def footprint(chart: Chart, evidence: Evidence, sandbox: str) -> list[Change]:
    """Every change of the agent's that is left at the end, in the order of its last writes. What was changed and
    changed back is none, and what others did to the same resource is not the agent's; what came of something that the
    agent did on another sandbox is."""
    last = {key: trace for key, trace, _ in _followed(chart, evidence, sandbox)}
    found = [change for key, trace in last.items() if (change := trace.change(key)) is not None]
    return sorted(found, key=lambda change: change.seq)


def moments(chart: Chart, evidence: Evidence, sandbox: str) -> Iterator[Change]:
    """Yield what the agent had changed of a resource after each of its writes to it, whatever came of it later."""
    for key, trace, agents in _followed(chart, evidence, sandbox):
        change = trace.change(key) if agents else None
        if change is not None:
            yield change


def _followed(chart: Chart, evidence: Evidence, sandbox: str) -> Iterator[tuple[str, _Trace, bool]]:
    """Yield the trace of a resource after each write to it, and whether the agent is behind that write."""
    events = [event for event in evidence.of_kind(*WRITES) if event.source == sandbox]
    traces: dict[str, _Trace] = {}
    for event in sorted(events, key=lambda event: event.seq):
        written = event.payload
        if isinstance(written, ResourceWritten | ResourceDeleted):
            key = f"{written.type}/{written.id}"
            if key not in traces:
                traces[key] = _begin(chart.get(key))
            resource = content(written) if isinstance(written, ResourceWritten) else None
            agents = evidence.behind(event) == "agent"
            traces[key].write(event, resource, agents=agents)
            yield key, traces[key], agents


def _begin(line: bytes | None) -> _Trace:
    resource = parse_resource(line) if line is not None else None
    return _Trace(resource, leaves(resource), resource is not None)


def content(written: ResourceWritten) -> Resource:
    """What was written, with every digit."""
    return parse_resource(written.text.encode()) if written.text else written.resource
