"""What callers say or type where a number, a code, a date or an amount is asked for."""

import pytest

from clerkship.formats.phone_tree.nodes import EntryFormat
from clerkship.formats.phone_tree.spoken_entry import parse_entry
from tests.choices import mark_slow_after

DIGITS = {
    "412": "412",
    "4 1 2": "412",
    "four one two": "412",
    "Four, one, two.": "412",
    "555-010-0100": "5550100100",
    "(555) 010-0100": "5550100100",
    "double five one": "551",
    "triple zero seven": "0007",
    "double oh seven": "007",
    "oh one oh": "010",
    "o one o": "010",
    "double 5": "55",
    "twenty four": "24",
    "twenty-four": "24",
    "twenty four fifteen": "2415",
    "ninety nine oh five": "9905",
    "twenty zero": "200",
    "one eight hundred five five five": "1800555",
    "four thousand": "4000",
    "My NPI is 1 2 3 4 5 6 7 8 9 3, thank you": "1234567893",
    "sure, the number is one two three, um, four five six": "123456",
    "I have one question, my NPI is 1234567893": "1234567893",
    "１２３": "123",
    "four one two dash nine nine": "41299",
    "one two three, sorry, one two four": "124",
    "1234, that is one two three four": "1234",
}
CODES = {
    "Sure, the member ID is CM, then 232-420-990.": "CM232420990",
    "CM232420990": "CM232420990",
    "cm232420990": "CM232420990",
    "CM 232 420 990": "CM232420990",
    "cm 232 420 990": "CM232420990",
    "C M 2 3 2 4 2 0 9 9 0": "CM232420990",
    "C as in Charlie, M as in Mike, two three two": "CM232",
    "C for Charlie M for Mary 2": "CM2",
    "Charlie Mike two three": "CM23",
    "charlie, mike, double two": "CM22",
    "C Charlie M Mike 5": "CM5",
    "X-ray Yankee 1": "XY1",
    "X as in X-ray 1": "X1",
    "A B C": "ABC",
    "my member ID is C M two three two": "CM232",
    "My member ID is CM232420990.": "CM232420990",
    "member id CM232420990, thanks": "CM232420990",
    "it's A-2231-77": "A223177",
    "Alfa Juliett 1": "AJ1",
    "double-u four aitch two three": "W4H23",
    "aitch el two eight six": "HL286",
    "see em two three two": "CM232",
    "W as in William, whiskey, 4 double-u": "WW4W",
    "zee nine, ex ray one": "Z9X1",
    "let me see, 4 4 7 1": "4471",
    "double A one": "AA1",
    "1234": "1234",
    "this is Mike, the id is CM 12345": "CM12345",
    "It is C M 7 6 4 2 4 3 3 0 5. I appreciate your help.": "CM764243305",
    "C M 7 6 4. I'll wait. A colleague asks too.": "CM764",
    "one moment, C M 1 2 I 3": "CM12I3",
    "C M 1 2 A": "CM12A",
    "C M 1 2 I as in India": "CM12I",
    "I alpha 3": "IA3",
}
DATES = {
    "March 14, 1985. Sorry, no wait, it's March 14, 1986.": "1986-03-14",
    "March 14, 1985, no wait, 1986": "1986-03-14",
    "March fourteenth 1985, I mean nineteen eighty six": "1986-03-14",
    "March 14, 1985, sorry about that": "1985-03-14",
    "Sorry, it is March 14, 1985": "1985-03-14",
    "March second nineteen eighty five": "1985-03-02",
    "March 2, 1985": "1985-03-02",
    "march 2nd 1985": "1985-03-02",
    "the second of March, nineteen eighty-five": "1985-03-02",
    "2 March 1985": "1985-03-02",
    "3/2/1985": "1985-03-02",
    "03/02/1985": "1985-03-02",
    "3-2-85": "1985-03-02",
    "1985-03-02": "1985-03-02",
    "03021985": "1985-03-02",
    "0 3 0 2 1 9 8 5": "1985-03-02",
    "oh three oh two nineteen eighty-five": "1985-03-02",
    "zero three zero two one nine eight five": "1985-03-02",
    "three two nineteen eighty five": "1985-03-02",
    "March twenty second nineteen oh five": "1905-03-22",
    "March twenty-two 1985": "1985-03-22",
    "May third two thousand and five": "2005-05-03",
    "May two two thousand five": "2005-05-02",
    "June tenth twenty twenty four": "2024-06-10",
    "December thirty first nineteen ninety nine": "1999-12-31",
    "Feb 29 2024": "2024-02-29",
    "I was born on March 2 1985": "1985-03-02",
    "date of birth March 2 1985, member ID 12345": "1985-03-02",
    "May I give it later? No: June 1, 1970": "1970-06-01",
    "1985 March 2": "1985-03-02",
    "19850302": "1985-03-02",
    "3/2/07": "2007-03-02",
}
AMOUNTS = {
    "twelve hundred forty dollars": "1240.00",
    "1240": "1240.00",
    "1,240.50": "1240.50",
    "$1,240.50": "1240.50",
    "one thousand two hundred and forty dollars and fifty cents": "1240.50",
    "12 dollars and 5 cents": "12.05",
    "fifty cents": "0.50",
    "a hundred dollars": "100.00",
    "two million three thousand": "2003000.00",
    "twelve point five": "12.50",
    "twelve point oh five": "12.05",
    "The balance is forty five dollars.": "45.00",
    "5 thousand": "5000.00",
    "twenty five": "25.00",
    "zero": "0.00",
    "forty dollars fifty": "40.50",
}
NOT_UNDERSTOOD: list[tuple[EntryFormat, str]] = [
    ("date", "February 29, 1984, no, 1985"),
    ("digits", ""),
    ("digits", "I don't know"),
    ("digits", "double"),
    ("digits", "12 or maybe 34"),
    ("digits", "CM12A"),
    ("letters_and_digits", "hello there"),
    ("letters_and_digits", ""),
    ("date", "yesterday"),
    ("date", "one second please"),
    ("date", "February 30 1985"),
    ("date", "13/45/1985"),
    ("date", "one one one nineteen eighty"),
    ("date", "March 1985"),
    ("date", "March March 2 1985"),
    ("date", "1 2 5 1985"),
    ("money", "a lot"),
    ("money", "twelve forty"),
    ("money", "five or six dollars"),
    ("money", "hundred hundred"),
    ("money", "1,24"),
    ("money", "ten dollars and two hundred cents"),
    ("money", ""),
]


@pytest.mark.parametrize(("text", "expected"), DIGITS.items())
def test_digits_are_read_from_words_and_numerals(text: str, expected: str) -> None:
    assert parse_entry("digits", text) == expected


@pytest.mark.parametrize(("text", "expected"), CODES.items())
def test_codes_are_read_from_letters_code_words_and_digits(text: str, expected: str) -> None:
    assert parse_entry("letters_and_digits", text) == expected


@pytest.mark.parametrize(("text", "expected"), DATES.items())
def test_dates_are_read_in_the_ways_they_are_said(text: str, expected: str) -> None:
    assert parse_entry("date", text) == expected


@pytest.mark.parametrize(("text", "expected"), AMOUNTS.items())
def test_amounts_are_read_in_dollars_and_cents(text: str, expected: str) -> None:
    assert parse_entry("money", text) == expected


@pytest.mark.parametrize(("format", "text"), NOT_UNDERSTOOD)
def test_entry_that_is_missing_wrong_or_ambiguous_is_not_understood(format: EntryFormat, text: str) -> None:
    assert parse_entry(format, text) is None


@pytest.mark.parametrize("format", ["digits", "letters_and_digits", "date", "money"])
@pytest.mark.parametrize(
    "unit", mark_slow_after(2, ["double ", "march ", "1", "1 ", "a ", "twenty ", "hundred ", "1,", "{\x00"])
)
def test_100_000_characters_are_not_an_entry(format: EntryFormat, unit: str) -> None:
    assert parse_entry(format, unit * (100_000 // len(unit))) is None


def test_entry_is_found_after_100_000_characters_of_other_words() -> None:
    assert parse_entry("letters_and_digits", "hello there " * 8_000 + "CM 12345") == "CM12345"
