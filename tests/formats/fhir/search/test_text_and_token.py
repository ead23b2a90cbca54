"""Search by string, token and URI (R4 §3.1.1.4.9, §3.1.1.4.10, §3.1.1.4.13)."""

import pytest

from tests.formats.fhir.search.searching import build_resource, get_refusal, search_ids, view_resources

PEOPLE = view_resources(
    build_resource(
        "Patient",
        "muller",
        name=[{"family": "Müller", "given": ["Ann", "Eve"], "prefix": ["Dr."]}],
        address=[{"line": ["12 Main St."], "city": "New  York", "postalCode": "10001"}],
        gender="female",
        active=True,
        telecom=[{"system": "phone", "value": "555-0100"}, {"system": "email", "value": "Ann@Example.org"}],
        identifier=[
            {
                "system": "urn:mrn",
                "value": "A1",
                "type": {"coding": [{"system": "urn:types", "code": "MR"}], "text": "Medical record number"},
            }
        ],
    ),
    build_resource(
        "Patient",
        "obrien",
        name=[{"text": "Bob O'Brien", "family": "O'Brien", "given": ["Bob"]}],
        gender="male",
        active=False,
        deceasedBoolean=False,
        identifier=[{"value": "a1"}, {"system": "urn:ssn", "value": "99|9"}],
        communication=[{"language": {"coding": [{"system": "urn:ietf:bcp:47", "code": "es"}], "text": "Español"}}],
    ),
    build_resource("Patient", "nobody", deceasedDateTime="2020-01-01"),
)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("name=mull", ["muller"]),
        ("name=MÜLL", ["muller"]),
        ("name=ann", ["muller"]),
        ("name=dr", ["muller"]),
        ("name=ller", []),
        ("name:contains=ller", ["muller"]),
        ("name:exact=Müller", ["muller"]),
        ("name:exact=Muller", []),
        ("name:exact=Mül", []),
        ("family=obrien", ["obrien"]),
        ("family=O'B", ["obrien"]),
        ("given=eve", ["muller"]),
        ("given=eve,bob", ["muller", "obrien"]),
        ("address=new york", ["muller"]),
        ("address=10001", ["muller"]),
        ("address=12 main st", ["muller"]),
        ("address-city=new", ["muller"]),
        ("address-state=new", []),
        ("name:missing=true", ["nobody"]),
        ("name:missing=false", ["muller", "obrien"]),
    ],
)
def test_string_matches_prefix_without_case_and_accents(parameters: str, expected: list[str]) -> None:
    assert search_ids(PEOPLE, "Patient", parameters) == expected


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("identifier=A1", ["muller", "obrien"]),  # in doubt, without case
        ("identifier=urn:mrn|A1", ["muller"]),
        ("identifier=|a1", ["obrien"]),
        ("identifier=urn:mrn|", ["muller"]),
        ("identifier=urn:ssn|99\\|9", ["obrien"]),
        ("identifier:of-type=urn:types|MR|A1", ["muller"]),
        ("identifier:of-type=urn:types|XX|A1", []),
        ("identifier:text=medical", ["muller"]),
        ("gender=female", ["muller"]),
        ("gender=http://hl7.org/fhir/administrative-gender|female", ["muller"]),
        ("gender=urn:other|female", []),
        ("gender:not=female", ["nobody", "obrien"]),  # those without one are not female either
        ("gender:not=female,male", ["nobody"]),
        ("active=true", ["muller"]),
        ("active=false", ["obrien"]),
        ("phone=555-0100", ["muller"]),
        ("phone=ann@example.org", []),
        ("email=ann@example.org", ["muller"]),
        ("telecom=555-0100,ann@example.org", ["muller"]),
        ("language=es", ["obrien"]),
        ("language:text=espan", ["obrien"]),
        ("deceased=true", ["nobody"]),
        ("deceased=false", ["muller", "obrien"]),
        ("_id=muller,nobody", ["muller", "nobody"]),
        ("_id=Muller", []),
        ("_id:not=muller", ["nobody", "obrien"]),
        ("gender=female&name=bob", []),
    ],
)
def test_search_by_token(parameters: str, expected: list[str]) -> None:
    assert search_ids(PEOPLE, "Patient", *parameters.split("&")) == expected


def test_repeated_parameter_means_and_comma_means_or() -> None:
    assert search_ids(PEOPLE, "Patient", "given=ann", "given=eve") == ["muller"]
    assert search_ids(PEOPLE, "Patient", "given=ann", "given=bob") == []
    assert search_ids(PEOPLE, "Patient", "given=ann,bob", "gender=male") == ["obrien"]


def test_escaped_comma_is_part_of_a_value() -> None:
    view = view_resources(
        build_resource("Patient", "1", name=[{"text": "Smith, Ann"}]),
        build_resource("Patient", "2", name=[{"text": "Smith"}]),
    )
    assert search_ids(view, "Patient", "name:exact=Smith\\, Ann") == ["1"]
    assert search_ids(view, "Patient", "name:exact=Smith,Smith\\, Ann") == ["1", "2"]


SETS = view_resources(
    build_resource("ValueSet", "a", url="http://acme.org/fhir/ValueSet/123"),
    build_resource("ValueSet", "b", url="http://acme.org/fhir/ValueSet/1234"),
    build_resource("ValueSet", "c", url="urn:oid:1.2.3"),
    build_resource(
        "Patient",
        "p",
        meta={"profile": ["http://acme.org/P|2.0"], "tag": [{"system": "t", "code": "x"}], "source": "urn:s"},
    ),
)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("url=http://acme.org/fhir/ValueSet/123", ["a"]),
        ("url=http://acme.org/fhir/valueset/123", []),  # addresses are compared as they are
        ("url:below=http://acme.org/fhir/", ["a", "b"]),
        ("url:above=http://acme.org/fhir/ValueSet/123/_history/5", ["a"]),
        ("url:above=http://acme.org/fhir/ValueSet/12345", []),
        ("url=urn:oid:1.2.3", ["c"]),
    ],
)
def test_search_by_uri(parameters: str, expected: list[str]) -> None:
    assert search_ids(SETS, "ValueSet", parameters) == expected


def test_search_by_parameters_of_every_resource() -> None:
    assert search_ids(SETS, "Patient", "_profile=http://acme.org/P") == ["p"]
    assert search_ids(SETS, "Patient", "_profile=http://acme.org/P|2.0") == ["p"]
    assert search_ids(SETS, "Patient", "_profile=http://acme.org/P|1.0") == []
    assert search_ids(SETS, "Patient", "_tag=t|x", "_source=urn:s") == ["p"]


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ("name:sounds=x", "not-supported"),
        ("gender:in=http://x", "not-supported"),
        ("birthdate:exact=2000", "not-supported"),
        ("name:=x", "not-supported"),
        ("name=", "value"),
        ("name=a,,b", "value"),
        ("name=--", "value"),
        ("gender=a|b|c", "value"),
        ("gender=|", "value"),
        ("identifier:of-type=a|b", "value"),
        ("name:missing=maybe", "value"),
        ("_id=a b", "value"),
        ("_id=../x", "value"),
        ("shoe-size=43", "not-supported"),
        ("phonetic=ann", "not-supported"),
        ("_text=ann", "not-supported"),
        ("_content=ann", "not-supported"),
        ("_filter=name eq ann", "not-supported"),
        ("_list=1", "not-supported"),
        ("_query=q", "not-supported"),
        ("=x", "invalid"),
    ],
)
def test_invalid_strings_and_tokens_are_refused(parameters: str, code: str) -> None:
    found, text = get_refusal("Patient", parameters)
    assert found == code
    assert text


def test_too_many_values_are_refused() -> None:
    assert get_refusal("Patient", "identifier=" + ",".join(map(str, range(10_000)))) == (
        "too-costly",
        "identifier has 10000 values; at most 1000 are allowed",
    )
    assert search_ids(PEOPLE, "Patient", "identifier=" + ",".join(["A1", *map(str, range(999))])) == [
        "muller",
        "obrien",
    ]
    assert get_refusal("Patient", *["given=a"] * 201)[0] == "too-costly"
