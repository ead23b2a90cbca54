"""Values are found in what was said, in any spoken form."""

import pytest

from clerkship.text.spoken_text import SpokenText


def is_said(text: str, value: str, *, loose: bool = False) -> bool:
    """Return whether a value is in a text."""
    return SpokenText(text).find((value,), loose=loose) is not None


@pytest.mark.parametrize(
    "text",
    [
        "412",
        "4 1 2",
        "4-1-2",
        "4, 1, 2",
        "four one two",
        "Four, one, two.",
        "four hundred twelve",
        "four hundred and twelve",
        "four twelve",
        "it is 412, thank you",
    ],
)
def test_number_is_found_in_every_spoken_form(text: str) -> None:
    assert is_said(text, "412")


@pytest.mark.parametrize("text", ["34125", "3 4 1 2 5", "four one two five", "4.12", "41 and 2", "four one", "421"])
def test_part_of_another_number_is_not_the_number(text: str) -> None:
    assert not is_said(text, "412")


@pytest.mark.parametrize(
    "text", ["555 010 0100", "five five five, oh one oh, oh one double oh", "triple five 010 01 double zero"]
)
def test_phone_number_with_repeated_digits_is_found(text: str) -> None:
    assert is_said(f"Please call {text}.", "+15550100100")


def test_count_is_found_after_its_noun() -> None:
    assert is_said("Dispense forty-five, refills times two.", "2 refills")
    assert is_said("refills times three", "3 refills", loose=True)
    assert not is_said("refills times twelve", "2 refills")


def test_digits_within_a_longer_row_of_digits_count_when_they_are_forbidden() -> None:
    assert is_said("the code is 3 4 1 2 5", "412", loose=True)
    assert not is_said("the code is 34125", "412", loose=True)


@pytest.mark.parametrize(
    "text",
    [
        "MBR-4471",
        "M B R 4 4 7 1",
        "m b r four four seven one",
        "Mike Bravo Romeo double four seven one",
        "M as in Mike, B as in Bravo, R as in Romeo, 4471",
        "MBR dash 44 71",
    ],
)
def test_code_is_found_when_it_is_spelled(text: str) -> None:
    assert is_said(f"The member ID is {text}.", "MBR-4471")


@pytest.mark.parametrize(
    "text",
    [
        "1961-03-14",
        "March 14, 1961",
        "the 14th of March 1961",
        "March fourteenth, nineteen sixty-one",
        "march the fourteenth nineteen sixty one",
        "03/14/1961",
        "0 3 1 4 1 9 6 1",
    ],
)
def test_date_is_found_in_every_notation(text: str) -> None:
    assert is_said(f"born {text}", "1961-03-14")
    assert not is_said(f"born {text}", "1961-03-15")


@pytest.mark.parametrize(
    "text",
    [
        "555-010-0123",
        "1 555 010 0123",
        "five five five, zero one zero, zero one two three",
        "one five five five oh one oh oh one two three",
        "five five five, oh one oh, oh one twenty-three",
    ],
)
def test_phone_number_is_found_with_and_without_country_code(text: str) -> None:
    assert is_said(f"Call us at {text}.", "+15550100123")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("eight point two", "8.2"),
        ("The amount paid is $143.86. Goodbye.", "143.86"),
        ("two thousand three hundred five", "2305"),
        ("twenty twenty-six", "2026"),
        ("nineteen oh five", "1905"),
        ("$1,200.50", "1200.50"),
        ("ONE MOMENT, please", "one moment"),
        ("Mrs. Núñez’s results", "nunezs results"),
        ("Oh, four one two", "412"),
    ],
)
def test_other_numbers_and_words(text: str, value: str) -> None:
    assert is_said(text, value)


def test_words_are_whole_unless_they_are_forbidden() -> None:
    assert not is_said("she has diabetes", "diabet")
    assert is_said("she has diabetes", "diabet", loose=True)
    assert not is_said("the archives", "HIV", loose=True)
    assert not is_said("82", "8.2", loose=True)


@pytest.mark.parametrize(("text", "value"), [("I can certainly hold", "cancer"), ("I do see it", "dose")])
def test_forbidden_word_is_not_made_of_the_end_and_the_beginning_of_two_words(text: str, value: str) -> None:
    assert not is_said(text, value, loose=True)


@pytest.mark.parametrize(("text", "value"), [("stop taking it", "stop tak"), ("M I G R A I N E", "migraine")])
def test_forbidden_words_are_found_up_to_a_part_of_the_last_one(text: str, value: str) -> None:
    assert is_said(text, value, loose=True)


def test_long_text_of_digits_is_searched_in_linear_time() -> None:
    text = SpokenText("one " * 25_000)
    assert text.find(("2",)) is None
    assert text.find(("1112",), loose=True) is None


@pytest.mark.parametrize(
    "birth_date", ["1961-03-14", "March fourteenth, nineteen sixty-one", "zero three one four one nine six one"]
)
def test_place_of_a_date_is_that_of_its_words(birth_date: str) -> None:
    text = SpokenText(f"Born {birth_date}, member four one two.")
    place = text.find(("1961-03-14",))
    assert place is not None
    assert text.plain[slice(*place)] == birth_date
    assert text.find(("412",), start=place[1]) is not None
    assert text.find(("1961-03-14",), start=place[1]) is None
