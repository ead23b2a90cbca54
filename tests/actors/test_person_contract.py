"""Rules for the lines of a person that a model plays."""

import pytest

from clerkship.actors.person_contract import MAX_LINE_LENGTH, LineContext, PersonLimits, PersonLine, find_breach
from tests.choices import mark_slow_after
from tests.waiting import processor_limit

GIVEN = """
You are Noah Berg, a tired father. Your son's inhaler is empty. The prescription is RX-20417, from 4 May 2018; your
account is 12345, your phone +1 (555) 010-2233, your card 4111 1111 1111 1111, your e-mail noah.berg@example.org. You
pay 1,299.50 a year.
"""
ORDERS = "Stay in character from beginning to end. Write one or two short sentences, as people write in a chat."
BOUNDS = PersonLimits(GIVEN, ORDERS, never_says=(r"(?i)lawyer",))
HEARD = "Thank you. For case C-88123 I need your date of birth and the number on the box."
MOMENT = LineContext(heard=(HEARD,), so_far=f"Hello, I need help.\n{HEARD}", answers=1)

FINE = [
    "It is RX-20417.",
    "RX 20417, from May 4th.",
    "rx20417",
    "Number 20417, I think.",
    "It was on 2018-05-04.",
    "5/4/2018, or how you write it: 04.05.2018",
    "My phone is 555-010-2233.",
    "5550102233",
    "The card ends in 1111.",
    "12345. And it is for 2 inhalers, 3 times a day.",
    "12345 2 days ago",
    "noah.berg@example.org, as always.",
    "Noah.Berg@Example.org.",
    "About 1,299.50, I am 100 % sure!",
    "It says C-88123 in your message.",
    "At 10:30 or between 14:00-16:00, any day.",
    "Rooms 10, 11, 12, 13 and 14.",
    "He is 7, and may 2 of us come along?",
    "24/7, you said?",
    "Are you a bot? Am I talking to an AI?",
    "How can you help me with that?",
    "Can I help you find it? I have the box here.",
    "I work for an AI company, and I'm an AI engineer.",
    "I am playing with my son.",
    "Thank you for calling me back.",
    "???",
    "Ok",
    "Yes yes yes, please hurry.",
    "No! {sigh}",
    "I need your date of birth? You have it.",
]
WRONG = [
    ("", "says_nothing"),
    ("   ", "says_nothing"),
    ("x " * MAX_LINE_LENGTH, "too_long"),
    ('{"message": "Hi", "done": false}', "not_speech"),
    ('Sure. {"done": true}', "not_speech"),
    ("[1, 2]", "not_speech"),
    ("```\nHello\n```", "not_speech"),
    ("Hello<|im_end|>", "not_speech"),
    ("<think>He wants</think> Hi", "not_speech"),
    ("<<< AGENT 1234", "not_speech"),
    ("My simulation_context says so.", "not_speech"),
    ("(presses 'Yes')", "not_speech"),
    ("a" * 60, "not_speech"),
    ("yes yes yes yes yes yes yes yes yes", "not_speech"),
    ("Hi \x00 there", "not_speech"),
    ("I shall stay in character from beginning to end.", "tells_its_orders"),
    ("Agent: How are you?", "speaks_as_agent"),
    ("**Assistant**: Sure.", "speaks_as_agent"),
    ("I need it.\nSupport agent: Of course.", "speaks_as_agent"),
    ("Customer: I need it.", "speaks_as_agent"),
    ("How can I help you today?", "speaks_as_agent"),
    ("Is there anything else I can help you with?", "speaks_as_agent"),
    ("I'd be happy to assist you with that.", "speaks_as_agent"),
    ("Thank you for contacting us!", "speaks_as_agent"),
    ("As an AI, I have no date of birth.", "out_of_role"),
    ("I'm a large language model", "out_of_role"),
    ("I am just a virtual assistant.", "out_of_role"),
    ("I'm simulating a customer here.", "out_of_role"),
    ("In this simulation I want an inhaler.", "out_of_role"),
    ("My role is to ask for it.", "out_of_role"),
    (HEARD, "echoes"),
    (HEARD.upper().rstrip("."), "echoes"),
    ("I will call my lawyer.", "never_says"),
    ("It is RX-99999.", "contradicts"),
    ("rx 99999 then", "makes_up"),
    ("My account is 54321.", "contradicts"),
    ("He was born on 2018-05-05.", "makes_up"),
    ("On June 3rd.", "makes_up"),
    ("the 3rd of June 2017", "makes_up"),
    ("In 2017.", "makes_up"),
    ("Reach me at berg@example.org", "makes_up"),
    ("See www.example.com/inhaler", "makes_up"),
    ("Call 555-010-9999.", "makes_up"),
    ("1 2 3 4 5 6", "makes_up"),
    ("He takes 250mg.", "makes_up"),
]


@pytest.mark.parametrize("line", FINE)
def test_ordinary_lines_pass(line: str) -> None:
    assert find_breach(PersonLine(line), BOUNDS, MOMENT) is None


@pytest.mark.parametrize(("line", "rule"), WRONG)
def test_broken_rule_is_returned_with_its_reason(line: str, rule: str) -> None:
    found = find_breach(PersonLine(line), BOUNDS, MOMENT)
    assert found is not None
    assert found.rule == rule
    assert found.reason


def test_person_who_may_invent_may_not_contradict_given_facts() -> None:
    bounds = PersonLimits(GIVEN, may_invent=True)
    assert find_breach(PersonLine("It was on June 3rd, 2017; call 555-999."), bounds, MOMENT) is None
    found = find_breach(PersonLine("It is RX-99999."), bounds, MOMENT)
    assert found is not None
    assert found.reason == "you say 'RX-99999', and what you were given is 'RX-20417'"


def test_person_contacted_by_the_agent_may_offer_help() -> None:
    line = PersonLine("Main Street Pharmacy, how can I help you?")
    assert find_breach(line, PersonLimits("You are the pharmacist.", may_help=True), LineContext()) is None


@pytest.mark.parametrize(("answers", "min_turns", "stops"), [(0, 1, True), (1, 1, False), (1, 3, True), (3, 3, False)])
def test_person_may_not_leave_before_a_reply(answers: int, min_turns: int, stops: bool) -> None:
    found = find_breach(
        PersonLine("Bye.", done=True), PersonLimits("", min_turns=min_turns), LineContext(answers=answers)
    )
    assert (found is not None and found.rule == "stops_early") is stops


def test_leaving_without_a_message_is_allowed() -> None:
    assert find_breach(PersonLine("", done=True), BOUNDS, MOMENT) is None


def test_first_repetition_is_allowed() -> None:
    moment = LineContext(so_far="I have your number as 555 123 9876, and your file as XY-1234567 of 3 June.", answers=1)
    for line in ("Yes, 5551239876.", "XY-1234567, on 3/6/2019 or so", "It ends in 4567."):
        assert find_breach(PersonLine(line), PersonLimits(""), moment) is None


@pytest.mark.parametrize(
    "part", mark_slow_after(3, ["1 ", "a@", "May 1 ", "a", "a.", "1", "a1-", "www.", "1/1/", "yes ", "(", "\n", "é"])
)
def test_time_to_check_a_long_agent_text_is_limited(part: str) -> None:
    text = part * (50_000 // len(part))
    with processor_limit(15):
        breach = find_breach(PersonLine("It is RX-99999."), PersonLimits("RX-20417"), LineContext((text,), text, 1))
    assert breach is not None


@pytest.mark.parametrize(
    "line",
    [
        "I'm here to help my mother with her order.",
        "My role is head of facilities.",
        "Thanks for calling back.",
        "I've waited 120 minutes for this.",
        "That is 100% wrong, it has been 365 days.",
    ],
)
def test_good_lines_that_look_like_bad_ones_pass(line: str) -> None:
    assert find_breach(PersonLine(line), PersonLimits("You want your order."), LineContext(answers=1)) is None
