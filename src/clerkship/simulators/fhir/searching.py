"""Searching (R4 http: search): a page of what matches, and what comes with it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import parse_qsl

from clerkship.fhir import search as engine
from clerkship.fhir.compartments import compartment_types
from clerkship.fhir.issue import Invalid, outcome
from clerkship.fhir.reference import parse_reference
from clerkship.fhir.resource import render
from clerkship.simulators.fhir import splice
from clerkship.simulators.fhir.draft import Draft
from clerkship.simulators.fhir.events import ResourcesSearched
from clerkship.simulators.fhir.outcome import refusal, refused
from clerkship.simulators.fhir.wire import FORM, GENERAL, Answer, Ask, check_content
from clerkship.simulators.fhir.writing import existing, known_type


def search(ask: Ask) -> Answer:
    """Resources of one type, or of all, that match."""
    type = ask.params.get("type", "")
    return _searched(ask, known_type(type) if type else "")


def search_by_post(ask: Ask) -> Answer:
    """The same, with the parameters in a form, or some of them."""
    if ask.body:
        check_content(ask.headers, FORM)
        try:
            form = parse_qsl(ask.body.decode(), keep_blank_values=True, errors="strict")
        except UnicodeDecodeError:
            raise refusal(400, "structure", "the form is not UTF-8") from None
        ask.pairs += ask.draft.address.pairs_in(form)
    ask.path = ask.path.removesuffix("/_search") or "/"
    return search_compartment(ask) if "other" in ask.params else search(ask)


def search_compartment(ask: Ask) -> Answer:
    """Resources of a type in a compartment, such as one patient's Observations."""
    whose, other = known_type(ask.params["type"]), ask.params["other"]
    if whose not in compartment_types():
        raise refusal(404, "not-supported", f"R4 has no compartment of a {whose}")
    type = "" if other == "*" else known_type(other)
    existing(ask.draft, ask.key)
    return _searched(ask, type, (whose, ask.params["id"]))


def query_of(ask: Ask, type: str, compartment: tuple[str, str] | None = None) -> engine.Query:
    """What is searched for; refused where it cannot be."""
    draft = ask.draft
    meaning = engine.Meaning(draft.base, draft.zone, engine.moment(draft.act.now))
    pairs = [pair for pair in ask.pairs if pair[0] not in GENERAL]
    try:
        query = engine.parse_query(type, pairs, strict=ask.strict, meaning=meaning, compartment=compartment)
    except Invalid as wrong:
        raise refused(wrong) from None
    most = draft.settings.max_page_size
    return replace(query, count=most) if query.count is not None and query.count > most else query


def _searched(ask: Ask, type: str, compartment: tuple[str, str] | None = None) -> Answer:
    draft = ask.draft
    query = query_of(ask, type, compartment)
    counted = query.summary == "count" or query.count == 0
    try:
        page = engine.page(engine.find(draft, query), query, draft.settings.page_size)
        keys = [] if counted else page.keys
        along = engine.included(draft, query, keys) if keys else []
    except Invalid as wrong:
        raise refused(wrong) from None
    asked = [pair for pair in ask.pairs if pair[0] not in GENERAL]
    draft.note(
        ResourcesSearched(
            type=type,
            query=said(asked, draft.base),
            total=page.total,
            found=tuple(keys),
            included=tuple(along),
            within="/".join(compartment or ()),
        )
    )
    links = _links(ask, query, page) if not counted else _links(ask, query, engine.Page([], "", page.total))
    entries = [*_shown(draft, query, keys, "match"), *_shown(draft, query, along, "include"), *_told(query)]
    return Answer(200, splice.bundle("searchset", links, entries, None if query.total == "none" else page.total))


def _links(ask: Ask, query: engine.Query, page: engine.Page) -> list[tuple[str, str]]:
    here = splice.url(ask.draft.base, ask.path)

    def at(cursor: str) -> str:
        text = query.link(cursor)
        return f"{here}?{text}" if text else here

    links = [("self", at(query.cursor))]
    if query.cursor or page.next_cursor:
        links.append(("first", at("")))
    if page.previous_cursor is not None:
        links.append(("previous", at(page.previous_cursor)))
    return [*links, ("next", at(page.next_cursor))] if page.next_cursor else links


def _shown(draft: Draft, query: engine.Query, keys: Iterable[str], mode: str) -> Iterator[bytes]:
    """Entries, as much of each as is asked for; a whole one as it is stored."""
    partly = bool(query.elements) or query.summary in ("true", "text", "data")
    for key in keys:
        version = draft.version(key)
        if version is None or version.data is None:
            continue  # held for conditions of a transaction, and not written yet
        data = version.data
        if partly and (resource := draft.resource(key)) is not None:
            data = render(engine.shown(resource, query))
        yield splice.match(draft.base, key, data, mode)


def _told(query: engine.Query) -> Iterator[bytes]:
    """What was left out of account (R4 search: handling errors): said, never silent."""
    if query.ignored:
        yield splice.told(render(outcome(query.ignored)))


def said(pairs: Sequence[tuple[str, str]], base: str) -> str:
    """A query as it goes into the log: a reference to something here is the same however it was spelled."""
    return splice.query_text((name, _said(value, base) if base and base in value else value) for name, value in pairs)


def _said(value: str, base: str) -> str:
    parts = (part.removeprefix(f"{base}/") if parse_reference(part, base) else part for part in value.split(","))
    return ",".join(parts)
