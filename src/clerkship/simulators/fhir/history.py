"""The history interactions: versions of one resource, of a type, of the whole server (R4 http: history)."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import Annotated, NamedTuple

from pydantic import Field

from clerkship.formats.fhir.chart import Chart
from clerkship.model.frozen import Frozen
from clerkship.simulators.fhir import bundle_json
from clerkship.simulators.fhir.events import HistoryRead
from clerkship.simulators.fhir.inputs import (
    CURSOR_DESCRIPTION,
    PAGING_HINT,
    InstanceInput,
    OptionalNumber,
    OptionalText,
    TypeName,
    query_pairs,
)
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.state import ResourceVersion, find_chart_version, parse_instant
from clerkship.simulators.fhir.transaction import FhirResponse, Transaction, interaction
from clerkship.simulators.fhir.write import check_type

CURSOR = "_cursor"
Count = Annotated[OptionalNumber, Field(alias="_count", description="number of versions on a page")]
Since = Annotated[OptionalText, Field(alias="_since", description="only versions created at or after this instant")]
At = Annotated[
    OptionalText, Field(alias="_at", description="only versions that were current at some time in this period")
]
Cursor = Annotated[OptionalText, Field(alias=CURSOR, description=CURSOR_DESCRIPTION)]
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(T.+)?)?)?")
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class SystemHistory(Frozen):
    """The input of a history of the whole server."""

    count: Count = None
    since: Since = None
    at: At = None
    cursor: Cursor = None


class TypeHistory(SystemHistory):
    """The input of a history of a type."""

    type: TypeName


class ResourceHistory(SystemHistory, InstanceInput):
    """The input of a history of one resource."""


class HistoryEntry(NamedTuple):
    """A version of a resource and its position in the history. Newer versions have higher positions."""

    position: int
    key: str
    version: ResourceVersion


class HistoryScope(NamedTuple):
    """Which versions are requested."""

    since: datetime | None
    at: tuple[datetime, datetime] | None
    size: int
    before: int | None
    """Only entries with a lower position: the cursor of the page before."""


@interaction(tool=False, permission="search")
def history_system(transaction: Transaction, history: SystemHistory) -> FhirResponse:
    """List the versions of all FHIR R4 resources, newest first."""
    return _build_history(transaction, history, "/_history")


@interaction(tool=False, permission="search")
def history_type(transaction: Transaction, history: TypeHistory) -> FhirResponse:
    """List the versions of all FHIR R4 resources of a type, newest first."""
    return _build_history(transaction, history, f"/{history.type}/_history", check_type(history.type))


@interaction(shorter_hint=PAGING_HINT, permission="read")
def history_instance(transaction: Transaction, history: ResourceHistory) -> FhirResponse:
    """List the versions of one FHIR R4 resource, newest first. Returns a Bundle; a next link leads to more."""
    path = f"/{history.type}/{history.id}/_history"
    return _build_history(transaction, history, path, check_type(history.type), history.id)


def _build_history(
    transaction: Transaction, history: SystemHistory, path: str, type: str = "", id: str = ""
) -> FhirResponse:
    scope, base = _parse_scope(transaction, history), transaction.base
    total, remaining = _count_and_list(transaction, type, id, scope)
    page_and_next = list(islice(remaining, scope.size + 1))
    page = page_and_next[: scope.size]
    transaction.note(
        HistoryRead(type=type, id=id, found=tuple(f"{entry.key}/_history/{entry.version.id}" for entry in page))
    )
    query = query_pairs(history)
    links = [("self", bundle_json.build_url(base, path, query))]
    if len(page_and_next) > len(page) and page:
        next_query = [*(pair for pair in query if pair[0] != CURSOR), (CURSOR, str(page[-1].position))]
        links.append(("next", bundle_json.build_url(base, path, next_query)))
    creations = _find_creations(transaction, page)
    entries = [
        bundle_json.render_history_entry(base, entry.key, entry.version, (entry.key, entry.version.id) in creations)
        for entry in page
    ]
    return FhirResponse(200, bundle_json.render_bundle("history", links, entries, total))


def _parse_scope(transaction: Transaction, history: SystemHistory) -> HistoryScope:
    settings, local_time = transaction.settings, transaction.local_time
    size = settings.page_size if history.count is None else history.count
    since = parse_period(history.since, "_since", local_time)[0] if history.since is not None else None
    at = parse_period(history.at, "_at", local_time) if history.at is not None else None
    cursor = history.cursor
    if cursor is not None and re.fullmatch(r"-?\d{1,12}", cursor) is None:
        raise refusal(400, "value", f"`{CURSOR}` must be the value from a `next` link")
    return HistoryScope(since, at, min(size, settings.max_page_size), None if cursor is None else int(cursor))


def _find_creations(transaction: Transaction, page: list[HistoryEntry]) -> set[tuple[str, str]]:
    """Return the versions that created a resource of the page, as pairs of key and version id.

    The first version after a deletion counts as well.
    """
    creations: set[tuple[str, str]] = set()
    for key in {entry.key for entry in page}:
        previous: ResourceVersion | None = None
        for version in transaction.versions(key):
            if previous is None or previous.is_deleted:
                creations.add((key, version.id))
            previous = version
    return creations


def _count_and_list(
    transaction: Transaction, type: str, id: str, scope: HistoryScope
) -> tuple[int, Iterator[HistoryEntry]]:
    """Return the total number of entries, and the entries from the beginning of the page on."""
    if id:
        versions = transaction.versions(f"{type}/{id}")
        if not versions:
            raise refusal(404, "not-found", f"there is no {type}/{id[:80]}")
        oldest_first = [HistoryEntry(position, f"{type}/{id}", version) for position, version in enumerate(versions)]
        entries: Iterator[HistoryEntry] = reversed(oldest_first)
        total = len(versions)
    else:
        entries = chain(_list_changes(transaction, type), _list_chart_versions(transaction.chart, type, scope.before))
        total = sum(1 for _ in _list_changes(transaction, type)) + len(_sort_chart_keys(transaction.chart, type))
    if scope.since is not None or scope.at is not None:
        all_entries = (
            chain(_list_changes(transaction, type), _list_chart_versions(transaction.chart, type, None))
            if not id
            else entries
        )
        matching = list(_filter_entries(all_entries, scope))
        total, entries = len(matching), iter(matching)
    return total, (entry for entry in entries if scope.before is None or entry.position < scope.before)


def _list_changes(transaction: Transaction, type: str) -> Iterator[HistoryEntry]:
    prefix = f"{type}/" if type else ""
    return (
        HistoryEntry(position, key, version)
        for position, key, version in transaction.changes_newest_first()
        if key.startswith(prefix)
    )


def _list_chart_versions(chart: Chart, type: str, before: int | None) -> Iterator[HistoryEntry]:
    """Yield the versions of the dataset, newest first.

    Their positions are 0 and below, so that they come after all changes, whose positions start at 1.
    """
    keys = _sort_chart_keys(chart, type)
    for number in range(max(0, 1 - before) if before is not None else 0, len(keys)):
        first = find_chart_version(chart, keys[number])
        assert first is not None
        yield HistoryEntry(-number, keys[number], first)


def _sort_chart_keys(chart: Chart, type: str) -> list[str]:
    """Return the keys of the dataset's resources, newest first. Computed once per dataset."""

    def build() -> list[str]:
        keys = list(chart.list_keys(type) if type else chart)
        return sorted(keys, key=lambda key: (_start_of(find_chart_version(chart, key)), key), reverse=True)

    return chart.get_or_build(("fhir.history", type), build)


def _start_of(version: ResourceVersion | None) -> datetime:
    return (version and parse_instant(version.updated)) or _EARLIEST


def _filter_entries(entries: Iterator[HistoryEntry], scope: HistoryScope) -> Iterator[HistoryEntry]:
    """Yield the entries in scope.

    A version ends when the next version of the same resource starts. Entries come newest first, so that one was seen
    before.
    """
    ends: dict[str, datetime] = {}
    for entry in entries:
        start = _start_of(entry.version)
        end, ends[entry.key] = ends.get(entry.key), start
        if scope.since is not None and start < scope.since:
            continue
        if scope.at is None or (start < scope.at[1] and (end is None or end > scope.at[0])):
            yield entry


def parse_period(text: str, name: str, now: datetime) -> tuple[datetime, datetime]:
    """Return the start and the exclusive end of a date or an instant. A date is in the time zone of the server."""
    date = _DATE.fullmatch(text)
    try:
        if date is None:
            raise ValueError
        if date[4] is not None:
            moment = datetime.fromisoformat(text.replace(" ", "+"))
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=now.tzinfo)
            return moment, moment + timedelta(milliseconds=1)
        start = datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1), tzinfo=now.tzinfo)
        if date[3] is not None:
            return start, start + timedelta(days=1)
        months = start.year * 12 + start.month - 1 + (1 if date[2] is not None else 12)
        return start, start.replace(year=months // 12, month=months % 12 + 1)
    except (ValueError, OverflowError):
        raise refusal(400, "value", f"`{name}` must be a date or an instant, not {text[:80]}") from None
