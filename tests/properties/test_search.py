"""The search equals a naive search: matches, order, pages and includes."""

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clerkship.formats.fhir.search import build_page, find_included, matches_search, parse_query, run_search
from tests.examples import examples
from tests.formats.fhir.search.searching import MutableView, view_resources
from tests.properties.naive_search import Pair, Resource, date_range, naive_includes, naive_search, sort_keys

ID_POOL = "abcdefghij"
NAME_POOL = ["Ash", "ashley", "Ásh", "O'Brien", "obrien", "Beech", "sh"]
CODE_POOL = ["x", "X", "y", "zz"]
SYSTEM_POOL = ["urn:s", "urn:t"]
DAY_POOL = ["2019", "2020", "2020-01", "2020-02", "2020-12", "2020-02-29", "2020-03-01", "2019-12-31"]
DATE_POOL = [
    *DAY_POOL,
    *("2020-02-29T10:00:00Z", "2020-02-29T23:30:00-05:00", "2020-03-01T00:00:00+14:00"),
    *("2019-12-31T23:59:59Z", "2020-01-01T00:00:00Z"),
]
NUMBER_POOL = [0, 1, 5.3, 5.35, 5.4, 5.45, 5.5, 6, 100, -5.4]
IDS, NAMES, CODES, SYSTEMS = map(st.sampled_from, (ID_POOL, NAME_POOL, CODE_POOL, SYSTEM_POOL))
STATUS = st.sampled_from(["final", "amended"])
GENDERS = st.sampled_from(["male", "female"])
DATES = st.sampled_from(DATE_POOL)
FIGURE_POOL = ["0", "1", "5.4", "5.35", "5", "5.40", "100", "-5.4", "6.0"]
FIGURES = st.sampled_from(FIGURE_POOL)
PREFIX_POOL = ["", "eq", "ne", "gt", "ge", "lt", "le", "sa", "eb", "ap"]
PREFIXES = st.sampled_from(PREFIX_POOL)


class Maker:
    """Builds random charts from one number, because drawing each value takes too long."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)

    def maybe(self, **elements: Any) -> Resource:
        return {name: value for name, value in elements.items() if value != [] and self.chance.random() < 0.7}

    def system(self) -> Resource:
        return self.chance.choice([{}, {"system": "urn:s"}, {"system": "urn:t"}])

    def concept(self) -> Resource:
        return {
            "coding": [
                {"code": self.chance.choice(CODE_POOL), **self.system()} for _ in range(self.chance.randint(1, 2))
            ]
        }

    def quantity(self) -> Resource:
        unit = self.chance.choice([{}, {"system": "urn:u", "code": "mg"}, {"system": "urn:u", "code": "g"}])
        return {"value": self.chance.choice(NUMBER_POOL), **unit}

    def to(self, *types: str) -> Resource:
        return {"reference": f"{self.chance.choice(types)}/{self.chance.choice(ID_POOL)}"}

    def several(self, make: Callable[[], Resource]) -> list[Resource]:
        return [make() for _ in range(self.chance.randint(0, 2))]

    def patient(self) -> Resource:
        return self.maybe(
            name=self.several(lambda: {"family": self.chance.choice(NAME_POOL)}),
            gender=self.chance.choice(["male", "female"]),
            birthDate=self.chance.choice(DAY_POOL),
            identifier=self.several(lambda: {"value": self.chance.choice(CODE_POOL), **self.system()}),
            managingOrganization=self.to("Organization"),
        )

    def organization(self) -> Resource:
        return self.maybe(name=self.chance.choice(NAME_POOL), partOf=self.to("Organization"))

    def observation(self) -> Resource:
        dates = sorted((self.chance.choice(DATE_POOL) for _ in range(2)), key=date_range)
        when: Resource = self.chance.choice(
            [
                {"effectiveDateTime": dates[0]},
                {"effectivePeriod": {"start": dates[0], "end": dates[1]}},
                {"effectivePeriod": {"start": dates[0]}},
                {"effectivePeriod": {"end": dates[0]}},
            ]
        )
        return {"status": self.chance.choice(["final", "amended"])} | self.maybe(
            **when,
            code=self.concept(),
            subject=self.chance.choice([self.to("Patient"), self.to("Patient", "Device"), {"display": "somebody"}]),
            valueQuantity=self.quantity(),
            component=self.several(lambda: {"code": self.concept(), "valueQuantity": self.quantity()}),
            hasMember=self.several(lambda: self.to("Observation")),
        )

    def resource(self) -> Resource:
        make = self.chance.choice([self.patient, self.organization, self.observation, self.observation])
        return {"resourceType": make.__name__.capitalize(), "id": self.chance.choice(ID_POOL), **make()}

    def resources(self, most: int) -> list[Resource]:
        return [self.resource() for _ in range(self.chance.randint(most // 3, most))]

    def change(self) -> Resource | str:
        if self.chance.random() < 0.6:
            return self.resource()
        return f"{self.chance.choice(sorted(PAIRS))}/{self.chance.choice(ID_POOL)}"

    def changes(self, most: int) -> list[Resource | str]:
        return [self.change() for _ in range(self.chance.randint(0, most))]


def pair_of(name: str, *texts: st.SearchStrategy[str]) -> st.SearchStrategy[Pair]:
    alternatives = st.lists(st.one_of(*texts), min_size=1, max_size=2).map(",".join)
    return st.tuples(st.just(name), alternatives)


def missing(*names: str) -> st.SearchStrategy[Pair]:
    return st.tuples(st.sampled_from(names).map("{}:missing".format), st.sampled_from(["true", "false"]))


def pair_with_modifier(modifiers: list[str], name: str, *texts: st.SearchStrategy[str]) -> st.SearchStrategy[Pair]:
    return st.one_of([pair_of(name + modifier, *texts) for modifier in modifiers])


TOKENS = st.builds("{}|{}".format, SYSTEMS, CODES) | CODES | CODES.map("|{}".format) | SYSTEMS.map("{}|".format)
PREFIXED = st.builds("{}{}".format, PREFIXES, DATES)
AMOUNTS = st.builds("{}{}".format, PREFIXES, FIGURES) | st.builds(
    "{}{}|urn:u|{}".format, PREFIXES, FIGURES, st.sampled_from(["mg", "g"])
)
PARTS = st.builds("{}${}".format, TOKENS, AMOUNTS)
Pairs = st.SearchStrategy[Pair]


def one_of(*groups: Pairs) -> Pairs:
    """Choose one kind of parameter, all with equal probability. A plain union would weight them by their branches."""
    return st.integers(0, len(groups) - 1).flatmap(lambda number: groups[number])


def through(prefix: str, pairs: Pairs) -> Pairs:
    return pairs.map(lambda pair: (prefix + pair[0], pair[1]))


ORGANIZATION_PAIRS = one_of(
    pair_with_modifier(["", ":exact", ":contains"], "name", NAMES),
    pair_of("partof", IDS, IDS.map("Organization/{}".format)),
    missing("name", "partof"),
    pair_of("_id", IDS),
)
PATIENT_PAIRS = one_of(
    pair_with_modifier(["", ":exact", ":contains"], "family", NAMES, st.sampled_from(["a", "as", "b"])),
    pair_with_modifier(["", ":not"], "gender", GENDERS),
    pair_with_modifier(["", ":not"], "identifier", TOKENS),
    pair_of("birthdate", PREFIXED),
    pair_of("organization", IDS),
    missing("family", "gender", "identifier", "birthdate", "organization"),
    pair_with_modifier(["", ":not"], "_id", IDS),
    through("organization.", ORGANIZATION_PAIRS),
)
OBSERVATION_PAIRS = one_of(
    pair_with_modifier(["", ":not"], "status", STATUS),
    pair_with_modifier(["", ":not"], "code", TOKENS),
    pair_of("date", PREFIXED),
    pair_of("date", PREFIXED),
    pair_of("value-quantity", AMOUNTS),
    pair_of("component-code-value-quantity", PARTS),
    pair_with_modifier(["", ":Patient"], "subject", IDS) | pair_of("subject", IDS.map("Device/{}".format)),
    pair_of("patient", IDS),
    missing("code", "date", "value-quantity", "subject", "patient", "has-member"),
    through("patient.", PATIENT_PAIRS) | through("subject:Patient.", PATIENT_PAIRS),
)
PAIRS = {
    "Patient": one_of(PATIENT_PAIRS, PATIENT_PAIRS, through("_has:Observation:patient:", OBSERVATION_PAIRS)),
    "Observation": one_of(
        OBSERVATION_PAIRS, OBSERVATION_PAIRS, through("_has:Observation:has-member:", OBSERVATION_PAIRS)
    ),
    "Organization": one_of(
        ORGANIZATION_PAIRS,
        through("_has:Patient:organization:", PATIENT_PAIRS),
        through("_has:Patient:organization:_has:Observation:patient:", OBSERVATION_PAIRS),
    ),
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
    type = draw(st.sampled_from([*sorted(PAIRS), "Observation", "Patient"]))
    rules = draw(st.lists(st.sampled_from(SORTED_BY[type]), max_size=2, unique=True))
    downs = [draw(st.sampled_from(["", "-"])) for _ in rules]
    fewest, most = draw(st.sampled_from([(0, 0), (1, 1), (1, 1), (2, 3)]))
    pairs = draw(st.lists(PAIRS[type], min_size=fewest, max_size=most))
    return type, pairs, [down + rule for down, rule in zip(downs, rules, strict=True)]


SEEDS = st.integers(0, 1 << 32)


def build_view(chart: list[Resource], changes: list[Any]) -> tuple[MutableView, dict[str, Resource]]:
    """Return a view of a chart with changes, and the same as one plain dict."""
    view = view_resources(*{f"{each['resourceType']}/{each['id']}": each for each in chart}.values())
    now = {f"{each['resourceType']}/{each['id']}": each for each in chart}
    for change in changes:
        if not isinstance(change, str):
            view.put(change)
            now[f"{change['resourceType']}/{change['id']}"] = change
        elif change in now:
            view.delete(change)
            del now[change]
    return view, now


def add_sort(pairs: list[Pair], sort: list[str]) -> list[Pair]:
    return [*pairs, *([("_sort", ",".join(sort))] if sort else [])]


SLOW = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@SLOW
@given(SEEDS, st.lists(searches(), min_size=4, max_size=12))
def test_search_equals_naive_search(seed: int, all: Any) -> None:
    maker = Maker(seed)
    view, now = build_view(maker.resources(60), maker.changes(12))
    for type, pairs, sort in all:
        expected = naive_search(now, type, pairs)
        query = parse_query(type, add_sort(pairs, sort))
        results = run_search(view, query)
        assert list(results.keys) == sort_keys(now, expected, sort)
        assert results.total == len(expected)
        for key, resource in sorted(now.items())[:8]:
            assert matches_search(view, type, pairs, resource) == (key in expected)


@settings(SLOW, max_examples=15)
@given(SEEDS)
def test_date_and_number_prefixes_equal_naive_search(seed: int) -> None:
    maker = Maker(seed)
    view, now = build_view(maker.resources(60), maker.changes(12))
    for prefix in PREFIX_POOL:
        for name, pool in (("date", DATE_POOL), ("value-quantity", FIGURE_POOL)):
            for text in pool:
                pairs = [(name, prefix + text)]
                assert set(run_search(view, parse_query("Observation", pairs)).keys) == naive_search(
                    now, "Observation", pairs
                ), pairs


@SLOW
@given(SEEDS, searches(), st.integers(1, 4))
def test_paging_continues_despite_concurrent_changes(seed: int, search: Any, count: int) -> None:
    maker = Maker(seed)
    chart, changes = maker.resources(60), maker.changes(12)
    view, now = build_view(chart, changes)
    type, pairs, sort = search
    cursor, seen = "", list[str]()
    ever, always = set(naive_search(now, type, pairs)), dict(now)
    while True:
        query = parse_query(
            type, [*add_sort(pairs, sort), ("_count", str(count)), *([("_cursor", cursor)] if cursor else [])]
        )
        first = build_page(run_search(view, query), query, 10)
        assert len(first.keys) <= count
        seen += first.keys
        cursor = first.next_cursor
        if not cursor:
            break
        changes = [*changes, *maker.changes(3)]
        view, now = build_view(chart, changes)
        ever |= naive_search(now, type, pairs)
        always = {key: resource for key, resource in always.items() if now.get(key) == resource}
    untouched = [key for key in seen if key in always]
    assert len(untouched) == len(set(untouched))
    assert set(seen) <= ever
    if not any(
        name.count(":") > 1 or "." in name for name, _ in pairs
    ):  # of a chain, what it leads to may have changed
        steady = naive_search(always, type, pairs)
        assert untouched == sort_keys(always, steady, sort)


@SLOW
@given(SEEDS, st.sampled_from(sorted(PAIRS)), st.lists(INCLUDES, min_size=1, max_size=3, unique=True))
def test_includes_equal_naive_search(seed: int, type: str, includes: list[Pair]) -> None:
    maker = Maker(seed)
    view, now = build_view(maker.resources(60), maker.changes(12))
    query = parse_query(type, includes)
    matched = list(run_search(view, query).keys)[:2]
    results = find_included(view, query, matched)
    assert len(results) == len(set(results))
    assert set(results) == naive_includes(now, matched, includes)
