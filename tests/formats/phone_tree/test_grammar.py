"""Which choice of a menu callers mean, and whether they say yes or no."""

import pytest

from clerkship.formats.phone_tree.grammar import is_no, is_yes, match_choice
from clerkship.formats.phone_tree.nodes import Choice
from tests.choices import mark_slow_after

MENU = (
    Choice(key="1", speech=("eligibility", "benefits", "eligibility and benefits"), next="eligibility"),
    Choice(key="2", speech=("authorization", "prior auth", "authorization status"), next="authorization"),
    Choice(key="3", speech=("claims", "claim status", "billing"), next="claims"),
    Choice(key="0", speech=("representative", "speak to a representative", "operator"), next="queue"),
    Choice(key="9", speech=("refill a prescription", "café menu"), next="refill"),
    Choice(key="*", speech=("repeat that", "schedule an appointment"), next="repeat"),
    Choice(key="#", speech=("not feeling well",), next="nurse"),
)
CHOSEN = {
    "claims": "claims",
    "Claims!": "claims",
    "claim": "claims",
    "I'd like to check on a claim, please": "claims",
    "my bill": "claims",
    "eligibility": "eligibility",
    "eligibility and benefits": "eligibility",
    "a benefit question": "eligibility",
    "authorizations": "authorization",
    "authorisation": "authorization",
    "status of my prior auth": "authorization",
    "PRIOR AUTH": "authorization",
    "representative": "queue",
    "Let me speak with the representative": "queue",
    "refilling my prescriptions": "refill",
    "cafe menu": "refill",
    "the CAFÉ   menu": "refill",
    "scheduling an appointment": "repeat",
    "scheduled appointments": "repeat",
    "one": "eligibility",
    "uh, one please": "eligibility",
    "1": "eligibility",
    "press two": "authorization",
    "option two": "authorization",
    "I'd like option 3": "claims",
    "number zero": "queue",
    "oh": "queue",
    "the third option": "claims",
    "star": "repeat",
    "press pound": "nurse",
    "*": "repeat",
    "option #": "nurse",
    "not claims, eligibility": "eligibility",
    "I don't want claims, I want eligibility": "eligibility",
    "not claims but benefits": "eligibility",
    "not claims eligibility": "eligibility",
    "no, claims": "claims",
    "No. Claims.": "claims",
    "I'm not feeling well": "nurse",
    "claim status": "claims",
    "press one for eligibility": "eligibility",
    "speak to a representative about claims": "queue",
}
NOT_CHOSEN = [
    "",
    "...",
    "hello",
    "not claims",
    "I don't want claims",
    "I do not want claims or benefits",
    "no claims",
    "anything except billing",
    "claims and eligibility",
    "reclaiming",
    "disclaimer",
    "press seven",
    "seven",
    "one two",
    "one question",
    "press two for claim status",
    "to",
    "\x00\x07",
]
YES = ["yes", "Yes.", "yeah", "yep, that's right", "that is correct", "Correct!", "uh huh", "ok", "sure", "sí"]
YES += ["yes, no problem", "it's right", "not wrong"]
NO = [
    "no",
    "No, thank you",
    "nope",
    "that's not right",
    "that is incorrect",
    "wrong",
    "isn't correct",
    "no that's wrong",
]
UNCLEAR = ["", "maybe", "I don't know", "I'm not sure", "yes and no", "no, that's right", "now", "yesterday", "5"]


@pytest.mark.parametrize(("text", "node"), CHOSEN.items())
def test_phrase_or_key_in_the_text_chooses(text: str, node: str) -> None:
    choice = match_choice(MENU, text)
    assert choice is not None
    assert choice.next == node


@pytest.mark.parametrize("text", NOT_CHOSEN)
def test_text_without_one_best_choice_chooses_nothing(text: str) -> None:
    assert match_choice(MENU, text) is None


def test_two_choices_that_lead_to_the_same_node_are_not_ambiguous() -> None:
    choices = (Choice(key="0", speech=("operator",), next="queue"), Choice(speech=("agent",), next="queue"))
    assert match_choice(choices, "an agent or an operator") == choices[0]


def test_key_that_is_said_must_be_offered() -> None:
    assert match_choice((Choice(speech=("claims",), next="claims"),), "press one") is None


@pytest.mark.parametrize("text", YES)
def test_yes_is_understood(text: str) -> None:
    assert is_yes(text)
    assert not is_no(text)


@pytest.mark.parametrize("text", NO)
def test_no_is_understood(text: str) -> None:
    assert is_no(text)
    assert not is_yes(text)


@pytest.mark.parametrize("text", UNCLEAR)
def test_unclear_answer_is_neither_yes_nor_no(text: str) -> None:
    assert not is_yes(text)
    assert not is_no(text)


@pytest.mark.parametrize(
    "unit", mark_slow_after(2, ["not claims, ", "speak to a ", "claims ", "press ", "é", "x", "? "])
)
def test_100_000_characters_are_matched(unit: str) -> None:
    text = unit * (100_000 // len(unit)) + " speak to a representative"
    assert match_choice(MENU, text) == MENU[3]
    assert not is_yes(text)


def test_large_menu_is_matched_in_100_000_characters() -> None:
    phrases = [tuple(f"help with item {choice} {phrase}" for phrase in range(50)) for choice in range(40)]
    choices = [Choice(speech=speech, next=f"node{index}") for index, speech in enumerate(phrases)]
    choice = match_choice(choices, "help with item " * 6_500 + "help with item 39 49")
    assert choice == choices[39]
