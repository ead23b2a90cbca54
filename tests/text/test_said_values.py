"""`says` and `says_only`: facts in whatever words and notation."""

import pytest

from clerkship.model.matcher import check_expected, matches_expected
from clerkship.text.said_values import remove_said

SAID = [
    ("7730418", "Ref. no. 7-7-3-0-4-1-8."),
    ("7730418", "Reference number 773 0418."),
    ("7730418", "seven seven three oh four one eight"),
    ("+15550199072", "wants a call at 555 019 9072, re: tests"),
    ("+15550199072", "+1 555 019 9072"),
    ("+15550199072", "555.019.9072"),
    ("+15550199072", "(555) 019-9072"),
    ("2026-03-06", "by Friday, March 6."),
    ("2026-03-06", "Due the sixth of March 2026."),
    ("2026-03-06", "due 3/6"),
    ("2026-03-06", "2026-03-06"),
    ("2026-03-06", "6 March"),
    ("2026-03-06", "mornings, 6 to 13 March"),
    ("2026-03-13", "mornings, 6 to 13 March"),
    ("2026-03-13", "March 6-13"),
    ("2026-03-06", "03/06/2026"),
    ("14:30", "2:30pm Toussaint"),
    ("14:30", "at half past two"),
    ("14:30", "at 2:30 in the afternoon"),
    ("14:30", "14:30"),
    ("14:30", "at two thirty p.m."),
    ("14:30", "at two-thirty"),
    ("14:00", "2 in the afternoon"),
    ("14:00", "at 2"),
    ("14:45", "a quarter to three"),
    ("14:15", "quarter past two"),
    ("17:00", "we close at five"),
    ("11:00", "at eleven o'clock"),
    ("11:00", "11 a.m."),
    ("12:00", "at noon"),
    ("14:30", "3/12, 14.30, Dr. Toussaint"),
    ("14:30", "14h30"),
    (["09:00", "10:00"], "Would 9 or 10 in the morning be possible?"),
    (["09:00", "10:00"], "Nine or ten o'clock on Tuesday?"),
    (["13:00", "13:30"], "We have 1 or 1:30."),
    ("2026-03-12", "on the twelfth of March"),
    ("2026-03-12", "Thursday the 12th at two"),
    ("2026-03-12", "on the twelfth"),
    ("2026-03-23T11:00:00-05:00", "Monday 3/23, 11am, Dr. Toussaint"),
    ("Toussaint", "with Doctor TOUSSAINT."),
    (["Cedar Mutual", ["physical therapy", "PT"]], "Cedar Mutual wants the PT notes"),
]
NOT_SAID = [
    ("7730418", "Ref. 77304185"),
    ("7730418", "773 0419"),
    ("+15550199072", "555 019 9073"),
    ("2026-03-06", "March 7"),
    ("2026-03-06", "March 6, 2025"),
    ("14:30", "2:30 am"),
    ("14:30", "at 2:45pm"),
    ("14:00", "2 in the morning"),
    ("17:00", "take five tablets"),
    ("14:30", "it came to 2.30 %"),
    ("2026-03-12", "on the 12th of April"),
    ("2026-03-12", "April the 12th"),
    ("2026-03-12", "April 12th"),
    ("2026-03-12", "the 12:00 bus, 12 tablets"),
    ("09:00", "9 or 10 tablets"),
    ("2026-03-23T11:00:00-05:00", "March 23 at 10am"),
    (["Cedar Mutual", ["physical therapy", "PT"]], "Cedar Mutual wants the notes"),
]
ONLY = [
    (["2026-03-23", "11:00"], "Monday, March 23, at 11:00 AM with Solange Toussaint."),
    (["2026-03-23", "11:00"], "3/23, 11am"),
    (["2026-03-23", "11:00"], "23 March, 11h00"),
    (["2026-03-23", "14:30"], "on March 23, 14h30"),
    (["2026-03-23"], "Mon 3/23, 1/2 tablet"),
    (["11:00"], "at eleven in the morning on March 5"),
    (["13:30"], "at half past one in the afternoon"),
    (["09:45"], "at a quarter to ten in the morning"),
    (["2026-03-23"], "March 23; call 555 019 9083, 12 tablets"),
    (["2026-03-23", "11:00"], "I can take a message."),
]
NOT_ONLY = [
    (["2026-03-23", "11:00"], "Monday, March 23, at 11:00 AM; and March 30 at 11:00 AM"),
    (["2026-03-23", "11:00"], "March 23 at 11am, or at 3pm"),
    (["11:00"], "at 11pm"),
    (["2026-03-23"], "Mon 3/23 or 3/24"),
    (["2026-03-23"], "March 23 or 24"),
    (["13:30"], "at half past one or at one in the afternoon"),
]


@pytest.mark.parametrize(("value", "text"), SAID)
def test_value_is_found_in_other_words_and_notation(value: object, text: str) -> None:
    assert matches_expected(check_expected({"says": value}), text)


@pytest.mark.parametrize(("value", "text"), NOT_SAID)
def test_other_value_is_not_found(value: object, text: str) -> None:
    assert not matches_expected({"says": value}, text)


@pytest.mark.parametrize(("values", "text"), ONLY)
def test_text_says_no_other_date_or_time(values: object, text: str) -> None:
    assert matches_expected(check_expected({"says_only": values}), text)


@pytest.mark.parametrize(("values", "text"), NOT_ONLY)
def test_text_with_another_date_or_time_is_found(values: object, text: str) -> None:
    assert not matches_expected({"says_only": values}, text)


@pytest.mark.parametrize("written", [{"says": 5}, {"says": []}, {"says": [""]}, {"says_only": ["Toussaint"]}])
def test_value_that_cannot_be_said_is_reported(written: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        check_expected(written)


def test_text_of_100_000_characters_is_read_quickly() -> None:
    assert not matches_expected({"says": "2026-03-06T14:30"}, "at 3 quarter past 12 " * 5_000)


@pytest.mark.parametrize("number", ["555 019 9072", "+1 (555) 019-9072", "555.019.9072", "five five five 019 9072"])
def test_number_is_removed_in_any_notation_and_another_is_left(number: str) -> None:
    left = remove_said(["5550199072"], f"Call {number}, or 555 019 9073; give 400 tablets.")
    assert "9072" not in left
    assert left.endswith(", or 555 019 9073; give 400 tablets.")
