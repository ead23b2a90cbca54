"""`speaks_as_agent` on labelled lines of people and of assistants."""

from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from clerkship.actors.person_contract import LineContext, PersonLimits, PersonLine, find_breach
from clerkship.actors.person_patterns import ends_with_closing, find_assistant_phrase, is_closing

LINES: dict[str, dict[str, list[str]]] = yaml.safe_load(
    (Path(__file__).parent / "speech_lines.yml").read_text(encoding="utf-8")
)
LEAST = {"tuned": 50, "held_out": 50, "small_tuned": 20, "small_held_out": 20}
"""Lines of each side in each half."""


class Measured(NamedTuple):
    """The agreement of the rule with the labels."""

    precision: float
    recall: float


def measured(half: str) -> Measured:
    """Apply the rule to one half of the labelled lines."""
    hits = sum(find_assistant_phrase(line) is not None for line in LINES[half]["assistant"])
    false = sum(find_assistant_phrase(line) is not None for line in LINES[half]["person"])
    return Measured(hits / (hits + false), hits / len(LINES[half]["assistant"]))


@pytest.mark.parametrize(
    ("half", "recall"), [("tuned", 1.0), ("held_out", 0.88), ("small_tuned", 1.0), ("small_held_out", 0.77)]
)
def test_precision_is_1_and_recall_matches_the_docs(half: str, recall: float) -> None:
    assert all(len(lines) >= LEAST[half] for lines in LINES[half].values())
    found = measured(half)
    assert found.precision == 1.0, [line for line in LINES[half]["person"] if find_assistant_phrase(line)]
    assert found.recall >= recall, [line for line in LINES[half]["assistant"] if not find_assistant_phrase(line)]


def test_no_sample_line_is_in_both_groups() -> None:
    lines = [line for half in LINES.values() for side in half.values() for line in side]
    assert sorted(lines) == sorted(set(lines))


@pytest.mark.parametrize("line", [line for half in LINES.values() for line in half["person"]])
def test_sample_lines_of_people_break_no_role_rule(line: str) -> None:
    found = find_breach(PersonLine(line), PersonLimits("", may_invent=True), LineContext(answers=1))
    assert found is None


@pytest.mark.parametrize(
    "line",
    [
        "Can I help you with something else?",
        "I would be happy to help if you can give me the order number.",
        "I am unable to do that for you.",
    ],
)
def test_assistant_phrase_is_a_breach_unless_the_agent_contacts_the_person(line: str) -> None:
    found = find_breach(PersonLine(line), PersonLimits(""), LineContext(answers=1))
    assert found is not None
    assert found.rule == "speaks_as_agent"
    assert find_breach(PersonLine(line), PersonLimits("", may_help=True), LineContext(answers=1)) is None


def test_question_that_repeats_the_agents_is_not_an_assistant_phrase() -> None:
    asked = "I need your date of birth and your PIN."
    assert find_assistant_phrase("I need your date of birth? You have it.", [asked]) is None
    assert find_assistant_phrase("I need your date of birth.", ["Hello."]) == "I need your date of birth"


@pytest.mark.parametrize(
    "line", ['Your site says "How can I help you today?"', "Your colleague said I can help you with that."]
)
def test_quoted_and_reported_speech_does_not_count(line: str) -> None:
    assert find_assistant_phrase(line) is None


@pytest.mark.parametrize(
    ("message", "closes"),
    [
        ("Thanks!", True),
        ("No, that's all, thank you.", True),
        ("Alright, thank you for letting me know. Have a nice day!", True),
        ("Thank you for cancelling my order", True),
        ("You too!", True),
        ("No", True),
        ("Yes", False),
        ("Thank you, but when does it arrive?", False),
        ("Thank you but I still need the number", False),
        ("Thanks, and can you refund it too?", False),
        ("Thanks for waiting, it is 1155.", False),
        ("No, I want to talk to a person.", False),
        ("", False),
    ],
)
def test_closing_of_a_person_is_thanks_and_goodbyes_only(message: str, closes: bool) -> None:
    assert is_closing(message, "person") is closes


@pytest.mark.parametrize(
    ("message", "closes"),
    [
        ("You're welcome! Is there anything else I can help you with?", True),
        ("Order ORD-1155 is cancelled. Anything else?", True),
        ("No problem. If you need anything else, just let me know.", True),
        ("Glad I could help. Goodbye!", True),
        ("Thank you. What is your PIN?", False),
        ("What is your name? Thanks!", False),
        ("I am looking for it. Thank you for your patience.", False),
        ("One moment, please.", False),
        ("", False),
    ],
)
def test_agent_closes_if_its_last_sentence_does_and_it_asks_nothing(message: str, closes: bool) -> None:
    assert ends_with_closing(message) is closes
