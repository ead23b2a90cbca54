"""`answer_matches`: the answer as a whole, or fields of it."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.assertions.answer_matches import AnswerMatches, parse_answer
from clerkship.assertions.contract import Check
from clerkship.model.path import MISSING
from tests.assertions.story import Story


def check(args: Any, answer: Any) -> Check:
    """The check of one answer."""
    return AnswerMatches.model_validate(args).check(Story().evidence(answer=answer, answered=True))


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        ("filed", "filed"),
        ({"approx": {"value": 3.1, "tolerance": 0.01}}, 3.105),
        ({"expected": {"matches": "^f"}}, "filed"),
        ({"expected": None}, None),
        ({"fields": [{"path": "a.0.b", "expected": {"gt": 1}}]}, {"a": [{"b": 2}]}),
        ({"fields": [{"path": "gone", "expected": {"exists": False}}]}, {}),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_the_answer_that_was_expected_passes(args: Any, answer: Any) -> None:
    found = check(args, answer)
    assert (found.passed, found.score, found.detail) == (True, 1.0, "the answer is as expected")


def test_a_wrong_answer_is_shown_beside_the_expected() -> None:
    found = check({"gt": 3}, 2)
    [row] = found.evidence
    assert (found.passed, found.score) == (False, 0.0)
    assert (row.path, row.expected, row.actual, row.passed) == ("answer", {"gt": 3}, 2, False)


def test_fields_count_in_part() -> None:
    fields = [{"path": "mrn", "expected": "1"}, {"path": "status", "expected": "ok"}, {"path": "x", "expected": 1}]
    found = check({"fields": fields}, {"mrn": "1", "status": "late"})
    assert not found.passed
    assert found.score == pytest.approx(1 / 3)
    assert found.detail == "not as expected: status, x"
    assert [(row.path, row.actual) for row in found.evidence] == [("mrn", "1"), ("status", "late"), ("x", "(absent)")]


@pytest.mark.parametrize(
    ("args", "rows"),
    [
        ("filed", [("answer", "filed")]),
        ({"expected": None}, [("answer", None)]),
        ({"fields": [{"path": "a", "expected": 1}, {"path": "b", "expected": 2}]}, [("a", 1), ("b", 2)]),
    ],
)
def test_no_answer_fails_whatever_was_expected_and_shows_it(args: Any, rows: list[Any]) -> None:
    found = AnswerMatches.model_validate(args).check(Story().evidence())
    assert (found.passed, found.score) == (False, 0.0)
    assert found.detail.startswith("the agent gave no answer; expected ")
    assert [(row.path, row.expected) for row in found.evidence] == rows
    assert {row.actual for row in found.evidence} == {"(none)"}


def test_a_long_answer_is_shortened_in_the_evidence() -> None:
    assert len(str(check("x", "y" * 100_000).evidence[0].actual)) < 2100
    assert len(str(check("x", ["y"] * 100_000).evidence[0].actual)) < 2100


@pytest.mark.parametrize("args", [{}, None, {"fields": []}, {"expected": {"matches": "("}}, {"expectd": 5}])
def test_an_expectation_that_says_nothing_is_refused(args: Any) -> None:
    with pytest.raises(ValidationError):
        AnswerMatches.model_validate(args)


OBJECT = {"fields": [{"path": "mrn", "expected": "4188190"}, {"path": "found", "expected": True}]}


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        (OBJECT, '{"mrn": "4188190", "found": true}'),
        (OBJECT, 'It is this one:\n```json\n{"mrn": "4188190", "found": true}\n```\nAnything else?'),
        (133.7, "133.7"),
        ({"approx": {"value": 133.7, "tolerance": 0.05}}, "133.71"),
        (["a"], '["a"]'),
        ("5", "5"),
        ({"matches": "^5"}, "5"),
        ({"not": 6}, "5"),
        ({"expected": None}, "null"),
    ],
)
def test_what_an_answer_in_words_says_is_read(args: Any, answer: str) -> None:
    assert check(args, answer).passed


@pytest.mark.parametrize(("args", "answer"), [({"not": 5}, "5"), (5, "about 5"), (True, "1"), ("5", "6")])
def test_and_is_no_excuse(args: Any, answer: str) -> None:
    assert not check(args, answer).passed


def test_an_answer_in_words_where_fields_were_asked_for_is_called_that() -> None:
    found = check(OBJECT, "The MRN is 4188190.")
    assert (found.passed, found.detail) == (False, "the answer is text, not JSON: 'The MRN is 4188190.'")


def test_two_blocks_say_nothing_certain() -> None:
    assert not check(5, "```\n5\n```\nor\n```\n6\n```").passed


def test_a_long_answer_with_half_a_block_is_read_in_one_pass() -> None:
    assert parse_answer("```json" + " \n" * 200_000) is MISSING


def test_the_one_block_of_an_answer_is_read() -> None:
    assert parse_answer('Here it is: ```json\n{"a": 1}\n```\nDone.') == {"a": 1}
    assert parse_answer("```\n[1]\n```\n```\n[2]\n```") is MISSING
