"""`Patient/[id]/$everything`: a patient's whole compartment, and what it refers to (R4 Patient/$everything)."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from clerkship.fhir.compartments import compartment_parameters, types_in
from clerkship.fhir.parameters import parameters_of
from clerkship.fhir.reference import parse_reference, references
from clerkship.fhir.search import find_keys
from clerkship.simulators.fhir import splice
from clerkship.simulators.fhir.draft import Draft
from clerkship.simulators.fhir.events import ResourcesSearched
from clerkship.simulators.fhir.history import period, whole
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.reading import only
from clerkship.simulators.fhir.searching import said
from clerkship.simulators.fhir.versions import moment_of
from clerkship.simulators.fhir.wire import GENERAL, Answer, Ask, Pairs, body_of
from clerkship.simulators.fhir.writing import existing, known_type

PATIENT = "Patient"
PARAMETERS = {
    "_since": "only what was changed at or after this instant",
    "_type": "only these types, with commas between them",
    "start": "only care dated at or after this date",
    "end": "only care dated at or before this date",
    "_count": "resources on a page; all of them on one if not given",
}
CURSOR = "_cursor"
_KNOWN = frozenset(GENERAL | PARAMETERS.keys() | {CURSOR})


_DATES = (
    *("authoredon", "authored", "authored-on", "date", "onset-date", "effective-time", "effective"),
    *("whenhandedover", "started", "collected", "occurrence", "sent", "created", "recorded", "identified"),
    *("datetime", "datewritten", "start-date", "period"),
)
"""Search parameters that say when care was given, the first that a type has; others are not dated."""


class Wanted(NamedTuple):
    """What of it is asked for."""

    types: frozenset[str]
    since: datetime | None
    start: str
    end: str


class Listed(NamedTuple):
    """A resource in the answer, and its place there."""

    rank: int
    """0 the patient, 1 what belongs to them, 2 what that refers to."""
    key: str


def everything(ask: Ask) -> Answer:
    """The patient, what belongs to them, and what is needed to read it."""
    draft, id = ask.draft, ask.params["id"]
    existing(draft, f"{PATIENT}/{id}")
    only(ask, _KNOWN)
    wanted = _wanted(ask)
    own = sorted(_compartment(draft, id, wanted))
    besides = sorted(_referred(draft, [Listed(0, f"{PATIENT}/{id}"), *own]))
    listed = [one for one in (Listed(0, f"{PATIENT}/{id}"), *own, *besides) if _is_wanted(draft, one, wanted)]
    return _page(ask, listed)


def everything_by_post(ask: Ask) -> Answer:
    """The same, with the parameters, if any, in a Parameters resource (R4 operations: executing an operation)."""
    if ask.body or ask.given is not None:
        ask.pairs += _parameters(body_of(ask))
    return everything(ask)


def _parameters(data: Any) -> Pairs:
    listed = data.get("parameter", []) if isinstance(data, dict) and data.get("resourceType") == "Parameters" else None
    if not isinstance(listed, list):
        raise refusal(400, "structure", "the body is a Parameters resource, or there is none")
    return tuple(_parameter(number, part) for number, part in enumerate(listed))


def _parameter(number: int, part: Any) -> tuple[str, str]:
    said = part if isinstance(part, dict) else {}
    values = [value for name, value in said.items() if name.startswith("value")]
    if not isinstance(said.get("name"), str) or len(values) != 1 or not isinstance(values[0], str | int):
        place = f"Parameters.parameter[{number}]"
        raise refusal(400, "value", "a parameter here has a name and one value, a text or a number", place)
    return said["name"], str(values[0])


def _wanted(ask: Ask) -> Wanted:
    asked, now = dict(ask.pairs), ask.draft.here
    types = frozenset(known_type(type) for type in asked.get("_type", "").split(",") if type)
    since = period(asked["_since"], "_since", now)[0] if "_since" in asked else None
    for name in ("start", "end"):
        if name in asked:
            period(asked[name], name, now)
    return Wanted(types, since, asked.get("start", ""), asked.get("end", ""))


def _compartment(draft: Draft, id: str, wanted: Wanted) -> set[Listed]:
    """What belongs to the patient, other than their own record."""
    found: set[str] = set()
    for type in types_in(PATIENT):
        own: set[str] = set()
        for parameter in compartment_parameters(PATIENT, type):
            own.update(find_keys(draft, type, [(parameter, f"{PATIENT}/{id}")]))
        found |= own & _in_time(draft, type, wanted) if own and (wanted.start or wanted.end) else own
    return {Listed(1, key) for key in found if key != f"{PATIENT}/{id}"}


def _in_time(draft: Draft, type: str, wanted: Wanted) -> set[str]:
    """What of a type is care in the time asked for, or has no date."""
    name = next(
        (name for name in _DATES if name in parameters_of(type) and parameters_of(type)[name].type == "date"), ""
    )
    if not name:
        return set(find_keys(draft, type, []))
    bounds = [(name, f"{sign}{date}") for sign, date in (("ge", wanted.start), ("le", wanted.end)) if date]
    return {*find_keys(draft, type, bounds), *find_keys(draft, type, [(f"{name}:missing", "true")])}


def _referred(draft: Draft, listed: Iterable[Listed]) -> set[Listed]:
    """What those refer to and what that refers to, as far as it is nobody's: practitioners, places, medications."""
    personal = frozenset(types_in(PATIENT))
    found: set[str] = set()
    fresh = [one.key for one in listed]
    while fresh:
        targets = {target for key in fresh for target in _targets(draft, key)}
        fresh = [key for key in targets - found if key.partition("/")[0] not in personal and draft.is_there(key)]
        found.update(fresh)
    return {Listed(2, key) for key in found}


def _targets(draft: Draft, key: str) -> Iterator[str]:
    for _, holder in references(draft.resource(key)):
        target = parse_reference(holder["reference"])
        if target is not None:
            yield target.key


def _is_wanted(draft: Draft, one: Listed, wanted: Wanted) -> bool:
    if wanted.types and one.key.partition("/")[0] not in wanted.types:
        return False
    version = draft.version(one.key)
    changed = moment_of(version.updated) if version is not None else None
    return wanted.since is None or (changed is not None and changed >= wanted.since)


def _page(ask: Ask, listed: list[Listed]) -> Answer:
    draft = ask.draft
    asked = [pair for pair in ask.pairs if pair[0] not in GENERAL]
    said_of = dict(asked)
    after = _cursor(said_of.get(CURSOR))
    rest = [one for one in listed if after is None or one > after]
    count = whole(said_of["_count"], "_count") if "_count" in said_of else len(rest)
    page = rest[: min(count, draft.settings.max_page_size)] if "_count" in said_of else rest
    draft.note(
        ResourcesSearched(
            type=PATIENT,
            query=said(asked, draft.base),
            total=len(listed),
            found=tuple(one.key for one in page if one.rank < 2),
            included=tuple(one.key for one in page if one.rank == 2),
            within=f"{PATIENT}/{ask.params['id']}",
            operation="$everything",
        )
    )
    links = [("self", splice.url(draft.base, ask.path, asked))]
    if page and len(page) < len(rest):
        further = [*(pair for pair in asked if pair[0] != CURSOR), (CURSOR, f"{page[-1].rank}:{page[-1].key}")]
        links.append(("next", splice.url(draft.base, ask.path, further)))
    entries = [
        splice.match(draft.base, one.key, _data(draft, one), "include" if one.rank == 2 else "match") for one in page
    ]
    return Answer(200, splice.bundle("searchset", links, entries, len(listed)))


def _data(draft: Draft, one: Listed) -> bytes:
    version = draft.version(one.key)
    assert version is not None
    return version.data or b"null"


def _cursor(text: str | None) -> Listed | None:
    if text is None:
        return None
    rank, _, key = text.partition(":")
    if rank not in ("0", "1", "2"):
        raise refusal(400, "value", f"`{CURSOR}` is what a `next` link has in it")
    return Listed(int(rank), key)
