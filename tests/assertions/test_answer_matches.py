"""`answer_matches`: the answer as a whole, or fields of it."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.assertions.answer_matches import AnswerMatches, parse_answer
from clerkship.model.path import MISSING
from clerkship.sandbox.assertion import Check
from tests.assertions.log_builder import LogBuilder


def check(args: Any, answer: Any) -> Check:
    """The check of one answer."""
    return AnswerMatches.model_validate(args).check(LogBuilder().evidence(answer=answer, answered=True))


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
def test_expected_answer_passes(args: Any, answer: Any) -> None:
    found = check(args, answer)
    assert (found.passed, found.score, found.detail) == (True, 1.0, "the answer is as expected")


def test_wrong_answer_is_shown_with_expected_one() -> None:
    found = check({"gt": 3}, 2)
    [row] = found.evidence
    assert (found.passed, found.score) == (False, 0.0)
    assert (row.path, row.expected, row.actual, row.passed) == ("answer", {"gt": 3}, 2, False)


def test_fields_give_partial_score() -> None:
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
def test_missing_answer_fails_and_shows_expectation(args: Any, rows: list[Any]) -> None:
    found = AnswerMatches.model_validate(args).check(LogBuilder().evidence())
    assert (found.passed, found.score) == (False, 0.0)
    assert found.detail.startswith("the agent gave no answer; expected ")
    assert [(row.path, row.expected) for row in found.evidence] == rows
    assert {row.actual for row in found.evidence} == {"(none)"}


def test_long_answer_is_shortened_in_evidence() -> None:
    assert len(str(check("x", "y" * 100_000).evidence[0].actual)) < 2100
    assert len(str(check("x", ["y"] * 100_000).evidence[0].actual)) < 2100


@pytest.mark.parametrize("args", [{}, None, {"fields": []}, {"expected": {"matches": "("}}, {"expectd": 5}])
def test_empty_expectation_is_rejected(args: Any) -> None:
    with pytest.raises(ValidationError):
        AnswerMatches.model_validate(args)


OBJECT = {"fields": [{"path": "mrn", "expected": "4188190"}, {"path": "found", "expected": True}]}


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        (OBJECT, '{"mrn": "4188190", "found": true}'),
        (OBJECT, 'It is this one:\n```json\n{"mrn": "4188190", "found": true}\n```\nAnything else?'),
        (OBJECT, 'I found her. {"mrn": "4188190", "found": true} Anything else?'),
        (OBJECT, 'It is this one:\n{\n  "mrn": "4188190",\n  "found": true\n}'),
        (133.7, "133.7"),
        ({"approx": {"value": 133.7, "tolerance": 0.05}}, "133.71"),
        (["a"], '["a"]'),
        ("5", "5"),
        ({"matches": "^5"}, "5"),
        ({"not": 6}, "5"),
        ({"expected": None}, "null"),
    ],
)
def test_json_in_text_answer_is_parsed(args: Any, answer: str) -> None:
    assert check(args, answer).passed


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        ({"not": 5}, "5"),
        ({"not": {"contains": "Ana"}}, 'Ana {"a": 1}'),
        (5, "about 5"),
        (True, "1"),
        ("5", "6"),
        (OBJECT, 'It is {"mrn": "4188190", "found": true} or {"mrn": "4188190", "found": true}'),
        (OBJECT, '{"a": 1} is no good; it is {"mrn": "4188190", "found": true}'),
    ],
)
def test_parsed_text_answer_can_fail(args: Any, answer: str) -> None:
    assert not check(args, answer).passed


def test_text_answer_without_json_is_reported_for_fields() -> None:
    found = check(OBJECT, "The MRN is 4188190.")
    assert (found.passed, found.detail) == (False, "the answer is text, not JSON: 'The MRN is 4188190.'")


def test_answer_with_two_blocks_is_not_parsed() -> None:
    assert not check(5, "```\n5\n```\nor\n```\n6\n```").passed


def test_long_answer_with_open_fence_is_parsed_in_linear_time() -> None:
    assert parse_answer("```json" + " \n" * 200_000) is MISSING


def test_single_fenced_block_is_parsed() -> None:
    assert parse_answer('Here it is: ```json\n{"a": 1}\n```\nDone.') == {"a": 1}
    assert parse_answer("```\n[1]\n```\n```\n[2]\n```") is MISSING
    assert parse_answer('```\n{"a": 1}\n```\n```\n[2]\n```') is MISSING


@pytest.mark.parametrize("answer", [None, "I could not find it."])
def test_answer_without_fields_has_no_score_for_values_that_must_be_absent(answer: Any) -> None:
    fields = [{"path": "mrn", "expected": "4188190"}, {"path": "note", "expected": {"not": "unknown"}}]
    found = check({"fields": fields}, answer)
    assert (found.passed, found.score) == (False, 0.0)
