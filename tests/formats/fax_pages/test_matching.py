"""Which values are found on a page, and which are not."""

import string
from datetime import date

import pytest

from clerkship.formats.fax_pages.fonts import Family, FontStyle, load_font
from clerkship.formats.fax_pages.matching import find_any_value, find_value, is_confusable, list_date_forms
from tests.formats.fax_pages.drawn_words import place_words

EXACT = [
    # value, page
    ("W271885306", "Member ID: W271885306"),
    ("w271885306", "MEMBER ID W271885306"),
    ("W271885306", "Member ID:W271885306."),
    ("W271885306", "(W271885306)"),
    ("W271885306", "ID#W271885306, group 7"),
    ("Ada Okafor", "\N{CYRILLIC CAPITAL LETTER A}d\N{CYRILLIC SMALL LETTER A} Okafor"),
    ("BENIHM-12", "\N{GREEK CAPITAL LETTER BETA}EN\N{GREEK CAPITAL LETTER IOTA}HM-12"),
    ("MRN-4471902", "MRN-447\N{COMBINING GRAPHEME JOINER}1902"),
    ("MRN-4471902", "M\N{COMBINING LOW LINE}RN-4471\N{COMBINING ACUTE ACCENT}902"),
    ("XQH-4471-0093", "Reference XQH-4471-0093"),
    ("XQH-4471-0093", "Reference XQH\u20114471\u20110093"),
    ("XQH-4471-0093", "Reference XQH-4471-\n0093 of today"),
    ("XQH-4471-0093", "Reference XQH-\n4471-0093"),
    ("hypertension", "a history of hyper-\ntension since 2019"),
    ("Maria Lopez", "Patient: MARIA   LOPEZ"),
    ("Maria Lopez", "letter for Maria\nLopez, who"),
    ("Maria  Lopez", "Maria Lopez"),
    ("O'Donnell", "Mrs. O’Donnell came"),
    ("Donnelly", "Smith-Donnelly"),
    ("patient", "the patient's notes"),
    ("Müller", "Jörg Müller"),
    ("Mu\u0308ller", "Jörg Müller"),
    ("straße", "Hauptstrasse STRASSE"),
    ("E11.65", "Diagnosis E11.65; Z79.4"),
    ("E11.65", "E11.65/M54.16"),
    ("M54.16", "E11.65/M54.16"),
    ("72148", "CPT 72148,99214"),
    ("99214", "CPT 72148/99214"),
    ("1093817465", "NPI 1093 817 465"),
    ("1093817465", "NPI 1093817\n465"),
    ("1093 817 465", "NPI 1093817465"),
    ("12345", "No.12345"),
    ("+1 555 010 0143", "Fax +1 555 010 0143"),
    ("+15550100143", "Fax +1 555 010 0143"),
    ("150 mg", "take 150 mg daily"),
    ("150 mg", "take 150\nmg daily"),
    ("07/14/1958", "born 07/14/1958"),
    ("1.5", "dose 1.5 mg"),
    ("120/80", "blood pressure 120/80."),
]
EXACT_MISSING = [
    ("W271885306", "Member ID W271885307"),
    ("W271885306", "Member ID W271885360"),
    ("W271885306", "Member ID W27188530"),
    ("W271885306", "Member ID W2718853061"),
    ("W271885306", "Member ID AW271885306"),
    ("ZB8S5I1O0", "Member ID ZB8S5I100"),
    ("XQH-4471", "Reference XQH-4471-0093"),
    ("4471-0093", "Reference XQH-4471-0093"),
    ("XQH-4471", "Reference XQH-4471-\n0093"),
    ("0093", "Reference XQH-4471-\n0093"),
    ("XQH-4471-0093", "XQH-4471\t0093"),
    ("XQH44710093", "XQH-4471-0093"),
    ("E11.6", "Diagnosis E11.65"),
    ("E11", "Diagnosis E11.65"),
    ("E11.65", "Diagnosis E11.56"),
    ("E1165", "Diagnosis E11.65"),
    ("65", "Diagnosis E11.65"),
    ("15", "dose 1.5 mg"),
    ("5", "dose .5 mg"),
    ("1.5", "dose 15 mg"),
    ("200", "costs 1,200"),
    ("1958", "born 07/14/1958"),
    ("07/14/1958", "born 7/14/1958"),
    ("07/14/1958", "born 07/14/1985"),
    ("1962-11-03", "born November 3, 1962"),
    ("Muller", "Jörg Müller"),
    ("John Smith", "Jon Smith"),
    ("John Smith", "Smith, John"),
    ("Ann", "Joanna Annette"),
    ("Maria Lopez", "MariaLopez"),
    ("1234", "12 34"),
    ("14", "at 09:14"),
    ("W271885306", ""),
    ("", "W271885306"),
    ("   ", "W271885306"),
]
FORBIDDEN = [
    # value that must not be on a page, page with letters that a reader takes for it
    ("MRN-4471902", "\N{LATIN CAPITAL LETTER M WITH ACUTE}RN-4471902"),
    ("MRN-4471902", "M\N{LATIN CAPITAL LETTER R WITH CARON}\N{LATIN CAPITAL LETTER N WITH TILDE}-4471902"),
    (
        "MRN-4471902",
        "\N{LATIN LETTER SMALL CAPITAL M}\N{LATIN LETTER SMALL CAPITAL R}\N{LATIN LETTER SMALL CAPITAL N}-4471902",
    ),
    ("MRN-4471902", "\N{GREEK CAPITAL LETTER SAN}RN-4471902"),
    ("MRN-4471902", "MRN-447I9O2"),
    ("MRN-4471902", "MRN-447l9\N{CYRILLIC SMALL LETTER O}2"),
    ("MRN-4471902", "MRN-447\N{SUPERSCRIPT ONE}902"),
    ("Ada Okafor", "\N{LATIN CAPITAL LETTER A WITH DOT BELOW}da Ok\N{LATIN SMALL LETTER A WITH HOOK ABOVE}for"),
    ("Ada Okafor", "Ada \N{LATIN CAPITAL LETTER O WITH STROKE}\N{LATIN SMALL LETTER K WITH HOOK}afor"),
    ("Ada Okafor", "Ada 0kafor"),
    ("Ada Okafor", "Ada Ok\N{CYRILLIC SMALL LETTER A WITH DIAERESIS}for"),
    ("Ada Okafor", "\N{GREEK CAPITAL LETTER ALPHA WITH TONOS}d\N{GREEK SMALL LETTER ALPHA} Okafor"),
    ("Henry Olin", "\N{CYRILLIC CAPITAL LETTER EN WITH DESCENDER}enry Olin"),
    ("Müller", "Muller"),
    ("Muller", "Müller"),
]
FORBIDDEN_MISSING = [
    ("MRN-4471902", "MRN-4471903"),
    ("MRN-4471902", "MRN-447S902"),
    ("MRN-4471902", "MRN-44719021"),
    ("Ian Cole", "Jan Cole"),
    ("Lee", "Lec"),
    ("Ada Okafor", "Ada, Okafor"),
    ("Morning", "Moming"),
    ("15", "1.5"),
]
TOLERANT = [
    ("ZB8S5I1O0", "Member ID ZB8S5110O"),
    ("ZB8S5I1O0", "2B8S5|1OO"),
    ("W271885306", "W27I88S3O6"),
    ("W271885306", "W27l885306"),
    ("W271885306", "W271 885306"),
    ("W271885306", "W271885306|"),
    ("W271885306", "W271'885306"),
    ("1487652093", "1487652O93"),
    ("E11.65", "E11,65"),
    ("E11.65", "E1l.65"),
    ("E11.65", "EI1.65"),
    ("Z79.4", "279.4"),
    ("Hgb A1c 8.4", "Hgb Alc 8.4"),
    ("Maria Lopez", "MariaLopez"),
    ("Maria Lopez", "Mar ia Lopez"),
    ("Morning Clinic", "Moming Clinic"),
    ("Moming", "Morning"),
    ("Warner", "VVarner"),
    ("Müller", "Muller"),
    ("Müller", "Miiller"),
    ("Søren Łukasz", "Soren Lukasz"),
    ("PA-2026-118204", "PA-2026-1182O4"),
    ("PA-2026-118204", "PA~2026-118204"),
    ("XQH-4471-0093", "XQH-4471-\nO093"),
    ("+15550100143", "+1 555 O10 0143"),
    ("O'Donnell-Reyes", "O’Donnell-Reyes"),
    ("2026-03-02", "2O26-O3-O2"),
    ("Bell", "8ell"),
]
TOLERANT_MISSING = [
    ("W271885306", "W271885307"),
    ("W271885306", "W271885360"),
    ("W271885306", "W2718853O7"),
    ("W271885306", "W27188530"),
    ("W271885306", "W2718853066"),
    ("W271885306", "W27188 5307"),
    ("1487652093", "1487652098"),
    ("1487652093", "1487652039"),
    ("E11.65", "E11.85"),
    ("E11.65", "E1165"),
    ("E11.65", "E11.66"),
    ("E11.6", "E11.65"),
    ("1.5", "15"),
    ("15", "1.5"),
    ("15", "1,5"),
    ("Z79.4", "Z79.1"),
    ("Z79.4", "Z77.4"),
    ("2026-03-02", "2026-03-03"),
    ("2026-03-02", "2026-02-03"),
    ("John Smith", "Jon Smith"),
    ("Maria Lopez", "Marta Lopez"),
    ("Maria Lopez", "Maria\tLopes"),
    ("Ann", "A n n"),
    ("100", "1OO1"),
    ("XQH-4471-0093", "XQH-4471\t0093"),
    ("PA-2026-118204", "PA-2026-118240"),
    ("MRN-4476902", "MRN-447B902"),
    ("MRN-4478902", "MRN-447b902"),
    ("MRN-4476902", "MRN-447g902"),
    ("MRN-4479902", "MRN-447G902"),
    ("MRN-4470902", "MRN-447q902"),
]


@pytest.mark.parametrize(("value", "page"), EXACT)
def test_a_value_on_the_page_is_found(value: str, page: str) -> None:
    assert find_value(value, place_words(page))


@pytest.mark.parametrize(("value", "page"), EXACT_MISSING)
def test_a_value_that_is_not_on_the_page_is_not_found(value: str, page: str) -> None:
    assert find_value(value, place_words(page)) == []


@pytest.mark.parametrize(("value", "page"), [*EXACT, *TOLERANT])
def test_a_value_is_found_in_ocr_text_with_letters_that_look_alike(value: str, page: str) -> None:
    assert find_value(value, place_words(page), tolerant=True)


@pytest.mark.parametrize(("value", "page"), TOLERANT)
def test_letters_that_look_alike_are_different_on_true_words(value: str, page: str) -> None:
    if (value, page) not in SAME_ON_TRUE_WORDS:
        assert find_value(value, place_words(page)) == []


SAME_ON_TRUE_WORDS = [
    ("W271885306", "W271 885306"),
    ("W271885306", "W271885306|"),
    ("O'Donnell-Reyes", "O’Donnell-Reyes"),
]


@pytest.mark.parametrize(("value", "page"), TOLERANT_MISSING)
def test_another_value_is_not_found_in_ocr_text(value: str, page: str) -> None:
    assert find_value(value, place_words(page), tolerant=True) == []


@pytest.mark.parametrize(("value", "page"), [*EXACT, *FORBIDDEN])
def test_forbidden_value_is_found_in_letters_that_a_reader_takes_for_it(value: str, page: str) -> None:
    assert find_value(value, place_words(page), lookalikes=True)


@pytest.mark.parametrize(("value", "page"), FORBIDDEN_MISSING)
def test_forbidden_value_is_not_found_where_a_reader_sees_another(value: str, page: str) -> None:
    assert find_value(value, place_words(page), lookalikes=True) == []


@pytest.mark.slow
@pytest.mark.parametrize("family", ["sans", "serif"])
def test_each_letter_with_the_dots_of_a_common_one_is_that_one(family: Family) -> None:
    font = load_font(FontStyle(family, 40))

    def draw(letter: str) -> tuple[object, bytes]:
        mask = font.getmask(letter)
        return mask.size, bytes(mask)

    common = {draw(letter): letter for letter in string.ascii_letters + string.digits}
    others = [letter for letter in map(chr, range(0x80, 0x1_0000)) if letter.isalnum()]
    different = [(letter, common[draw(letter)]) for letter in others if draw(letter) in common]
    assert [pair for pair in different if not find_value(pair[1], place_words(pair[0]))] == []


@pytest.mark.parametrize(
    ("value", "page"),
    [("0417", "o417"), ("1093", "|093"), ("417 Main", "(417 main"), ("#12", "No.#12"), ("Muñoz", "muñoz")],
)
def test_forbidden_value_is_found_whatever_its_first_letter_looks_like(value: str, page: str) -> None:
    assert find_value(value, place_words(page), lookalikes=True)


@pytest.mark.parametrize(
    ("value", "page"),
    [
        ("8812", "B812"),
        ("5512", "$512"),
        ("Marlow", "rnarlow"),
        ("Webb", "vvebb"),
        ("Dunn", "clunn"),
        ("Ivers", "jvers"),
    ],
)
def test_value_is_found_whatever_an_engine_reads_as_its_first_letter(value: str, page: str) -> None:
    assert find_value(value, place_words(page), tolerant=True)


@pytest.mark.parametrize("place", range(10))
def test_no_digit_of_an_identifier_can_be_another_digit(place: int) -> None:
    identifier = "1487652093"
    for digit in "0123456789":
        other = identifier[:place] + digit + identifier[place + 1 :]
        matches = find_value(identifier, place_words(f"NPI {other}"), tolerant=True)
        assert bool(matches) == (other == identifier), other


def test_no_letter_looks_like_two_digits() -> None:
    for letter in string.printable:
        digits = [digit for digit in string.digits if digit == letter or is_confusable(digit, letter)]
        assert len(digits) <= 1, letter


def test_a_match_has_the_words_that_hold_the_value() -> None:
    words = place_words("Patient Maria\nLopez, born 1958")
    [match] = find_value("maria lopez", words)
    assert match.words == words.words[1:3]
    assert match.text == "Maria Lopez,"
    assert match.boxes == ((262, 100, 70, 24), (150, 140, 84, 24))


def test_all_places_of_a_value_are_found_from_the_top() -> None:
    matches = find_value("E11.65", place_words("E11.65 and\nZ79.4 and E11.65\nE11.65"))
    assert [match.words[0].top for match in matches] == [100, 140, 180]


@pytest.mark.parametrize(
    "written",
    [
        *("2026-03-02", "03/02/2026", "3/2/2026", "3/2/26", "March 2, 2026", "Mar 2, 2026", "2 March 2026"),
        *("02-Mar-2026", "March 2nd, 2026", "the 2nd of March 2026", "the second of March, 2026"),
    ],
)
def test_a_date_is_found_in_its_usual_forms_if_asked(written: str) -> None:
    forms = list_date_forms(date(2026, 3, 2))
    assert find_any_value(forms, place_words(f"on {written}, we"))


@pytest.mark.parametrize(
    "written",
    ["03/03/2026", "02/03/2026", "13/2/2026", "March 20, 2026", "March 22, 2026", "May 2, 2026", "March 22nd, 2026"],
)
def test_another_date_is_not_found_in_any_form(written: str) -> None:
    forms = list_date_forms(date(2026, 3, 2))
    assert find_any_value(forms, place_words(f"on {written}, we"), tolerant=True) == []
