"""Search results: order, pages, included resources, and subsets of resources (R4 §3.1.1.5)."""

import base64

import pytest

from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import Resource
from clerkship.formats.fhir.search import (
    ResultPage,
    build_page,
    find_included,
    parse_query,
    run_search,
    subset_resource,
)
from tests.formats.fhir.search.searching import (
    MutableView,
    build_resource,
    get_refusal,
    parse_pairs,
    search_ids,
    search_keys_of,
    view_resources,
)


def person(id: str, family: str = "", born: str = "", **more: object) -> Resource:
    return build_resource(
        "Patient",
        id,
        **({"name": [{"family": family}]} if family else {}),
        **({"birthDate": born} if born else {}),
        **more,
    )


PEOPLE = view_resources(
    person("1", "Éclair", "1970-05-01", gender="male"),
    person("2", "ash", "1990", gender="female"),
    person("3", "Beech", "1970-05-01"),
    person("4", "", "2001-01-01", gender="female"),
    build_resource("Patient", "5", name=[{"family": "Zoe"}, {"family": "Aaron"}]),
)


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("family", "52314"),  # of two names the first in the order counts; who has none comes last
        ("-family", "51324"),
        ("birthdate", "13245"),
        ("-birthdate", "42135"),
        ("gender,-family", "24153"),
        ("-gender,birthdate", "12435"),
        ("birthdate,-_id", "31245"),
        ("_id", "12345"),
    ],
)
def test_sort_orders_matches(sort: str, expected: str) -> None:
    assert "".join(search_ids(PEOPLE, "Patient", f"_sort={sort}")) == expected


def test_sort_by_number_reference_and_uri() -> None:
    view = view_resources(
        build_resource("Observation", "1", valueQuantity={"value": 10}, subject={"reference": "Patient/b"}),
        build_resource("Observation", "2", valueQuantity={"value": 9.5}, subject={"reference": "Patient/a"}),
        build_resource("Observation", "3", meta={"source": "urn:x"}),
    )
    assert search_ids(view, "Observation", "_sort=value-quantity") == ["2", "1", "3"]
    assert search_ids(view, "Observation", "_sort=-subject") == ["1", "2", "3"]
    assert search_ids(view, "Observation", "_sort=_source") == ["3", "1", "2"]


def test_number_with_as_many_digits_as_a_float_is_found() -> None:
    view = view_resources(build_resource("Observation", "1", valueQuantity={"value": 66.89999999999999}))
    assert search_ids(view, "Observation", "value-quantity=66.89999999999999") == ["1"]
    assert search_ids(view, "Observation", "value-quantity=66.9") == ["1"]
    assert search_ids(view, "Observation", "value-quantity=ne66.89999999999999") == []


def list_pages(view: MutableView, *parameters: str, between: object = None) -> list[str]:
    """Return the ids on each page, in order."""
    found: list[str] = []
    cursor = ""
    while True:
        query = parse_query("Patient", [*parse_pairs(*parameters), *([("_cursor", cursor)] if cursor else [])])
        one = build_page(run_search(view, query), query, 2)
        found += [key.partition("/")[2] for key in one.keys]
        cursor = one.next_cursor
        if not cursor:
            return found
        if callable(between):
            between()


@pytest.mark.parametrize("sort", ["", "_sort=family", "_sort=-birthdate", "_sort=gender,-birthdate"])
def test_pages_together_contain_every_match_once(sort: str) -> None:
    parameters = [sort] if sort else []
    assert list_pages(PEOPLE, *parameters) == search_ids(PEOPLE, "Patient", *parameters)
    assert list_pages(PEOPLE, *parameters, "_count=1") == search_ids(PEOPLE, "Patient", *parameters)


def test_changes_between_pages_do_not_shift_other_matches() -> None:
    view = view_resources(*(person(f"p{number}", born=f"19{number}0") for number in range(1, 7)))
    query = parse_query("Patient", parse_pairs("_sort=birthdate", "_count=2"))
    first = build_page(run_search(view, query), query, 10)
    assert first.keys == ["Patient/p1", "Patient/p2"]
    view.delete("Patient/p2")  # the very one that the page ended with
    view.put(person("p0", born="1901"), person("p25", born="1925"))
    query = parse_query("Patient", parse_pairs("_sort=birthdate", "_count=2", f"_cursor={first.next_cursor}"))
    second = build_page(run_search(view, query), query, 10)
    assert second.keys == ["Patient/p25", "Patient/p3"]
    view.delete("Patient/p3")
    query = parse_query("Patient", parse_pairs("_sort=birthdate", f"_cursor={second.next_cursor}"))
    rest = build_page(run_search(view, query), query, 10)
    assert (rest.keys, rest.next_cursor, rest.total) == (["Patient/p4", "Patient/p5", "Patient/p6"], "", 6)


def test_cursor_of_another_search_or_malformed_one_is_refused() -> None:
    query = parse_query("Patient", parse_pairs("_sort=family", "_count=2"))
    cursor = build_page(run_search(PEOPLE, query), query, 2).next_cursor
    data = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    altered = base64.urlsafe_b64encode(data.replace(b"ash", b"zzz")).decode()
    for parameters, cursor_text in [
        (("_sort=family", "gender=male"), cursor),
        (("_sort=-family",), cursor),
        (("_sort=family",), altered),
        (("_sort=family",), cursor[:-4]),
        (("_sort=family",), "zzzz"),
        (("_sort=family",), "?é"),
        (("_sort=family",), "A"),
    ]:
        wrong = parse_query("Patient", [*parse_pairs(*parameters), ("_cursor", cursor_text)])
        with pytest.raises(FhirError, match="use the links of a page unchanged"):
            build_page(run_search(PEOPLE, wrong), wrong, 2)
    other_size = parse_query("Patient", parse_pairs("_sort=family", "_count=1", f"_cursor={cursor}"))
    assert build_page(run_search(PEOPLE, other_size), other_size, 2).keys == ["Patient/3"]


def test_count_zero_returns_an_empty_page() -> None:
    query = parse_query("Patient", parse_pairs("_count=0"))
    assert build_page(run_search(PEOPLE, query), query, 10) == ResultPage([], "", 5)


CARE = view_resources(
    build_resource("Organization", "o", partOf={"reference": "Organization/top"}),
    build_resource("Organization", "top"),
    person(
        "p", managingOrganization={"reference": "Organization/o"}, generalPractitioner=[{"reference": "Practitioner/d"}]
    ),
    build_resource("Practitioner", "d"),
    build_resource("Observation", "1", subject={"reference": "Patient/p"}, performer=[{"reference": "Practitioner/d"}]),
    build_resource("Observation", "2", subject={"reference": "Patient/p"}, hasMember=[{"reference": "Observation/1"}]),
    build_resource("Observation", "3", subject={"reference": "Patient/gone"}),
    build_resource("Provenance", "v", target=[{"reference": "Observation/2"}]),
)


@pytest.mark.parametrize(
    ("type", "parameters", "expected"),
    [
        ("Observation", "_id=1&_include=Observation:subject", "Patient/p"),
        (
            "Observation",
            "_id=1,2&_include=Observation:patient&_include=Observation:performer",
            "Patient/p Practitioner/d",
        ),
        ("Observation", "_id=1&_include=Observation:performer:Practitioner", "Practitioner/d"),
        ("Observation", "_id=1&_include=Observation:performer:Patient", ""),
        ("Observation", "_id=1&_include=*", "Patient/p Practitioner/d"),
        ("Observation", "_id=1&_include=Observation:*:Patient", "Patient/p"),
        ("Observation", "_id=3&_include=Observation:subject", ""),
        ("Observation", "_id=1,2&_include=Observation:has-member", ""),  # a match comes once, as a match
        ("Observation", "_id=1&_include=Observation:patient&_include=Patient:organization", "Patient/p"),
        (
            "Observation",
            "_id=1&_include=Observation:patient&_include:iterate=Patient:organization",
            "Organization/o Patient/p",
        ),
        ("Organization", "_id=o&_include:iterate=Organization:partof", "Organization/top"),
        ("Patient", "_id=p&_revinclude=Observation:patient", "Observation/1 Observation/2"),
        (
            "Patient",
            "_id=p&_revinclude=Observation:patient&_revinclude:iterate=Provenance:target",
            "Observation/1 Observation/2 Provenance/v",
        ),
        ("Patient", "_id=p&_revinclude=Observation:*", "Observation/1 Observation/2"),
        (
            "Organization",
            "_id=top&_revinclude:iterate=Organization:partof&_revinclude:iterate=Patient:organization",
            "Organization/o Patient/p",
        ),
    ],
)
def test_include_and_revinclude_find_referenced_resources(type: str, parameters: str, expected: str) -> None:
    query = parse_query(type, parse_pairs(*parameters.split("&")))
    found = find_included(CARE, query, list(run_search(CARE, query).keys))
    assert sorted(found) == expected.split()
    assert len(set(found)) == len(found)


def test_include_follows_changed_references() -> None:
    view = view_resources(
        person("p"), person("q"), build_resource("Observation", "1", subject={"reference": "Patient/p"})
    )
    view.put(
        build_resource("Observation", "1", subject={"reference": "Patient/q"}),
        build_resource("Observation", "2", subject={"reference": "Patient/p"}),
    )
    query = parse_query("Observation", parse_pairs("_include=Observation:subject"))
    assert sorted(find_included(view, query, ["Observation/1"])) == ["Patient/q"]
    view.delete("Patient/q")
    assert find_included(view, query, ["Observation/1"]) == []
    back = parse_query("Patient", parse_pairs("_revinclude=Observation:subject"))
    assert find_included(view, back, ["Patient/p"]) == ["Observation/2"]


WHOLE: Resource = build_resource(
    "Observation",
    "w",
    meta={"tag": [{"code": "mine"}]},
    status="final",
    _status={"id": "s"},
    code={"text": "x"},
    note=[{"text": "long"}],
    text={"status": "generated", "div": "<div/>"},
    valueQuantity={"value": 1},
)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("_elements=note", "id meta resourceType status _status code note"),
        ("_elements=value", "id meta resourceType status _status code valueQuantity"),
        ("_elements=valueQuantity,status", "id meta resourceType status _status code valueQuantity"),
        ("_summary=text", "id meta resourceType status _status code text"),
        ("_summary=data", "id meta resourceType status _status code note valueQuantity"),
        ("_summary=true", "id meta resourceType status _status code valueQuantity"),
    ],
)
def test_elements_and_summary_return_a_subset(parameters: str, expected: str) -> None:
    subset = subset_resource(WHOLE, parse_query("Observation", parse_pairs(parameters)))
    assert set(subset) == set(expected.split())
    assert [tag["code"] for tag in subset["meta"]["tag"]] == ["mine", "SUBSETTED"]
    assert WHOLE["meta"] == {"tag": [{"code": "mine"}]}


def test_complete_resource_is_not_tagged_as_subsetted() -> None:
    assert subset_resource(WHOLE, parse_query("Observation", parse_pairs("_summary=false"))) is WHOLE
    assert subset_resource(WHOLE, parse_query("Observation", [])) is WHOLE


def test_link_contains_the_parameters_that_were_used() -> None:
    parameters = parse_pairs("name=ann|x", "shoe-size=43", "_sort=-name", "_format=json", "_count=3")
    query = parse_query("Patient", parameters, handling="lenient")
    assert query.link() == "name=ann|x&_sort=-name&_count=3"
    assert [(issue.severity, issue.code) for issue in query.ignored] == [("warning", "not-supported")]
    assert "shoe-size" in query.ignored[0].text
    assert (query.count, query.sort, query.link("abc")) == (3, (("name", True),), query.link() + "&_cursor=abc")
    assert get_refusal("Patient", "shoe-size=43")[0] == "not-supported"
    assert get_refusal("Patient", "birthdate=soon", handling="lenient")[0] == "value"
    assert get_refusal("Patient", "name:sounds=x", handling="lenient")[0] == "not-supported"


def test_all_errors_of_a_query_are_reported_at_once() -> None:
    with pytest.raises(FhirError) as caught:
        parse_query("Patient", parse_pairs("shoe-size=43", "birthdate=soon", "_count=few"))
    assert [issue.code for issue in caught.value.issues] == ["not-supported", "value", "value"]


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ("_count=-1", "value"),
        ("_count=few", "value"),
        ("_count=99999999999999999999", "value"),
        ("_count=1&_count=2", "invalid"),
        ("_sort=shoe-size", "not-supported"),
        ("_sort=", "not-supported"),
        ("_sort:asc=name", "not-supported"),
        ("_summary=yes", "value"),
        ("_total=some", "value"),
        ("_elements=shoeSize", "value"),
        ("_elements=name.family", "value"),
        ("_include=Patient", "value"),
        ("_include=Patient:name", "invalid"),
        ("_include=Nothing:x", "value"),
        ("_include=Patient:shoe-size", "not-supported"),
        ("_include=Patient:organization:Patient", "value"),
        ("_include:recurse=Patient:organization", "not-supported"),
        ("_revinclude=*", "value"),
        ("_type=Patient", "not-supported"),
        ("_contained=true", "not-supported"),
    ],
)
def test_invalid_result_parameters_are_refused(parameters: str, code: str) -> None:
    assert get_refusal("Patient", *parameters.split("&"))[0] == code


def test_sort_by_composite_is_refused() -> None:
    assert get_refusal("Observation", "_sort=code-value-quantity") == (
        "not-supported",
        "_sort: code-value-quantity is a composite, which has no order",
    )


def test_a_search_of_the_whole_system() -> None:
    assert search_keys_of(CARE, "", "_id=p,o,top") == ["Organization/o", "Organization/top", "Patient/p"]
    assert search_keys_of(CARE, "", "_type=Patient,Practitioner") == ["Patient/p", "Practitioner/d"]
    assert search_keys_of(CARE, "", "_type=Patient,Practitioner", "_sort=-_id") == ["Patient/p", "Practitioner/d"]
    assert search_keys_of(CARE, "", "_type=Practitioner,Organization", "_sort=-_id") == [
        "Organization/top",
        "Organization/o",
        "Practitioner/d",
    ]
    assert search_keys_of(CARE, "", "_type=Observation,Condition", "subject=Patient/p") == [
        "Observation/1",
        "Observation/2",
    ]
    assert get_refusal("", "subject=Patient/p")[0] == "not-supported"  # not every type has one
    assert get_refusal("", "_type=Patient,Organization", "family=x")[0] == "not-supported"
    assert get_refusal("", "_type=Shoe")[0] == "value"
    assert get_refusal("Shoe")[0] == "not-supported"


def test_pages_of_the_whole_system() -> None:
    found: list[str] = []
    cursor = ""
    while True:
        query = parse_query("", [*parse_pairs("_sort=-_id", "_count=3"), *([("_cursor", cursor)] if cursor else [])])
        one = build_page(run_search(CARE, query), query, 10)
        found += one.keys
        cursor = one.next_cursor
        if not cursor:
            break
    assert found == search_keys_of(CARE, "", "_sort=-_id")
    assert len(found) == 8
