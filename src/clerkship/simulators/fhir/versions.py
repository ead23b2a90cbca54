"""Versions of a resource, and what the head of its byte form says of the one it is (R4 resource: meta)."""

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import NamedTuple

from clerkship.fhir.chart import Chart
from clerkship.fhir.resource import Resource, parse

FIRST = "1"
_META = re.compile(
    rb'\{"resourceType":"\w+","id":"[^"]+"(?:,"meta":\{(?:"lastUpdated":"([^"\\]+)")?'
    rb'(?:,?"profile":\["[^"\\]*"\])?(?:,?"versionId":"([^"\\]+)")?\})?(,"meta")?'
)
"""The usual heads; one with tags or extensions in its meta is read whole."""


_COUNTED = re.compile(r"(.+)\.(\d{1,17})", re.ASCII)
_LONGEST = 64
"""Characters of an id (R4 datatypes)."""
Tags = tuple[str, ...]
"""Ids of versions, as preconditions have them; `*` is any."""


class Version(NamedTuple):
    """A resource as it was from one moment on."""

    id: str
    updated: str
    """An instant; empty where the dataset does not say."""
    data: bytes | None
    """None: it was deleted."""
    method: str
    """By which HTTP verb it came about."""

    @property
    def gone(self) -> bool:
        """Whether there was nothing any more."""
        return self.data is None

    @property
    def etag(self) -> str:
        """As HTTP has it: weak, for the bytes may differ (R4 http: versioning)."""
        return f'W/"{self.id}"'


def of_chart(chart: Chart, key: str) -> Version | None:
    """The version the dataset has."""
    data = chart.get(key)
    if data is None:
        return None
    found = _META.match(data)
    if found is not None and found[3] is None:
        return Version((found[2] or b"1").decode(), (found[1] or b"").decode(), data, "POST")
    version, updated = chart.once(("fhir.version", key), lambda: _read_meta(parse(data)))
    return Version(version, updated, data, "POST")


def _read_meta(resource: Resource) -> tuple[str, str]:
    meta = resource.get("meta")
    said = meta if isinstance(meta, dict) else {}
    version, updated = said.get("versionId"), said.get("lastUpdated")
    return (version if isinstance(version, str) else FIRST), (updated if isinstance(updated, str) else "")


def next_id(version: Version | None) -> str:
    """What comes after it: never what any before it had, for the number only grows."""
    if version is None:
        return FIRST
    id = version.id
    if id.isascii() and id.isdigit() and len(id) < 18:
        return str(int(id) + 1)
    found = _COUNTED.fullmatch(id)
    stem, number = (found[1], str(int(found[2]) + 1)) if found is not None else (id, "1")
    return f"{stem[: _LONGEST - 1 - len(number)]}.{number}"


def instant(now: datetime) -> str:
    """A moment as FHIR writes it, to the millisecond, with its zone."""
    return now.isoformat(timespec="milliseconds")


@lru_cache(maxsize=4096)
def http_date(updated: str) -> str:
    """An instant as HTTP writes it (RFC 9110 §5.6.7); empty where there is none."""
    moment = moment_of(updated)
    return "" if moment is None else format_datetime(moment.astimezone(UTC), usegmt=True)


def moment_of(updated: str) -> datetime | None:
    """An instant as a moment; what a dataset says that is none is none."""
    try:
        moment = datetime.fromisoformat(updated)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
