"""Finding a member: only the person who is described, and no data of another one."""

from datetime import date
from typing import Any

import pytest

from clerkship.payer.answer import Member, Rejection
from clerkship.payer.inquiry import PersonQuery
from clerkship.payer.matching import find_person
from clerkship.payer.person_name import is_same_family, is_same_given
from tests.payer.clinic import JANE, JANE_ASKED, PayerClinic, inquiry, load_dataset, party

BORN = date(1980, 5, 17)
NAMESAKE = {**JANE, "member_id": "CM2", "given": ["Jane", "Beth"], "dependents": []}
TWIN = {**JANE, "member_id": "CM3", "family": "Núñez", "given": ["Ana"], "dependents": [], "gender": "female"}
OTHER_TWIN = {**TWIN, "member_id": "CM4", "gender": "male"}


def match(person: PersonQuery, dependent: PersonQuery | None = None, *members: Any) -> Member | tuple[str, str]:
    clinic = PayerClinic(members=[JANE, NAMESAKE, TWIN, OTHER_TWIN, *members])
    found = find_person(clinic.payer.current, party(person, dependent=dependent))
    return (found.reason, found.subject) if isinstance(found, Rejection) else found


def person(**fields: Any) -> PersonQuery:
    return JANE_ASKED.model_copy(update=fields)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"family": None, "given": None},
        {"family": "DOE", "given": "jane"},
        {"given": "Jane Ann"},
        {"given": "Jane A."},
        {"member_id": " cm-555000111 "},
        {"gender": "male"},
    ],
)
def test_member_id_and_birth_date_find_the_member(fields: dict[str, Any]) -> None:
    found = match(person(**fields))
    assert isinstance(found, Member)
    assert found.key == "CM002/CM-555 000 111/0"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"member_id": "CM999"}, "unknown_member"),
        ({"birth_date": date(1980, 5, 18)}, "birth_date_mismatch"),
        ({"family": "Roe"}, "name_mismatch"),
        ({"given": "Joan"}, "name_mismatch"),
        ({"given": "Jane Beth"}, "name_mismatch"),
        ({"family": "Roe", "birth_date": date(1981, 5, 17)}, "member_id_mismatch"),
        ({"birth_date": None}, "missing_member_data"),
        ({"member_id": None, "birth_date": None}, "missing_member_data"),
        ({"member_id": None, "given": None}, "missing_member_data"),
        ({"member_id": "", "family": None}, "missing_member_data"),
        ({"member_id": None, "family": "Roe"}, "unknown_member"),
        ({"member_id": None, "birth_date": date(1980, 5, 18)}, "unknown_member"),
        ({"member_id": None, "given": "Jane"}, "missing_member_data"),
    ],
)
def test_a_person_who_is_not_identified_is_rejected(fields: dict[str, Any], reason: str) -> None:
    assert match(person(**fields)) == (reason, "subscriber")


def test_name_and_birth_date_find_the_only_member_of_that_name() -> None:
    found = match(person(member_id=None, given="Jane Beth"))
    assert isinstance(found, Member)
    assert found.member_id == "CM2"


def test_the_gender_distinguishes_namesakes_born_on_one_day() -> None:
    twins = {"member_id": None, "family": "Nunez", "given": "ANA"}
    assert match(person(**twins)) == ("missing_member_data", "subscriber")
    found = match(person(**twins, gender="male"))
    assert isinstance(found, Member)
    assert found.member_id == "CM4"


def test_a_member_of_another_payer_is_unknown() -> None:
    clinic = PayerClinic()
    answer = clinic.payer.check_eligibility(clinic.action, inquiry(payer_id="HL001"))
    assert answer.rejection is not None
    assert answer.rejection.reason == "unknown_member"


TIM = PersonQuery(given="Tim", birth_date=date(2015, 3, 1))


@pytest.mark.parametrize(
    ("subscriber", "dependent", "expected"),
    [
        ({}, TIM, "CM002/CM-555 000 111/1"),
        ({"birth_date": None, "given": None}, TIM, "CM002/CM-555 000 111/1"),
        ({}, PersonQuery(given="Tom", family="doe", birth_date=date(2015, 3, 1)), "CM002/CM-555 000 111/2"),
        ({}, PersonQuery(given="Tim"), ("missing_member_data", "dependent")),
        ({}, PersonQuery(given="Tim", birth_date=date(2015, 3, 2)), ("birth_date_mismatch", "dependent")),
        ({}, PersonQuery(given="Ted", birth_date=date(2015, 3, 1)), ("unknown_dependent", "dependent")),
        ({}, PersonQuery(given="Jane", birth_date=BORN), ("unknown_dependent", "dependent")),
        ({"birth_date": date(1999, 1, 1)}, TIM, ("birth_date_mismatch", "subscriber")),
    ],
)
def test_a_dependent_is_found_below_its_subscriber(subscriber: Any, dependent: PersonQuery, expected: Any) -> None:
    found = match(person(**subscriber), dependent)
    assert (found.key if isinstance(found, Member) else found) == expected


def test_a_dependent_is_not_found_as_a_subscriber() -> None:
    by_id = PersonQuery(member_id="CM555000111", given="Tim", birth_date=date(2015, 3, 1))
    assert match(by_id) == ("member_id_mismatch", "subscriber")
    by_name = PersonQuery(family="Doe", given="Tim", birth_date=date(2015, 3, 1))
    assert match(by_name) == ("unknown_member", "subscriber")


def test_a_rejected_person_gets_no_data_of_the_member() -> None:
    clinic = PayerClinic()
    for wrong in (person(birth_date=date(1999, 1, 1)), person(family="Roe"), person(member_id="CM9")):
        answer = clinic.payer.check_eligibility(clinic.action, inquiry(wrong))
        assert (answer.member, answer.coverage, answer.benefits, answer.other_coverages) == (None, None, (), ())
        text = answer.rejection.text if answer.rejection else ""
        assert "Jane" not in text
        assert "1980" not in text


def test_a_member_of_the_dataset_is_never_answered_for_another_one() -> None:
    clinic = PayerClinic()
    members = list(load_dataset().members.values())
    for member, other in zip(members, members[1:] + members[:1], strict=True):
        mixed = PersonQuery(
            member_id=member.member_id, family=other.family, given=other.given[0], birth_date=other.birth_date
        )
        found = find_person(clinic.payer.current, party(mixed, payer_id=member.payer_id))
        same = (member.family, member.given, member.birth_date) == (other.family, other.given, other.birth_date)
        assert isinstance(found, Rejection) or same


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [("Núñez", "NUNEZ", True), ("O'Neil", "ONeil", True), ("Smith-Jones", "Smith Jones", True),
     ("Strauß", "Strauss", True), ("Smith", "Smyth", False), ("Ørsted", "Orsted", True)],
)  # fmt: skip
def test_family_names_are_compared_without_accents_case_and_punctuation(first: str, second: str, is_same: bool) -> None:
    assert is_same_family(first, second) is is_same


@pytest.mark.parametrize(
    ("asked", "known", "is_same"),
    [("Anna", ["Anna", "Maria"], True), ("Anna Maria", ["Anna"], True), ("Anna M", ["Anna", "Maria"], True),
     ("Anna Josefa", ["Anna", "Maria"], False), ("Maria", ["Anna", "Maria"], False), ("", ["Anna"], False),
     ("Jean-Luc", ["Jean Luc"], True), ("JeanLuc", ["Jean-Luc"], True), ("Ann", ["Anna"], False)],
)  # fmt: skip
def test_given_names_tolerate_missing_middle_names(asked: str, known: list[str], is_same: bool) -> None:
    assert is_same_given(asked, known) is is_same
