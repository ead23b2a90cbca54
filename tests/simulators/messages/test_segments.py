"""The parts of text messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clerkship.simulators.messages.segments import GSM_BASIC, GSM_EXTENSION, count_segments, find_encoding


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("a" * 160, 1),
        ("a" * 161, 2),
        ("a" * 306, 2),
        ("a" * 307, 3),
        ("€" * 80, 1),
        ("€" * 81, 2),
        ("a" * 152 + "€" + "a" * 153, 3),  # the extension character does not fit in the first part
        ("ж" * 70, 1),
        ("ж" * 71, 2),
        ("ж" * 135, 3),
        ("😀" * 35, 1),
        ("😀" * 36, 2),
        ("😀" * 67, 3),  # 33 pairs in each part: the 67th unit stays empty
    ],
)
def test_segments_are_counted_as_networks_do(text: str, count: int) -> None:
    assert count_segments(text) == count


def test_alphabet_has_127_characters_and_ten_extensions() -> None:
    assert (len(GSM_BASIC), len(GSM_EXTENSION)) == (127, 10)


@given(st.text(alphabet=sorted(GSM_BASIC | GSM_EXTENSION), max_size=800))
def test_gsm_text_fills_parts_of_153_septets(text: str) -> None:
    septets = sum(2 if character in GSM_EXTENSION else 1 for character in text)
    assert find_encoding(text) == "GSM-7"
    count = count_segments(text)
    assert (count == 1) == (septets <= 160)
    if count > 1:
        assert -(-septets // 153) <= count <= -(-septets // 152)


@given(st.text(max_size=300).map(lambda text: f"{text}ж"))
def test_one_character_outside_gsm_makes_all_of_it_ucs2(text: str) -> None:
    units = len(text.encode("utf-16-le")) // 2
    assert find_encoding(text) == "UCS-2"
    assert (count_segments(text) == 1) == (units <= 70)
