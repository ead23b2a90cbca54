"""The store of a FHIR server: the chart, what happened to it here, and every version there was (R4 resource: meta)."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

from clerkship.events.event import Event
from clerkship.fhir.chart import NO_CHANGES, Chart
from clerkship.fhir.resource import Resource, parse_resource, render_resource
from clerkship.fhir.search import search_keys
from clerkship.sandbox.state import State
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.events import ResourceDeleted, ResourceWritten

T = TypeVar("T")
METHOD_BY_OPERATION = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}
"""The HTTP methods of operations; PUT for all others."""
FIRST_VERSION = "1"
_META_PATTERN = re.compile(
    rb'\{"resourceType":"\w+","id":"[^"]+"(?:,"meta":\{(?:"lastUpdated":"([^"\\]+)")?'
    rb'(?:,?"profile":\["[^"\\]*"\])?(?:,?"versionId":"([^"\\]+)")?\})?(,"meta")?'
)
"""The usual heads; one with tags or extensions in its meta is read whole."""


_NUMBERED_ID = re.compile(r"(.+)\.(\d{1,17})", re.ASCII)
MAX_ID_LENGTH = 64
"""Characters of an id (R4 datatypes)."""
Tags = tuple[str, ...]
"""Ids of versions, as preconditions have them; `*` is any."""


class ResourceVersion(NamedTuple):
    """A resource as it was from one moment on."""

    id: str
    updated: str
    """An instant; empty where the dataset does not say."""
    data: bytes | None
    """None: it was deleted."""
    method: str
    """By which HTTP verb it came about."""

    @property
    def is_deleted(self) -> bool:
        """Whether there was nothing any more."""
        return self.data is None

    @property
    def etag(self) -> str:
        """As HTTP has it: weak, for the bytes may differ (R4 http: versioning)."""
        return f'W/"{self.id}"'


def find_chart_version(chart: Chart, key: str) -> ResourceVersion | None:
    """The version the dataset has."""
    data = chart.get(key)
    if data is None:
        return None
    head = _META_PATTERN.match(data)
    if head is not None and head[3] is None:
        return ResourceVersion((head[2] or b"1").decode(), (head[1] or b"").decode(), data, "POST")
    version, updated = chart.once(("fhir.version", key), lambda: _read_meta(parse_resource(data)))
    return ResourceVersion(version, updated, data, "POST")


def _read_meta(resource: Resource) -> tuple[str, str]:
    meta = resource.get("meta")
    known = meta if isinstance(meta, dict) else {}
    version, updated = known.get("versionId"), known.get("lastUpdated")
    return (version if isinstance(version, str) else FIRST_VERSION), (updated if isinstance(updated, str) else "")


def next_version_id(version: ResourceVersion | None) -> str:
    """What comes after it: never what any before it had, for the number only grows."""
    if version is None:
        return FIRST_VERSION
    id = version.id
    if id.isascii() and id.isdigit() and len(id) < 18:
        return str(int(id) + 1)
    numbered = _NUMBERED_ID.fullmatch(id)
    stem, number = (numbered[1], str(int(numbered[2]) + 1)) if numbered is not None else (id, "1")
    return f"{stem[: MAX_ID_LENGTH - 1 - len(number)]}.{number}"


def format_instant(now: datetime) -> str:
    """A moment as FHIR writes it, to the millisecond, with its zone."""
    return now.isoformat(timespec="milliseconds")


@lru_cache(maxsize=4096)
def format_http_date(updated: str) -> str:
    """An instant as HTTP writes it (RFC 9110 §5.6.7); empty where there is none."""
    moment = parse_instant(updated)
    return "" if moment is None else format_datetime(moment.astimezone(UTC), usegmt=True)


def parse_instant(text: str) -> datetime | None:
    """An instant as a moment; what a dataset says that is none is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


class FhirState(State):
    """Resources by `Type/id`, in their byte form, over the chart's; a View of them for whoever searches."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.changes_in_order: list[tuple[str, ResourceVersion]] = []
        """What happened here, in order: whose version, and which."""
        self._history: dict[str, list[ResourceVersion]] = {}
        self._changed: dict[str, dict[str, Resource | None]] = {}
        self._cached_by_type: dict[str, Any] = {}

    @property
    def settings(self) -> FhirConfig:
        """The config, as what it is."""
        return cast(FhirConfig, self.config)

    @property
    def zone(self) -> int:
        """Where the server is, in minutes ahead of UTC."""
        return self.settings.zone or 0

    @property
    def chart(self) -> Chart:
        """What was there at first, and never changes."""
        return cast(Chart, cast(Any, self.records).base)

    def version(self, key: str) -> ResourceVersion | None:
        """The last version of one resource; that it is gone is a version too."""
        history = self._history.get(key)
        return history[-1] if history is not None else find_chart_version(self.chart, key)

    def data(self, key: str) -> bytes | None:
        """One in its byte form, as it is now."""
        history = self._history.get(key)
        return history[-1].data if history is not None else self.chart.get(key)

    def versions(self, key: str) -> Sequence[ResourceVersion]:
        """All versions of one resource, the oldest first."""
        first = find_chart_version(self.chart, key)
        return [*([first] if first is not None else ()), *self._history.get(key, ())]

    def resource(self, key: str) -> Resource | None:
        """One as it is now; not to be changed."""
        changed = self._changed.get(key.partition("/")[0], NO_CHANGES)
        if key in changed:
            return changed[key]
        line = self.chart.get(key)
        return parse_resource(line) if line is not None else None

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        """By key, those of a sort that are new or differ from the chart's; None where one is gone."""
        return self._changed.get(type, NO_CHANGES)

    def while_unchanged(self, type: str, build: Callable[[], T]) -> T:
        """What somebody works out of those that differ, kept until another one does."""
        if type not in self._cached_by_type:
            self._cached_by_type[type] = build()
        return cast(T, self._cached_by_type[type])

    def find(self, type: str, pairs: Sequence[tuple[str, str]] = ()) -> list[Resource]:
        """All that a search matches, without anybody having searched."""
        resources = (self.resource(key) for key in search_keys(self, type, pairs))
        return [resource for resource in resources if resource is not None]

    def changes(self) -> Mapping[str, tuple[Resource | None, Resource | None]]:
        """By key, what the dataset has and what is there now, where they differ."""
        rows = ((key, self.chart.get(key), versions[-1].data) for key, versions in self._history.items())
        return {key: (_parse_optional(before), self.resource(key)) for key, before, now in rows if before != now}

    def apply(self, event: Event) -> None:
        """Take in what happened."""
        match event.payload:
            case ResourceWritten() as written:
                resource = parse_resource(written.text.encode()) if written.text else written.resource
                data = written.text.encode() if written.text else render_resource(resource)
                method = METHOD_BY_OPERATION.get(written.operation, "PUT")
                self._add_version(
                    written, ResourceVersion(written.version, resource["meta"]["lastUpdated"], data, method), resource
                )
            case ResourceDeleted() as deleted:
                self._add_version(
                    deleted, ResourceVersion(deleted.version, format_instant(event.at), None, "DELETE"), None
                )

    def _add_version(
        self, payload: ResourceWritten | ResourceDeleted, version: ResourceVersion, resource: Resource | None
    ) -> None:
        key = f"{payload.type}/{payload.id}"
        self._history.setdefault(key, []).append(version)
        self._changed.setdefault(payload.type, {})[key] = resource
        self._cached_by_type.pop(payload.type, None)
        self.changes_in_order.append((key, version))

    def dump(self) -> Any:
        """What differs from the dataset, with every version there was, as plain data."""
        return {
            key: [[v.id, v.updated, v.method, None if v.data is None else v.data.decode()] for v in history]
            for key, history in sorted(self._history.items())
        }


def _parse_optional(data: bytes | None) -> Resource | None:
    return None if data is None else parse_resource(data)
