"""`speaks_as_agent` on labelled lines of people and of assistants."""

from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from clerkship.actors.person_contract import LineContext, PersonLimits, PersonLine, find_breach
from clerkship.actors.person_patterns import find_assistant_phrase

LINES: dict[str, dict[str, list[str]]] = yaml.safe_load(
    (Path(__file__).parent / "speech_lines.yml").read_text(encoding="utf-8")
)
LEAST = 50
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


@pytest.mark.parametrize(("half", "recall"), [("tuned", 1.0), ("held_out", 0.88)])
def test_precision_is_1_and_recall_matches_the_docs(half: str, recall: float) -> None:
    assert all(len(lines) >= LEAST for lines in LINES[half].values())
    found = measured(half)
    assert found.precision == 1.0, [line for line in LINES[half]["person"] if find_assistant_phrase(line)]
    assert found.recall >= recall, [line for line in LINES[half]["assistant"] if not find_assistant_phrase(line)]


def test_no_sample_line_is_in_both_groups() -> None:
    tuned, held_out = ({line for side in half.values() for line in side} for half in LINES.values())
    assert not tuned & held_out


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
