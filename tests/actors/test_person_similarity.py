"""Near repetitions of a person's own lines, of the agent's lines, and of the correction request."""

from pathlib import Path

import pytest
import yaml

from clerkship.actors.person_contract import LineContext, PersonLimits, PersonLine, find_breach, measure_repetition

PAIRS: dict[str, dict[str, list[tuple[str, str]]]] = yaml.safe_load(
    (Path(__file__).parent / "near_lines.yml").read_text(encoding="utf-8")
)
BOUNDS = PersonLimits("Your order is ORD-9981.", may_invent=True)


def rule_of(line: str, moment: LineContext) -> str | None:
    """Return the rule that a line breaks; None if it breaks none."""
    found = find_breach(PersonLine(line), BOUNDS, moment)
    return found.rule if found is not None else None


@pytest.mark.parametrize(("half", "recall"), [("tuned", 1.0), ("held_out", 0.8)])
def test_near_repetitions_are_distinguished_from_new_lines(half: str, recall: float) -> None:
    found = [measure_repetition(second, first) == 1 for first, second in PAIRS[half]["same"]]
    assert sum(found) / len(found) >= recall
    assert not [pair for pair in PAIRS[half]["different"] if measure_repetition(pair[1], pair[0]) == 1]


@pytest.mark.parametrize(("half", "recall"), [("tuned", 1.0), ("held_out", 0.8)])
def test_lines_with_one_sentence_changed_are_partial_repetitions(half: str, recall: float) -> None:
    found = [measure_repetition(second, first) == 0.5 for first, second in PAIRS[half]["partly"]]
    assert sum(found) / len(found) >= recall


A = "I would like to know where my parcel is. It should have come on Monday."
B = "I would like to know where my parcel is. Can you look it up?"


@pytest.mark.parametrize("own", [(A, A, B), (A, B, A), (B, A, A), (A, B, B, A)])
def test_third_repetition_is_rejected_with_a_partial_one_between(own: tuple[str, ...]) -> None:
    assert rule_of(A, LineContext(answers=1, own=own)) == "repeats_itself"


@pytest.mark.parametrize(
    "own", [(A, B), (A, A, "It is the blue one.", B), (A, "Yes, that is my name.", A), (B, "No.", B, "Yes.", B)]
)
def test_repetition_after_another_line_or_of_a_part_is_allowed(own: tuple[str, ...]) -> None:
    assert rule_of(A, LineContext(answers=1, own=own)) is None


def test_same_question_about_six_sizes_is_allowed() -> None:
    own = tuple(f"And do you have the same shoes in size {size}?" for size in range(38, 43))
    assert rule_of("And do you have the same shoes in size 43?", LineContext(answers=1, own=own)) is None


def test_third_near_repetition_is_rejected() -> None:
    own = ("I want to know where my order is.", "Well, I want to know where my order is!")
    line = "Please, I just want to know where my order is."
    assert rule_of(line, LineContext(answers=1, own=own[:1])) is None
    assert rule_of(line, LineContext(answers=1, own=own)) == "repeats_itself"
    assert rule_of("And when does it come?", LineContext(answers=1, own=own)) is None


@pytest.mark.parametrize(
    "line", ["Yes", "No, thanks.", "ORD-9981", "It is ORD-9981.", "My order number is ORD-9981.", "I see."]
)
def test_short_answers_may_be_repeated(line: str) -> None:
    assert rule_of(line, LineContext(answers=1, own=(line,) * 5)) is None


def test_question_with_a_number_is_not_an_answer() -> None:
    line = "Where is my order ORD-9981?"
    assert rule_of(line, LineContext(answers=1, own=(line, line))) == "repeats_itself"


HEARD = "I see. Your parcel left the depot on Monday. It should reach you by the end of this week."


@pytest.mark.parametrize(
    "line",
    [
        HEARD,
        "Your parcel left the depot on Monday, it should reach you by the end of the week.",
        "Well, your parcel left the depot on Monday.",
        "It should reach you by the end of this week!",
    ],
)
def test_line_similar_to_the_agents_sentences_is_an_echo(line: str) -> None:
    assert rule_of(line, LineContext(heard=(HEARD,), so_far=HEARD, answers=1)) == "echoes"


@pytest.mark.parametrize(
    ("heard", "line"),
    [
        (HEARD, "By the end of this week?"),
        (HEARD, "It left the depot on Monday? And why is it not here?"),
        ('To go on, reply "I want to talk to a human agent".', "I want to talk to a human agent."),
        ("So you want to cancel your order?", "Yes, I want to cancel my order."),
        ("Is your order number ORD-9981?", "My order number is ORD-9981."),
    ],
)
def test_repeating_part_of_the_agents_message_is_not_an_echo(heard: str, line: str) -> None:
    assert rule_of(line, LineContext(heard=(heard,), so_far=heard, answers=1)) is None


FRAME = (
    "Reply as the person you are.\n\nYou were about to say\nThat breaks a rule and was not sent: nobody gave you "
    "'4711': say only what you were given; where you do not know something, say that you do not have it."
    "\nWrite another message."
)


@pytest.mark.parametrize(
    "line",
    [
        "That breaks a rule and was not sent: nobody gave you '4711'.",
        "That breaks a rule, and it was not sent.",
        "Write another message.",
        "Say only what you were given.",
        "Where you do not know something, say that you do not have it.",
        "Reply as the person you are.",
    ],
)
def test_correction_request_is_rejected_as_a_line(line: str) -> None:
    assert rule_of(line, LineContext(answers=1, frame=FRAME)) == "tells_its_orders"


@pytest.mark.parametrize(
    "line", ["I do not have it.", "I don't know, sorry.", "Could you write me another message later?"]
)
def test_phrase_suggested_by_the_request_is_allowed(line: str) -> None:
    assert rule_of(line, LineContext(answers=1, frame=FRAME)) is None
