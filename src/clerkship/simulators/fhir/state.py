"""The store of a FHIR server: the resources of the dataset, and all versions written since (R4 resource: meta)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

from clerkship.events.event import Event, Payload
from clerkship.events.lifecycle import OutboundAttempted
from clerkship.formats.fhir.chart import NO_CHANGES, Chart
from clerkship.formats.fhir.resource import Resource, parse_resource, render_resource
from clerkship.formats.fhir.search import search_keys
from clerkship.sandbox.state import State
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.events import (
    ExportCancelled,
    ExportStarted,
    ResourceDeleted,
    ResourceWritten,
    SubscriptionTriggered,
)

T = TypeVar("T")
METHOD_BY_OPERATION = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}
"""The HTTP method of each operation; PUT for all others."""
SUBSCRIPTION = "Subscription"
WITHDRAW = "withdraw"
"""The operation of a write that restores what a refused transaction had changed."""
CLIENT_OPERATIONS = frozenset({"create", "update", "patch"})
"""The operations of clients. Only Subscriptions that they wrote are notified: files have no address of an agent."""
FIRST_VERSION = "1"
_META_PATTERN = re.compile(
    rb'\{"resourceType":"\w+","id":"[^"]+"(?:,"meta":\{(?:"lastUpdated":"([^"\\]+)")?'
    rb'(?:,?"profile":\["[^"\\]*"\])?(?:,?"versionId":"([^"\\]+)")?\})?(,"meta")?'
)
"""The beginning of most resources. If it does not match, the resource is parsed to read its meta."""
_NUMBERED_ID = re.compile(r"(.+)\.(\d{1,17})", re.ASCII)
MAX_ID_LENGTH = 64
"""Characters of an id (R4 datatypes)."""
Tags = tuple[str, ...]
"""Version ids of a precondition; `*` is any version."""


class ResourceVersion(NamedTuple):
    """One version of a resource."""

    id: str
    updated: str
    """When the version was written, as an instant; empty if the dataset does not say."""
    data: bytes | None
    """The resource as JSON; None if this version is a deletion."""
    method: str
    """The HTTP method that wrote it."""

    @property
    def is_deleted(self) -> bool:
        return self.data is None

    @property
    def etag(self) -> str:
        """The weak ETag of the version: the same version can have different bytes (R4 http: versioning)."""
        return f'W/"{self.id}"'


class ExportFile(NamedTuple):
    """A file of an export: resources of one type, by key."""

    type: str
    name: str
    versions: list[tuple[str, ResourceVersion]]


@dataclass(slots=True)
class ExportJob:
    """A bulk export."""

    request: ExportStarted
    started: datetime
    ready: datetime
    changes: int
    """The number of changes of the store before it."""
    files: list[ExportFile] | None = None
    """Its files, once they are needed. They follow from the fields above."""


def find_chart_version(chart: Chart, key: str) -> ResourceVersion | None:
    """Return the version of a resource in the dataset; None if the dataset does not have it."""
    data = chart.get(key)
    if data is None:
        return None
    head = _META_PATTERN.match(data)
    if head is not None and head[3] is None:
        return ResourceVersion((head[2] or b"1").decode(), (head[1] or b"").decode(), data, "POST")
    version, updated = chart.get_or_build(("fhir.version", key), lambda: _read_meta(parse_resource(data)))
    return ResourceVersion(version, updated, data, "POST")


def _read_meta(resource: Resource) -> tuple[str, str]:
    meta = resource.get("meta")
    known = meta if isinstance(meta, dict) else {}
    version, updated = known.get("versionId"), known.get("lastUpdated")
    return (version if isinstance(version, str) else FIRST_VERSION), (updated if isinstance(updated, str) else "")


def next_version_id(version: ResourceVersion | None) -> str:
    """Return the id of the version after this one. Numbers only increase, so an id is never used twice."""
    if version is None:
        return FIRST_VERSION
    id = version.id
    if id.isascii() and id.isdigit() and len(id) < 18:
        return str(int(id) + 1)
    numbered = _NUMBERED_ID.fullmatch(id)
    stem, number = (numbered[1], str(int(numbered[2]) + 1)) if numbered is not None else (id, "1")
    return f"{stem[: MAX_ID_LENGTH - 1 - len(number)]}.{number}"


def format_instant(now: datetime) -> str:
    """Format a time as a FHIR instant, in milliseconds and with its time zone."""
    return now.isoformat(timespec="milliseconds")


@lru_cache(maxsize=4096)
def format_http_date(updated: str) -> str:
    """Format an instant as an HTTP date (RFC 9110 §5.6.7); return an empty text if it is not an instant."""
    moment = parse_instant(updated)
    return "" if moment is None else format_datetime(moment.astimezone(UTC), usegmt=True)


def parse_instant(text: str) -> datetime | None:
    """Parse an instant, with UTC as the default zone; return None if the text is not an instant.

    The text may come from a dataset, which need not be valid.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


class FhirState(State[FhirConfig]):
    """The current resources of the server, by `Type/id`: those of the dataset, overlaid by what was written since.

    It implements `ChartView`, so that searches can run on it.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.chart = cast(Chart, cast(Any, self.records).base)
        """The resources of the dataset, which never change."""
        self.changes_in_order: list[tuple[str, ResourceVersion]] = []
        """The key and version of every write, oldest first."""
        self.rendered: tuple[Payload, ResourceVersion] | None = None
        """An event that a transaction emits, and the version that it has rendered for it."""
        self.subscriptions: dict[str, Resource] = {}
        """The active Subscriptions of clients, by id."""
        self.notifications: dict[str, SubscriptionTriggered] = {}
        """The notifications of active Subscriptions that are neither delivered nor given up, by id, oldest first."""
        self._history: dict[str, list[ResourceVersion]] = {}
        self._changed: dict[str, dict[str, Resource | None]] = {}
        self._unparsed: dict[str, set[str]] = {}
        """The keys of changed resources, by type, whose exact decimals are not parsed yet: few are read again."""
        self._cached_by_type: dict[str, Any] = {}
        self.exports: dict[str, ExportJob] = {}
        """The bulk exports that were not deleted, by id."""

    @property
    def zone(self) -> int:
        """The time zone of the server, in minutes ahead of UTC."""
        return self.config.zone or 0

    def version(self, key: str) -> ResourceVersion | None:
        """Return the latest version of a resource, which may be its deletion."""
        history = self._history.get(key)
        return history[-1] if history is not None else find_chart_version(self.chart, key)

    def data(self, key: str) -> bytes | None:
        """Return the bytes of a resource; None if it is deleted or never existed."""
        history = self._history.get(key)
        return history[-1].data if history is not None else self.chart.get(key)

    def versions(self, key: str) -> Sequence[ResourceVersion]:
        """Return all versions of a resource, oldest first."""
        first = find_chart_version(self.chart, key)
        return [*([first] if first is not None else ()), *self._history.get(key, ())]

    def resource(self, key: str) -> Resource | None:
        """Return a resource as it is now. The caller must not change it."""
        changed = self.changed(key.partition("/")[0])
        if key in changed:
            return changed[key]
        line = self.chart.get(key)
        return parse_resource(line) if line is not None else None

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        """Return the resources of a type that differ from the dataset, by key; None for a deleted one."""
        for key in self._unparsed.pop(type, ()):
            self._changed[type][key] = parse_resource(self._history[key][-1].data or b"")
        return self._changed.get(type, NO_CHANGES)

    def cache_until_changed(self, type: str, build: Callable[[], T]) -> T:
        """Return a value that is built from the changed resources of a type, and rebuilt when they change."""
        if type not in self._cached_by_type:
            self._cached_by_type[type] = build()
        return cast(T, self._cached_by_type[type])

    def find(self, type: str, pairs: Sequence[tuple[str, str]] = ()) -> list[Resource]:
        """Return the resources that match a search, without recording a search event."""
        resources = (self.resource(key) for key in search_keys(self, type, pairs))
        return [resource for resource in resources if resource is not None]

    def changes(self) -> Mapping[str, tuple[Resource | None, Resource | None]]:
        """Return for each resource that differs from the dataset its state there and its state now, by key."""
        rows = ((key, self.chart.get(key), versions[-1].data) for key, versions in self._history.items())
        return {
            key: (None if before is None else parse_resource(before), self.resource(key))
            for key, before, now in rows
            if before != now
        }

    def rebuild(self, changes: int) -> "FhirState":
        """Return the store as it was after a number of changes, without exports."""
        earlier = FhirState(self.config, self.records)
        for key, version in self.changes_in_order[:changes]:
            type = key.partition("/")[0]
            earlier._history.setdefault(key, []).append(version)
            earlier._changed.setdefault(type, {})[key] = None if version.data is None else parse_resource(version.data)
        return earlier

    def apply(self, event: Event) -> None:
        match event.payload:
            case ResourceWritten() as written:
                resource = written.resource
                if self.rendered is not None and self.rendered[0] is written:
                    version = self.rendered[1]
                else:
                    data = written.text.encode() if written.text else render_resource(resource)
                    method = METHOD_BY_OPERATION.get(written.operation, "PUT")
                    version = ResourceVersion(written.version, resource["meta"]["lastUpdated"], data, method)
                self._add_version(written, version, resource)
                if written.text:
                    self._unparsed.setdefault(written.type, set()).add(f"{written.type}/{written.id}")
            case ResourceDeleted() as deleted:
                self._add_version(
                    deleted, ResourceVersion(deleted.version, format_instant(event.at), None, "DELETE"), None
                )
            case SubscriptionTriggered() as triggered:
                self.notifications[triggered.key] = triggered
            case OutboundAttempted(message=message, retry_in=None):
                self.notifications.pop(message, None)
            case ExportStarted() as started:
                ready = event.at + self.config.export_duration
                self.exports[started.id] = ExportJob(started, event.at, ready, len(self.changes_in_order))
            case ExportCancelled(id=id):
                self.exports.pop(id, None)

    def _add_version(
        self, payload: ResourceWritten | ResourceDeleted, version: ResourceVersion, resource: Resource | None
    ) -> None:
        key = f"{payload.type}/{payload.id}"
        self._history.setdefault(key, []).append(version)
        self._changed.setdefault(payload.type, {})[key] = resource
        if payload.type in self._unparsed:
            self._unparsed[payload.type].discard(key)
        self._cached_by_type.pop(payload.type, None)
        self.changes_in_order.append((key, version))
        if payload.type == SUBSCRIPTION:
            self._set_subscription(payload.id, payload.operation, resource)

    def _set_subscription(self, id: str, operation: str, resource: Resource | None) -> None:
        """Start or end the notifications of a Subscription."""
        is_active = resource is not None and resource.get("status") == "active"
        if is_active and (operation in CLIENT_OPERATIONS or operation == WITHDRAW) and resource is not None:
            self.subscriptions[id] = resource
        elif self.subscriptions.pop(id, None) is not None:
            kept = {key: each for key, each in self.notifications.items() if each.subscription != id}
            self.notifications = kept

    def dump(self) -> Any:
        """Return all versions written here and all exports, as plain data."""
        versions = {
            key: [[v.id, v.updated, v.method, None if v.data is None else v.data.decode()] for v in history]
            for key, history in sorted(self._history.items())
        }
        exports = [
            [job.request.model_dump(), format_instant(job.started), job.changes] for job in self.exports.values()
        ]
        return versions | ({"exports": exports} if exports else {})
