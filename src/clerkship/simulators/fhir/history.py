"""How things were: the versions of one resource, of a type, of everything (R4 http: history)."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import NamedTuple

from clerkship.fhir.chart import Chart
from clerkship.simulators.fhir import splice
from clerkship.simulators.fhir.draft import Draft
from clerkship.simulators.fhir.events import HistoryRead
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.reading import only
from clerkship.simulators.fhir.versions import Version, moment_of, of_chart
from clerkship.simulators.fhir.wire import GENERAL, Answer, Ask
from clerkship.simulators.fhir.writing import known_type

PARAMETERS = {
    "_count": "versions on a page",
    "_since": "only versions made at or after this instant",
    "_at": "only versions that were current at some time in this period",
}
CURSOR = "_cursor"
_KNOWN = GENERAL | PARAMETERS.keys() | {CURSOR}
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(T.+)?)?)?")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Past(NamedTuple):
    """One version, and its place: the higher, the newer."""

    place: int
    key: str
    version: Version


class Wanted(NamedTuple):
    """Which versions are asked for."""

    since: datetime | None
    at: tuple[datetime, datetime] | None
    size: int
    before: int | None
    """Only those of a lower place."""


def history(ask: Ask) -> Answer:
    """The versions of one resource, of a type or of everything, the newest first."""
    draft, type, id = ask.draft, ask.params.get("type", ""), ask.params.get("id", "")
    only(ask, frozenset(_KNOWN))
    if type:
        known_type(type)
    wanted = _wanted(ask)
    total, rest = _counted(draft, type, id, wanted)
    found = list(islice(rest, wanted.size + 1))
    page = found[: wanted.size]
    draft.note(HistoryRead(type=type, id=id, found=tuple(f"{p.key}/_history/{p.version.id}" for p in page)))
    own = [pair for pair in ask.pairs if pair[0] not in GENERAL]
    links = [("self", splice.url(draft.base, ask.path, own))]
    if len(found) > len(page) and page:
        further = [*(pair for pair in own if pair[0] != CURSOR), (CURSOR, str(page[-1].place))]
        links.append(("next", splice.url(draft.base, ask.path, further)))
    made = _made(draft, page)
    entries = [splice.past(draft.base, past.key, past.version, (past.key, past.version.id) in made) for past in page]
    return Answer(200, splice.bundle("history", links, entries, total))


def _made(draft: Draft, page: list[Past]) -> set[tuple[str, str]]:
    """The versions in which what is on a page was made, or made again after it had been deleted: by key and id."""
    made: set[tuple[str, str]] = set()
    for key in {past.key for past in page}:
        before: Version | None = None
        for version in draft.versions(key):
            if before is None or before.gone:
                made.add((key, version.id))
            before = version
    return made


def _counted(draft: Draft, type: str, id: str, wanted: Wanted) -> tuple[int, Iterator[Past]]:
    """How many there are in all, and those from where the page begins."""
    if id:
        versions = draft.versions(f"{type}/{id}")
        if not versions:
            raise refusal(404, "not-found", f"there is no {type}/{id[:80]}")
        listed = [Past(place, f"{type}/{id}", found) for place, found in enumerate(versions)]
        every: Iterator[Past] = reversed(listed)
        total = len(versions)
    else:
        every = chain(_changes(draft, type), _dataset(draft.chart, type, wanted.before))
        total = sum(1 for _ in _changes(draft, type)) + len(_of_dataset(draft.chart, type))
    if wanted.since is not None or wanted.at is not None:
        whole = chain(_changes(draft, type), _dataset(draft.chart, type, None)) if not id else every
        matching = list(_matching(whole, wanted))
        total, every = len(matching), iter(matching)
    return total, (past for past in every if wanted.before is None or past.place < wanted.before)


def _changes(draft: Draft, type: str) -> Iterator[Past]:
    start = f"{type}/" if type else ""
    return (Past(place, key, found) for place, key, found in draft.newest() if key.startswith(start))


def _dataset(chart: Chart, type: str, before: int | None) -> Iterator[Past]:
    """The first versions, which have places from 0 down."""
    keys = _of_dataset(chart, type)
    for number in range(max(0, 1 - before) if before is not None else 0, len(keys)):
        first = of_chart(chart, keys[number])
        assert first is not None
        yield Past(-number, keys[number], first)


def _of_dataset(chart: Chart, type: str) -> list[str]:
    """The chart's resources, the newest first: worked out once for all who ask."""

    def build() -> list[str]:
        keys = list(chart.of_type(type) if type else chart)
        return sorted(keys, key=lambda key: (_start(of_chart(chart, key)), key), reverse=True)

    return chart.once(("fhir.history", type), build)


def _start(version: Version | None) -> datetime:
    return (version and moment_of(version.updated)) or _LONG_AGO


def _matching(newest: Iterator[Past], wanted: Wanted) -> Iterator[Past]:
    """Those that are asked for. The newest come first: what comes after a version has been seen before it."""
    ends: dict[str, datetime] = {}
    for past in newest:
        start = _start(past.version)
        end, ends[past.key] = ends.get(past.key), start
        if wanted.since is not None and start < wanted.since:
            continue
        if wanted.at is None or (start < wanted.at[1] and (end is None or end > wanted.at[0])):
            yield past


def _wanted(ask: Ask) -> Wanted:
    said = dict(ask.pairs)
    settings = ask.draft.settings
    count = whole(said["_count"], "_count") if "_count" in said else settings.page_size
    since = period(said["_since"], "_since", ask.draft.here)[0] if "_since" in said else None
    at = period(said["_at"], "_at", ask.draft.here) if "_at" in said else None
    cursor = said.get(CURSOR)
    if cursor is not None and re.fullmatch(r"-?\d{1,12}", cursor) is None:
        raise refusal(400, "value", f"`{CURSOR}` is what a `next` link has in it")
    return Wanted(since, at, min(count, settings.max_page_size), None if cursor is None else int(cursor))


def whole(text: str, name: str) -> int:
    """A number of things."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise refusal(400, "value", f"`{name}` is a whole number, not {text[:80]}")
    return int(text)


def period(text: str, name: str, now: datetime) -> tuple[datetime, datetime]:
    """The time that a date, or an instant, is: from, and until just before. A date is one where the server is."""
    found = _DATE.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        if found[4] is not None:
            moment = datetime.fromisoformat(text.replace(" ", "+"))
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=now.tzinfo)
            return moment, moment + timedelta(milliseconds=1)
        start = datetime(int(found[1]), int(found[2] or 1), int(found[3] or 1), tzinfo=now.tzinfo)
        if found[3] is not None:
            return start, start + timedelta(days=1)
        months = start.year * 12 + start.month - 1 + (1 if found[2] is not None else 12)
        return start, start.replace(year=months // 12, month=months % 12 + 1)
    except (ValueError, OverflowError):
        raise refusal(400, "value", f"`{name}` is a date or an instant, not {text[:80]}") from None
