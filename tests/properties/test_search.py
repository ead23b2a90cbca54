"""A search finds what a look at every resource finds: which, in what order, on what pages, with what beside it."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clerkship.fhir.search import find, included, matches, page, parse_query
from tests.fhir.search.shelf_of import Changed, view_of
from tests.properties.naive_search import Pair, Resource, along, in_order, wanted

IDS = st.sampled_from(["a", "b", "c", "d"])
NAMES = st.sampled_from(["Ash", "ashley", "Ásh", "O'Brien", "obrien", "Beech", "sh"])
CODES = st.sampled_from(["x", "X", "y", "zz"])
SYSTEMS = st.sampled_from(["urn:s", "urn:t"])
STATUS = st.sampled_from(["final", "amended"])
GENDERS = st.sampled_from(["male", "female"])
DAYS = st.sampled_from(["2019", "2020", "2020-01", "2020-02", "2020-12", "2020-02-29", "2020-03-01", "2019-12-31"])
MOMENTS = st.sampled_from(
    [
        *("2020-02-29T10:00:00Z", "2020-02-29T23:30:00-05:00", "2020-03-01T00:00:00+14:00"),
        *("2019-12-31T23:59:59Z", "2020-01-01T00:00:00Z"),
    ]
)
DATES = DAYS | MOMENTS
NUMBERS = st.sampled_from([0, 1, 5.3, 5.35, 5.4, 5.45, 5.5, 6, 100, -5.4])
FIGURES = st.sampled_from(["0", "1", "5.4", "5.35", "5", "5.40", "100", "-5.4", "6.0"])
PREFIXES = st.sampled_from(["", "eq", "ne", "gt", "ge", "lt", "le", "sa", "eb", "ap"])


def concept(code: str, system: str | None) -> Resource:
    return {"coding": [{"code": code, **({"system": system} if system else {})}]}


CONCEPTS = st.builds(concept, CODES, st.none() | SYSTEMS)
QUANTITIES = st.builds(
    lambda value, code: {"value": value, **({"system": "urn:u", "code": code} if code else {})},
    NUMBERS,
    st.none() | st.sampled_from(["mg", "g"]),
)
PERIODS = st.fixed_dictionaries({}, optional={"start": DATES, "end": DATES}).filter(bool)


def to(*types: str) -> st.SearchStrategy[Resource]:
    return st.builds(lambda type, id: {"reference": f"{type}/{id}"}, st.sampled_from(types), IDS)


PATIENTS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.lists(st.fixed_dictionaries({}, optional={"family": NAMES}), min_size=1, max_size=2),
        "gender": GENDERS,
        "birthDate": DAYS,
        "identifier": st.lists(
            st.builds(
                lambda value, system: {"value": value, **({"system": system} if system else {})},
                CODES,
                st.none() | SYSTEMS,
            ),
            min_size=1,
            max_size=2,
        ),
        "managingOrganization": to("Organization"),
    },
)
ORGANIZATIONS = st.fixed_dictionaries({}, optional={"name": NAMES, "partOf": to("Organization")})
OBSERVATIONS = st.fixed_dictionaries(
    {"status": STATUS},
    optional={
        "code": CONCEPTS,
        "subject": to("Patient", "Device") | st.just({"display": "somebody"}),
        "when": DATES | PERIODS,
        "valueQuantity": QUANTITIES,
        "component": st.lists(
            st.builds(lambda code, value: {"code": code, "valueQuantity": value}, CONCEPTS, QUANTITIES), max_size=2
        ),
        "hasMember": st.lists(to("Observation"), max_size=2),
    },
)


def whole(type: str, id: str, elements: Resource) -> Resource:
    said = dict(elements)
    when = said.pop("when", None)
    if when is not None:
        said["effectiveDateTime" if isinstance(when, str) else "effectivePeriod"] = when
    return {"resourceType": type, "id": id, **{name: value for name, value in said.items() if value != []}}


RESOURCES = (
    st.builds(whole, st.just("Patient"), IDS, PATIENTS)
    | st.builds(whole, st.just("Organization"), IDS, ORGANIZATIONS)
    | st.builds(whole, st.just("Observation"), IDS, OBSERVATIONS)
)


def said(name: str, *texts: st.SearchStrategy[str]) -> st.SearchStrategy[Pair]:
    alternatives = st.lists(st.one_of(*texts), min_size=1, max_size=2).map(",".join)
    return st.tuples(st.just(name), alternatives)


def missing(*names: str) -> st.SearchStrategy[Pair]:
    return st.tuples(st.sampled_from(names).map("{}:missing".format), st.sampled_from(["true", "false"]))


def each(modifiers: list[str], name: str, *texts: st.SearchStrategy[str]) -> st.SearchStrategy[Pair]:
    return st.one_of([said(name + modifier, *texts) for modifier in modifiers])


TOKENS = st.builds("{}|{}".format, SYSTEMS, CODES) | CODES | CODES.map("|{}".format) | SYSTEMS.map("{}|".format)
PREFIXED = st.builds("{}{}".format, PREFIXES, DATES)
AMOUNTS = st.builds("{}{}".format, PREFIXES, FIGURES) | st.builds(
    "{}{}|urn:u|{}".format, PREFIXES, FIGURES, st.sampled_from(["mg", "g"])
)
PARTS = st.builds("{}${}".format, TOKENS, AMOUNTS)
ORGANIZATION_PAIRS = (
    each(["", ":exact", ":contains"], "name", NAMES)
    | said("partof", IDS, IDS.map("Organization/{}".format))
    | missing("name", "partof")
    | said("_id", IDS)
)
PATIENT_PAIRS = (
    each(["", ":exact", ":contains"], "family", NAMES, st.sampled_from(["a", "as", "b"]))
    | each(["", ":not"], "gender", GENDERS)
    | each(["", ":not"], "identifier", TOKENS)
    | said("birthdate", PREFIXED)
    | said("organization", IDS)
    | missing("family", "gender", "identifier", "birthdate", "organization")
    | each(["", ":not"], "_id", IDS)
    | ORGANIZATION_PAIRS.map(lambda pair: (f"organization.{pair[0]}", pair[1]))
)
OBSERVATION_PAIRS = (
    each(["", ":not"], "status", STATUS)
    | each(["", ":not"], "code", TOKENS)
    | said("date", PREFIXED)
    | said("value-quantity", AMOUNTS)
    | said("component-code-value-quantity", PARTS)
    | each(["", ":Patient"], "subject", IDS)
    | said("subject", IDS.map("Device/{}".format))
    | said("patient", IDS)
    | missing("code", "date", "value-quantity", "subject", "patient", "has-member")
    | PATIENT_PAIRS.map(lambda pair: (f"patient.{pair[0]}", pair[1]))
    | PATIENT_PAIRS.map(lambda pair: (f"subject:Patient.{pair[0]}", pair[1]))
)
PAIRS = {
    "Patient": PATIENT_PAIRS | OBSERVATION_PAIRS.map(lambda pair: (f"_has:Observation:patient:{pair[0]}", pair[1])),
    "Observation": OBSERVATION_PAIRS
    | OBSERVATION_PAIRS.map(lambda pair: (f"_has:Observation:has-member:{pair[0]}", pair[1])),
    "Organization": ORGANIZATION_PAIRS
    | PATIENT_PAIRS.map(lambda pair: (f"_has:Patient:organization:{pair[0]}", pair[1]))
    | OBSERVATION_PAIRS.map(lambda pair: (f"_has:Patient:organization:_has:Observation:patient:{pair[0]}", pair[1])),
}
SORTED_BY = {
    "Patient": ["family", "gender", "birthdate", "identifier", "organization", "_id"],
    "Observation": ["status", "code", "date", "value-quantity", "subject", "_id"],
    "Organization": ["name", "partof", "_id"],
}
INCLUDES = st.builds(
    lambda name, again, text: (name + again, text),
    st.sampled_from(["_include", "_revinclude"]),
    st.sampled_from(["", ":iterate"]),
    st.sampled_from(
        [
            "Observation:patient",
            "Observation:subject",
            "Observation:has-member",
            "Patient:organization",
            "Organization:partof",
        ]
    ),
)


@st.composite
def searches(draw: st.DrawFn) -> tuple[str, list[Pair], list[str]]:
    type = draw(st.sampled_from(sorted(PAIRS)))
    rules = draw(st.lists(st.sampled_from(SORTED_BY[type]), max_size=2, unique=True))
    downs = [draw(st.sampled_from(["", "-"])) for _ in rules]
    return type, draw(st.lists(PAIRS[type], max_size=3)), [down + rule for down, rule in zip(downs, rules, strict=True)]


CHARTS = st.lists(RESOURCES, max_size=14)
CHANGES = st.lists(RESOURCES | st.builds("{}/{}".format, st.sampled_from(sorted(PAIRS)), IDS), max_size=6)


def stood(chart: list[Resource], changes: list[Any]) -> tuple[Changed, dict[str, Resource]]:
    """A view of a chart with its changes, and the same as one plain dict."""
    view = view_of(*{f"{each['resourceType']}/{each['id']}": each for each in chart}.values())
    now = {f"{each['resourceType']}/{each['id']}": each for each in chart}
    for change in changes:
        if not isinstance(change, str):
            view.put(change)
            now[f"{change['resourceType']}/{change['id']}"] = change
        elif change in now:
            view.delete(change)
            del now[change]
    return view, now


def asked(pairs: list[Pair], sort: list[str]) -> list[Pair]:
    return [*pairs, *([("_sort", ",".join(sort))] if sort else [])]


SLOW = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@SLOW
@given(CHARTS, CHANGES, st.lists(searches(), min_size=1, max_size=4))
def test_a_search_finds_what_a_look_at_everything_finds(chart: list[Resource], changes: list[Any], all: Any) -> None:
    view, now = stood(chart, changes)
    for type, pairs, sort in all:
        expected = wanted(now, type, pairs)
        query = parse_query(type, asked(pairs, sort))
        found = find(view, query)
        assert list(found.keys) == in_order(now, expected, sort)
        assert found.total == len(expected)
        for key, resource in now.items():
            assert matches(view, type, pairs, resource) == (key in expected)


@SLOW
@given(CHARTS, CHANGES, searches(), st.integers(1, 4), st.lists(CHANGES, max_size=3))
def test_pages_go_on_where_they_ended_whatever_comes_and_goes(
    chart: list[Resource], changes: list[Any], search: Any, count: int, later: list[Any]
) -> None:
    view, now = stood(chart, changes)
    type, pairs, sort = search
    cursor, seen = "", list[str]()
    ever, always = set(wanted(now, type, pairs)), dict(now)
    while True:
        query = parse_query(
            type, [*asked(pairs, sort), ("_count", str(count)), *([("_cursor", cursor)] if cursor else [])]
        )
        one = page(find(view, query), query, 10)
        assert len(one.keys) <= count
        seen += one.keys
        cursor = one.next_cursor
        if not cursor:
            break
        changes = [*changes, *(later.pop() if later else [])]
        view, now = stood(chart, changes)
        ever |= wanted(now, type, pairs)
        always = {key: resource for key, resource in always.items() if now.get(key) == resource}
    untouched = [key for key in seen if key in always]
    assert len(untouched) == len(set(untouched))
    assert set(seen) <= ever
    if not any(
        name.count(":") > 1 or "." in name for name, _ in pairs
    ):  # of a chain, what it leads to may have changed
        steady = wanted(always, type, pairs)
        assert untouched == in_order(always, steady, sort)


@SLOW
@given(CHARTS, CHANGES, st.sampled_from(sorted(PAIRS)), st.lists(INCLUDES, min_size=1, max_size=3, unique=True))
def test_what_comes_along_is_what_a_look_at_everything_brings(
    chart: list[Resource], changes: list[Any], type: str, includes: list[Pair]
) -> None:
    view, now = stood(chart, changes)
    query = parse_query(type, includes)
    matched = list(find(view, query).keys)[:2]
    found = included(view, query, matched)
    assert len(found) == len(set(found))
    assert set(found) == along(now, matched, includes)
