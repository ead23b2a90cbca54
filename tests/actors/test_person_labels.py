"""Values of which a person has only one, and contradictions of them."""

import pytest

from clerkship.actors.person_contract import LineContext, PersonLimits, PersonLine, find_breach, find_made_up_facts
from clerkship.actors.person_labels import SpokenLine, StatedValue, find_stated_values
from tests.waiting import processor_limit

ASKS_PIN = "Welcome back. What is your PIN?"
GIVEN = "You are Ada. Your PIN is 4321. You were born on 1990-05-04.\nemail\nada@example.org"


def moment(*turns: tuple[str, str], heard: str = "") -> LineContext:
    """Return the point after some turns, each the agent's words and the person's answer."""
    texts = [text for turn in turns for text in turn]
    return LineContext(
        heard=(heard,),
        so_far="\n".join([*texts, heard]),
        answers=1,
        own=tuple(line for _, line in turns),
        statements=tuple(SpokenLine(*turn) for turn in turns),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My PIN is 4321.", [StatedValue("PIN", "4321")]),
        ('{"pin": "4321", "email": "ada@example.org"}', [("PIN", "4321"), ("e-mail address", "ada@example.org")]),
        ("4321 is my PIN", [("PIN", "4321")]),
        ("account number: 998877", [("account number", "998877")]),
        ("I was born on May 4th, 1990", [("date of birth", "May 4th, 1990")]),
        ("Please reset my PIN, order 5512.", []),
        ("I pin it on the wall, 3 times.", []),
        ("The spinning 4321", []),
    ],
)
def test_named_values_are_found_in_plain_statements(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(find_stated_values(text)) == expected


@pytest.mark.parametrize("facts_are_free", [True, False])
@pytest.mark.parametrize(
    ("heard", "line"),
    [
        ("", "My PIN is 9876."),
        (ASKS_PIN, "9876"),
        (ASKS_PIN, "Sure, it's 9876."),
        ("Please enter your PIN.", "9876"),
        ("", "I was born on June 3rd, 1991."),
        ("Which e-mail address do you use?", "bob@example.org"),
    ],
)
def test_contradicting_a_given_fact_is_a_breach_in_both_modes(facts_are_free: bool, heard: str, line: str) -> None:
    limits = PersonLimits(GIVEN, may_invent=facts_are_free)
    found = find_breach(PersonLine(line), limits, moment(heard=heard))
    assert found is not None
    assert found.rule == "contradicts"
    assert "keep to that" in found.reason


def test_second_different_made_up_pin_contradicts_the_first() -> None:
    limits = PersonLimits("You want your balance.", may_invent=True)
    first = moment(heard=ASKS_PIN)
    assert find_breach(PersonLine("4711"), limits, first) is None
    assert find_made_up_facts("4711", limits, first) == ("4711",)
    later = moment((ASKS_PIN, "4711"), heard="That PIN is wrong. What is your PIN?")
    found = find_breach(PersonLine("Sorry, then it is 8822."), limits, later)
    assert found is not None
    assert found.reason == "you say that the PIN is '8822', and before it was '4711': keep to that"
    assert find_breach(PersonLine("It is 4711, really."), limits, later) is None
    assert find_made_up_facts("It is 4711, really.", limits, later) == ()


@pytest.mark.parametrize(
    ("heard", "line"),
    [
        ("Thanks for your PIN. What else?", "Order 5512, please."),
        ("Thanks for the PIN. Which order?", "5512"),
        ("What is the PIN of your other card?", "9876"),
        ("", "My new PIN is 9876."),
        ("", "My husband's PIN is 9876."),
        ("Is your PIN 9876?", "Yes, my PIN is 9876."),
        ("What are your PIN and your account number?", "9876"),
    ],
)
def test_other_values_do_not_contradict(heard: str, line: str) -> None:
    limits = PersonLimits(GIVEN, may_invent=True)
    assert find_breach(PersonLine(line), limits, moment(heard=heard)) is None


def test_all_made_up_facts_of_a_line_are_found() -> None:
    limits = PersonLimits("You are Ada.", may_invent=True)
    line = "Ada, ada@example.org, born on 1990-05-04, account 998877, for 2 days."
    assert find_made_up_facts(line, limits, moment()) == ("ada@example.org", "1990-05-04", "998877")


@pytest.mark.parametrize("part", ["pin ", "pin is ", "my pin: #", "a is my ", "pin\n", "born on ", "email ", "( "])
def test_time_to_search_a_long_text_is_limited(part: str) -> None:
    text = part * (50_000 // len(part))
    with processor_limit(15):
        find_breach(PersonLine(text[:1000]), PersonLimits(text, may_invent=True), moment((text, text), heard=text))
