"""A text takes as long to say as its words, and text without spaces as long as its letters."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.formats.phone_tree.prompts import MAX_ORDINARY_WORD, SECONDS_PER_WORD, measure_speech, split_heard

LONG_TEXT = "a1" * 50_000
ORDINARY_WORDS = st.lists(st.text("abcdefghij", min_size=2, max_size=MAX_ORDINARY_WORD), min_size=2, max_size=20)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0.0),
        ("Yes", 0.4),
        ("Thank you for calling.", 1.74),
        ("Pneumonoultramicroscopicvolcanoconiosis and well-known words", 1.44),
        ("4 1 2", 1.35),
        ("5550100123", 4.5),
    ],
)
def test_ordinary_text_takes_its_words(text: str, seconds: float) -> None:
    assert measure_speech(text) == seconds


@settings(deadline=None)
@given(ORDINARY_WORDS)
def test_words_of_ordinary_length_take_the_same_time(words: list[str]) -> None:
    assert measure_speech(" ".join(words)) == round(SECONDS_PER_WORD * len(words), 2)


@pytest.mark.parametrize("text", [LONG_TEXT, "diabetes-" * 11_000, "9" * 100_000, "word." * 20_000])
def test_long_text_without_spaces_takes_more_than_an_hour(text: str) -> None:
    assert measure_speech(text) > 3600


def test_only_the_said_part_of_a_long_word_is_heard() -> None:
    text = f"Hello {LONG_TEXT} goodbye"
    assert split_heard(text, 0.5) == "Hello"
    half = split_heard(text, measure_speech(text) / 2)
    assert text.startswith(half)
    assert 45_000 < len(half) < 55_000
    assert split_heard(text, measure_speech(text)) == text


@settings(deadline=None)
@given(ORDINARY_WORDS, st.floats(0, 10))
def test_ordinary_words_are_heard_whole(words: list[str], seconds: float) -> None:
    heard = split_heard(" ".join(words), seconds).split()
    assert heard == words[: len(heard)]
