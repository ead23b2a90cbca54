"""Parsing of model answers."""

import pytest

from clerkship.assertions.judged import JudgeVerdict
from clerkship.llm.contract import BadAnswer
from clerkship.llm.remote import parse_answer

NO = '{"reasoning": "no", "passed": false}'
YES = '{"reasoning": "ok", "passed": true}'


@pytest.mark.parametrize(
    "text", [NO, f"Well.\n```json\n{NO}\n```", f"<think>{YES}</think>{NO}", f"{NO} as I said, {NO}"]
)
def test_text_and_thoughts_around_the_answer_are_ignored(text: str) -> None:
    assert parse_answer(text, JudgeVerdict).passed is False


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"The agent wrote {YES}. Not met: {NO}", "there are 2 answers in it, and they differ"),
        (f"<think>I would say {YES} but", "there is no JSON object in it"),
        ("", "there is no JSON object in it"),
        ('{"passed": "maybe", "reasoning": "x"}', "passed"),
    ],
)
def test_quoted_objects_and_thoughts_are_not_the_answer(text: str, why: str) -> None:
    with pytest.raises(BadAnswer, match=why):
        parse_answer(text, JudgeVerdict)


def test_thoughts_quoted_in_the_answer_are_kept() -> None:
    quoted = '{"reasoning": "it says <think>leak</think> aloud", "passed": false}'
    assert parse_answer(quoted, JudgeVerdict).reasoning == "it says <think>leak</think> aloud"
    assert parse_answer(f"<think>{YES}</think>\n{quoted}", JudgeVerdict).passed is False
    assert parse_answer(f"First {YES[:-1]} <think>{YES}</think> then {NO}", JudgeVerdict).passed is False


def test_lone_surrogates_are_replaced() -> None:
    verdict = parse_answer('{"reasoning": "half \\ud83d and whole \\ud83d\\ude00", "passed": true}', JudgeVerdict)
    assert verdict.reasoning == "half ? and whole \U0001f600"
