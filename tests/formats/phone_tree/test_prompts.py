"""Prompts with values."""

import pytest

from clerkship.formats.phone_tree.prompts import check_prompt, find_names, render_prompt

VALUES = {
    "name": "Ana Lee",
    "reference": "412",
    "member_id": "CM2",
    "date": "2026-03-02",
    "time": "2026-03-02T09:30:00-05:00",
    "amount": "1240.5",
    "brace": "{name}",
    "codes": "72, 97",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello {name}.", "Hello Ana Lee."),
        ("Reference {reference|digits}.", "Reference 4, 1, 2."),
        ("{member_id|digits}", "C, M, 2"),
        ("{codes|digits}", "7, 2 and 9, 7"),
        ("{member_id|letters}", "C as in Charlie, M as in Mike, 2"),
        ("until {date|date}", "until March 2, 2026"),
        ("at {time|date}", "at March 2, 2026"),
        ("{amount|money}", "$1,240.50"),
        ("{name|money}, {name|date}", "Ana Lee, Ana Lee"),
        ("{missing}!", "!"),
        ("{missing|date}{missing|money}{missing|digits}{missing|letters}", ""),
        ("{brace}", "{name}"),
        ("no values", "no values"),
        ("", ""),
    ],
)
def test_values_are_said_as_their_filter_asks(text: str, expected: str) -> None:
    assert render_prompt(text, VALUES) == expected


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "1e30", "-1e400"])
def test_value_that_is_not_an_amount_is_said_as_it_is(amount: str) -> None:
    assert render_prompt("{amount|money}", {"amount": amount}) == amount


def test_negative_amount_has_its_sign_before_the_dollar() -> None:
    assert render_prompt("{amount|money}", {"amount": "-12"}) == "-$12.00"


def test_names_are_listed_once_in_order() -> None:
    assert find_names("{b} {a|digits} {b|date} {c}") == ("b", "a", "c")


@pytest.mark.parametrize("text", ["", "Hello.", "{name}", "{name|digits} and {b|letters} {c|date} {d|money}"])
def test_correct_prompt_passes(text: str) -> None:
    check_prompt(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{name|shout}", "unknown filter `shout`"),
        ("Hello {name", "`{` at character 7"),
        ("Hello name}", "`}` at character 11"),
        ("{Name}", "not part of a value"),
        ("{}", "not part of a value"),
        ("{{name}}", "`{` at character 1"),
        ("{name|}", "not part of a value"),
        ("{na me}", "not part of a value"),
    ],
)
def test_mistake_in_a_prompt_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"value|filter") as error:
        check_prompt(text)
    assert message in str(error.value)
