"""Every reader of dates finds the labelled cases of `dates.yml`, and the readers agree on what a day is."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clerkship.actors.person_facts import Facts
from clerkship.simulators.fhir.assertions.quantities import find_quantities
from clerkship.text.contact_points import find_emails, is_same_phone, normalize_email
from clerkship.text.dates import WrittenDate, find_dates, find_plain_dates, parse_date

CASES: list[Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_name("dates.yml").read_text(encoding="utf-8"))

KNOWN_DAYS = "1961-03-14, 1961-04-05, 1961-05-04, 2061-03-14, 1961-03-02"


def list_days(dates: Collection[WrittenDate]) -> set[str]:
    return {str(day)[0 if date.has_year else len("2000-") :] for date in dates for day in date.readings}


READERS: Mapping[str, Callable[[str], Collection[str | None]]] = {
    "written": lambda text: list_days(list(find_dates(text.lower()))),
    "spoken": lambda text: list_days(list(find_dates(text.lower(), is_spoken=True))),
    "plain": lambda text: list_days(find_plain_dates(text.lower())),
    "entry": lambda text: {parse_date(text)},
}


@pytest.mark.parametrize("reader", READERS)
def test_labelled_dates_are_found_or_not_as_they_say(reader: str) -> None:
    assert [case for case in CASES if (case["day"] in READERS[reader](case["text"])) != (reader in case["by"])] == []


@pytest.mark.parametrize("case", [case for case in CASES if "plain" in case["by"]], ids=lambda case: case["text"])
def test_played_person_may_say_a_known_day_in_another_notation(case: Mapping[str, Any]) -> None:
    known, other, said = Facts.of(KNOWN_DAYS), Facts.of("Born 1970-07-08"), case["text"].title()
    assert list(known.find_unknown(said, other)) == []
    assert list(other.find_unknown(said, other)) != []


@pytest.mark.parametrize("case", [case for case in CASES if "plain" in case["by"]], ids=lambda case: case["text"])
def test_dates_in_a_chart_are_no_quantities(case: Mapping[str, Any]) -> None:
    text = case["text"]
    assert [str(quantity) for quantity in find_quantities(f"seen {text} for 20 mg")] == ["20 mg"]


def test_verb_may_is_no_month_when_a_person_is_played() -> None:
    known = Facts.of("order 31")
    assert list(known.find_unknown("I may 31 times", known)) == []
    assert list(known.find_unknown("On May 30", known)) == ["May 30"]


@pytest.mark.parametrize("address", ["Ana@Mail.Example", " ana@mail.example", "ANA@MAIL.EXAMPLE.", "Аna@mail.example"])
def test_address_is_compared_by_one_rule(address: str) -> None:
    assert normalize_email(address) == "ana@mail.example"


def test_address_in_a_text_is_as_it_is_compared() -> None:
    text = "write to straße@mail.example. or ana (at) mail dot example"
    assert [email for email, _, _ in find_emails(text)] == ["strasse@mail.example", "ana@mail.example"]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("(518) 555-0107", "+1 518 555 0107", True),
        ("+44 20 7946 0958", "+44 (20) 79460958", True),
        ("+44 20 7946 0958", "020 7946 0958", True),
        ("0044 20 7946 0958", "+442079460958", True),
        ("030 901820", "+49 30 901820", True),
        ("+44 20 7946 0958", "+1 207 946 0958", False),
        ("+44 20 7946 0958", "(207) 946-0958", False),
        ("+44 20 7946 0958", "+353 20 7946 0958", False),
        ("020 7946 0959", "+44 20 7946 0958", False),
        ("0958", "+44 20 7946 0958", False),
        ("unlisted", "unlisted", False),
    ],
)
def test_phone_number_is_the_same_in_national_notation(one: str, other: str, *, is_same: bool) -> None:
    assert is_same_phone(one, other) == is_same_phone(other, one) == is_same
