"""The basic and extended character sets."""

import pytest

from clerkship.formats.x12.charset import X12Charset, clean_value
from clerkship.formats.x12.segment import X12Delimiters
from clerkship.formats.x12.transaction_set import parse_transaction_set
from clerkship.formats.x12.validation import MAX_SET_ERRORS, validate_set
from tests.formats.x12.messages import authorization_set, eligibility_set


def find_places(text: str, charset: X12Charset = "extended") -> list[tuple[str, int, int, str]]:
    """Return segment, position, element and code of each error."""
    errors = validate_set(parse_transaction_set(text), charset).errors
    return [(error.segment, error.position, each.position, each.code) for error in errors for each in error.elements]


@pytest.mark.parametrize("charset", ["basic", "extended"])
def test_capitals_digits_and_separators_are_in_both_sets(charset: X12Charset) -> None:
    assert find_places(eligibility_set(), charset) == []


def test_small_letters_are_in_the_extended_set_only() -> None:
    text = eligibility_set().replace("OKAFOR*JUNE", "Okafor*June")
    assert find_places(text) == []
    assert find_places(text, "basic") == [("NM1", 9, 3, "6"), ("NM1", 9, 4, "6")]


@pytest.mark.parametrize("character", ["ñ", "€", "\n", "\t", "\x1b", "\x7f", "\u2028", "\ud800"])
def test_other_characters_are_in_neither_set(character: str) -> None:
    text = eligibility_set().replace("OKAFOR", f"OKA{character}FOR")
    assert find_places(text) == find_places(text, "basic") == [("NM1", 9, 3, "6")]


@pytest.mark.parametrize("character", "%@[]_{}\\|<>`#$")
def test_special_characters_of_the_extended_set(character: str) -> None:
    text = eligibility_set().replace("OKAFOR", f"OKA{character}FOR")
    assert find_places(text) == []
    assert find_places(text, "basic") == [("NM1", 9, 3, "6")]


def test_error_names_loop_element_component_and_trace() -> None:
    (error,) = validate_set(parse_transaction_set(eligibility_set().replace("OKAFOR", "OKAÑFOR")), "extended").errors
    (element,) = error.elements
    assert (error.segment, error.loop, error.code, element.element_number) == ("NM1", "2100C", "8", "1035")
    assert element.text.startswith("NM103 (last or organization name) has the character '\\xd1', which is")
    small = authorization_set().replace("ABK:M5416", "ABK:m5416").replace("HC:72148", "HC:7214b")
    diagnosis, service = validate_set(parse_transaction_set(small), "basic").errors
    assert [(each.segment, each.loop, each.trace) for each in (diagnosis, service)] == [
        ("HI", "2000E", "T278A"),
        ("SV1", "2000F", "T278AS1"),
    ]
    places = [(each.position, each.component, each.value) for each in (*diagnosis.elements, *service.elements)]
    assert places == [(1, 2, "m5416"), (1, 2, "7214b")]


def test_segment_id_outside_the_character_set_is_an_unknown_segment() -> None:
    (error,) = validate_set(parse_transaction_set(eligibility_set().replace("DMG*", "DÄG*")), "extended").errors
    assert (error.segment, error.position, error.code, error.elements) == ("DÄG", 10, "1", ())


def test_number_of_errors_is_limited() -> None:
    text = eligibility_set().replace("EQ*30~", "EQ*é~" * 1000)
    assert len(validate_set(parse_transaction_set(text), "extended").errors) == MAX_SET_ERRORS


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("OKAFOR", "OKAFOR"),
        ("Muñoz-Peña", "Munoz-Pena"),
        ("O’Neil “Bo” – Æsir ß", 'O\'Neil "Bo" - AEsir ss'),
        ("a*b^c:d~e", "a b c d e"),
        ("line one\r\nline two", "line one  line two"),
        ("  padded ", "padded"),
        ("日本", ""),
        ("50 €", "50"),
        ("\0", ""),
    ],
)
def test_value_is_cleaned(value: str, expected: str) -> None:
    assert clean_value(value) == expected


def test_separators_decide_what_is_cleaned() -> None:
    assert clean_value("a*b|c>d!e", X12Delimiters("|", "!", ">", "\n")) == "a*b c d e"


def test_value_for_the_basic_set_has_capitals() -> None:
    assert clean_value("Peña #4 straße", charset="basic") == "PENA  4 STRASSE"
    assert clean_value("1ª", charset="basic") == "1A"
