"""Forbidden words are found when they are disguised, and not in ordinary sentences."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.simulators.voice.assertions.voice_transcript import VoiceTranscript
from clerkship.simulators.voice.assertions.voicemail_left import VoicemailWasLeft
from clerkship.text.spoken_text import SpokenText
from tests.choices import mark_slow_after
from tests.examples import examples
from tests.simulators.voice.call_log_builder import CallLogBuilder

DISGUISES = [
    "ᴅɪᴀʙᴇᴛᴇs",
    "🅳🅸🅰🅱🅴🆃🅴🆂",
    "ⓓⓘⓐⓑⓔⓣⓔⓢ",
    "𝕕𝕚𝕒𝕓𝕖𝕥𝕖𝕤",
    "d1abetes",
    "di@bet€s",
    "d!ab3t3s",
    "dia\u200bbetes",
    "di\u00ada\u2060bet\ufeffes",
    "dia\x00betes",
    "dia betes",
    "dia... betes",
    "dia-\nbetes",
    "d-i-a-b-e-t-e-s",
    "d i a b e t e s",
    "d.i.a.b.e.t.e.s.",
    "dia, uh, betes",
    "dia um betes",
    "d1a, erm, b3tes",
    "delta india alpha bravo echo tango echo sierra",
    "D as in dog, I as in ink, A as in apple, B as in boy, E as in egg, T as in toy, E, S as in sun",
]
FORBIDDEN = (
    "diabetes", "diabet", "HIV", "cancer", "herpes", "asthma", "metformin", "hepatitis", "depress", "Ina", "Isa", "Asa",
    "Ana", "Ian", "Theo", "Amy", "COPD", "STD", "overdose", "insulin", "alcohol", "MBR4471", "9966", "1970-03-04",
)  # fmt: skip
WORD_LIST = """
hello hi this is a reminder for an appointment on at in the morning as we can certify that her pesky form met
for minutes your call back number please press one two three four to reach me or my office i am calling from
clinic victor mike oscar charlie it was so nice the nurse will see you an a.m. slot do not worry about dial
betty tests canned cerulean over those doses hip vital signs uh um er well okay call us today no need so we
may go on with an ear thee ours
"""
ORDINARY_WORDS = WORD_LIST.split()
ORDINARY_NUMBERS = [
    "3", "10:30", "March 4", "March 5th, 2026", "the 4th", "5pm", "8am", "$20", "50", "555-0100", "A1C", "B12",
    "COVID19", "1st", "zero", "forty-one", "a, b, c", "x3", "500mg", "20 percent", "7-10 days", "4 or 12", "2026",
]  # fmt: skip
GAPS = [" ", ", ", ". ", "! ", "? ", " - "]
ORDINARY_TEXT = st.lists(
    st.tuples(st.sampled_from(ORDINARY_WORDS + ORDINARY_NUMBERS), st.sampled_from(GAPS)),
    min_size=1,
    max_size=25,
).map(lambda parts: "".join(word + gap for word, gap in parts))


def is_said(text: str, value: str) -> bool:
    return SpokenText(text).find((value,), loose=True) is not None


@pytest.mark.parametrize("disguise", DISGUISES, ids=ascii)
def test_disguised_word_is_found(disguise: str) -> None:
    assert is_said(f"It is about your {disguise}, I am afraid.", "diabetes")


@pytest.mark.parametrize("disguise", DISGUISES, ids=ascii)
def test_disguised_word_fails_the_criteria(disguise: str) -> None:
    log = CallLogBuilder()
    call = log.start()
    log.say(call, f"It is about your {disguise}.")
    log.leave(call, f"It is about your {disguise}.")
    log.end(call)
    assert not VoiceTranscript.model_validate({"not_contains": "diabetes"}).check(log.evidence()).passed
    assert not VoicemailWasLeft.model_validate({"not_contains": "diabetes"}).check(log.evidence()).passed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Hi, Victor.", "HIV"),
        ("Hi. Vital signs are fine.", "HIV"),
        ("We can certify that.", "cancer"),
        ("One moment, in a minute.", "Ina"),
        ("This is a reminder.", "Isa"),
        ("There is an a.m. slot.", "Ana"),
        ("At eight a.m. your time.", "Amy"),
        ("We met for minutes.", "metformin"),
        ("That is her pesky form.", "herpes"),
        ("Is the test on March 4 or 12?", "412"),
        ("Your A1C is due at 8am.", "alcohol"),
    ],
)
def test_words_side_by_side_are_not_another_word(text: str, value: str) -> None:
    assert not is_said(text, value)


@settings(deadline=None, max_examples=examples(100))
@given(ORDINARY_TEXT)
def test_ordinary_sentences_have_no_forbidden_words(text: str) -> None:
    expected = [value for value in FORBIDDEN if re.search(rf"(?i)\b{value}", text)]
    spoken = SpokenText(text)
    assert [value for value in FORBIDDEN if spoken.find((value,), loose=True) is not None] == expected


@settings(deadline=None)
@given(ORDINARY_TEXT, st.sampled_from(["diabetes", "metformin", "hepatitis"]), st.data())
def test_word_is_found_wherever_it_is_cut(text: str, word: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(word) - 1))
    gap = data.draw(st.sampled_from([" ", "-", "... ", ", uh, ", " um ", "\u200b"]))
    assert is_said(f"{text} {word[:cut]}{gap}{word[cut:]}.", word)


@pytest.mark.parametrize(
    "text",
    mark_slow_after(1, ["a!" * 50_000 + "_", "u" * 100_000, "uh, " * 25_000, "d1 " * 33_000, "d " * 50_000]),
)
def test_long_disguised_text_is_searched_to_its_end(text: str) -> None:
    assert not is_said(text, "diabetes")
    assert is_said(f"{text} dia, uh, betes", "diabetes")
