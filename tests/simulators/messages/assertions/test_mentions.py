"""Mentions of a patient in labelled lines."""

from datetime import date

import pytest

from clerkship.simulators.messages.email.text import read_html
from clerkship.text.folding import fold_text
from clerkship.text.identity import Identity, read_identity
from clerkship.text.index import MentionIndex, MentionQuery
from tests.choices import mark_slow_after
from tests.waiting import processor_limit

ANA = read_identity(
    "Patient/pat-0042",
    {
        "name": [{"family": "Núñez-Rivera", "given": ["Ana", "Maria"]}, {"use": "maiden", "family": "O'Brien"}],
        "birthDate": "1961-03-04",
        "identifier": [{"value": "C008904"}, {"value": "CM232420990"}],
        "telecom": [
            {"system": "phone", "value": "+1 555-010-2233"},
            {"system": "email", "value": "ana.nr@mail.example"},
        ],
        "address": [{"line": ["1220 Maple Street Apt 4"]}],
    },
)
GRACE = read_identity("Patient/pat-0043", {"name": [{"family": "Hill", "given": ["Grace"]}], "birthDate": "1950-12-24"})
JOSE = read_identity("Patient/pat-0044", {"name": [{"family": "Rivera", "given": ["Jose"]}], "birthDate": "1960-01-01"})
NAMED = MentionIndex([ANA, GRACE])
NOW = date(2026, 3, 2)

LEAKS = [
    "Ana Núñez-Rivera is here",
    "ANA NUNEZ RIVERA",
    "Rivera, Ana",
    "ana m. rivera called",
    "Ana's results are in",
    "Mrs. Rivera was seen",
    "Ms. O’Brien will come",
    "Ms. O Brien will come",
    "anarivera labs",
    "R i v e r a",
    "Ri\u200bvera was seen",
    "Ｒｉｖｅｒａ was seen",
    "Rivеra was seen",
    "born 1961-03-04",
    "March 4th, 1961",
    "03/04/61",
    "4.3.1961",
    "4 March 1961",
    "04-MAR-1961",
    "19610304",
    "4 de marzo de 1961",
    "MRN C008904",
    "c-008904",
    "CM 232420990",
    "CM-232-420-990",
    "(555) 010-2233",
    "+1.555.010.2233",
    "５５５０１０２２３３",
    "1220 Maple St",
    "1220 maple street, apt 4",
    "ana.nr@mail.example",
    "ana.nr (at) mail.example",
    "Grace Hill",
    "Hill, Grace",
    "GRACE HILL",
    "Patient/pat-0042",
    "Grace, born 12/24/1950",
]
OTHERS = [
    "You may come on March 4th",
    "The grace period ends",
    "Up the Hill",
    "Go to Hill Street",
    "Dr. Rivera will see you",
    "Ana Lopez from billing",
    "Jose Rivera is our guest",
    "Rivera Pharmacy is open",
    "banana",
    "riverside",
    "March 4, 2026",
    "03/04/26 at 9",
    "call 555-010-2234",
    "MRN C008905",
    "1221 Maple St",
    "Maple Street",
    "1961",
    "Your visit is at 12:20",
    "ana@mail.example",
    "Nurse Ana will call",
    "arrivera",
    "order 0089041",
    "$232,420.99",
    "grace and hill",
]


def is_leak(line: str, allowed: tuple[Identity, ...] = ()) -> bool:
    """Return whether a line tells of one of the named patients."""
    query = MentionQuery(only=frozenset(NAMED.people), now=NOW, allowed=allowed)
    return bool(NAMED.find_leaks(fold_text(line), query))


@pytest.mark.parametrize("line", LEAKS)
def test_line_that_tells_of_a_patient_is_found(line: str) -> None:
    assert is_leak(line)


@pytest.mark.parametrize("line", OTHERS)
def test_line_about_something_else_is_not_found(line: str) -> None:
    assert not is_leak(line)


def test_family_name_of_the_allowed_patient_is_no_leak() -> None:
    assert not is_leak("Dear Mr. Rivera, your visit is tomorrow", allowed=(JOSE,))
    assert is_leak("Dear Mr. Rivera, Ana Rivera has a visit", allowed=(JOSE,))


def test_given_name_alone_counts_only_for_named_patients() -> None:
    text = fold_text("Ana will see you")
    assert NAMED.find_leaks(text, MentionQuery(now=NOW)) == []


@pytest.mark.parametrize("html", ["<a" * 500_000, "<!--" * 250_000, "<a b='" * 150_000, "&#" + "9" * 1_000_000])
def test_invalid_html_is_read_in_linear_time(html: str) -> None:
    with processor_limit(5):
        read_html(html)


def test_html_is_read_across_inline_tags_in_attributes_and_comments() -> None:
    for html in ("<p>Ri<b>ve</b>ra was seen</p>", '<img alt="Ms. Rivera">', "<!-- Rivera --><p>Hi</p>"):
        assert is_leak(read_html(html)), html


def test_family_name_that_is_also_a_given_name_is_no_leak_alone() -> None:
    stanley = read_identity("Patient/s", {"name": [{"family": "Thomas", "given": ["Howard"]}]})
    index = MentionIndex([stanley])
    assert index.find_leaks(fold_text("Dear Thomas, see you soon"), MentionQuery()) == []
    assert index.find_leaks(fold_text("Howard Thomas is here"), MentionQuery()) != []


def test_digits_in_a_name_are_no_name_of_their_own() -> None:
    ana = read_identity("Patient/a", {"name": [{"family": "Quindlen100", "given": ["Ana200"]}]})
    index = MentionIndex([ana])
    assert index.find_leaks(fold_text("Room 100, 200 dollars"), MentionQuery()) == []
    for line in ("Quindlen100 was here", "Ms. Quindlen was here", "Ana200 Quindlen100"):
        assert index.find_leaks(fold_text(line), MentionQuery()) != [], line


@pytest.mark.parametrize(
    "line",
    mark_slow_after(1, ["Ana Hill ", "5550102 ", "1220 ", "Grace 12/24/1950 ", "Rivera, Ana ", "grace hill "]),
)
def test_long_text_takes_time_in_proportion_to_its_length(line: str) -> None:
    with processor_limit(30):
        is_leak(line * 20_000)


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("Moved to Thu 3/12, 2:30pm Rivera.", False),
        ("with Rivera on Thursday", False),
        ("Mr. Rivera comes on Thursday", True),
        ("J. Rivera comes on Thursday", True),
        ("Jose Rivera comes on Thursday", True),
        ("Rivera, born 1960-01-01, comes on Thursday", True),
    ],
)
def test_family_name_of_a_practitioner_is_a_patients_only_with_more(text: str, *, is_found: bool) -> None:
    index = MentionIndex([JOSE], staff=[("rivera",)])
    assert bool(index.find_leaks(fold_text(text), MentionQuery(now=NOW))) == is_found
