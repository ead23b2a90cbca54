"""`votes`: a judge is asked several times, and the majority decides."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel, ValidationError

from clerkship.assertions.judged import JudgedAssertion
from clerkship.events.evidence import Evidence
from clerkship.llm.contract import BadAnswer, ModelAnswer, NoModel, Question
from clerkship.llm.retry import ModelOutage
from clerkship.llm.trial_model import MAX_THREADS, map_concurrently
from tests.assertions.judge import SampledJudge
from tests.assertions.log_builder import LogBuilder

T = TypeVar("T", bound=BaseModel)


def build_evidence(judge: Any) -> Evidence:
    """One turn."""
    log_builder = LogBuilder()
    log_builder.add_message("Why?", actor="person")
    log_builder.add_message("It snows.")
    return replace(log_builder.evidence(), model=judge)


def build_verdict(passed: bool, reasoning: str, quote: str = "It snows.") -> dict[str, Any]:
    """One verdict."""
    return {"passed": passed, "reasoning": reasoning, "citations": [{"where": "T1", "quote": quote}]}


def test_majority_decides_and_detail_has_other_reasons() -> None:
    judge = SampledJudge(
        vote_1=[build_verdict(False, "It is rude.", "snows")],
        vote_2=[build_verdict(True, "It says snow.")],
        vote_3=[build_verdict(True, "Snow it is.")],
    )
    check = JudgedAssertion(statement="x", votes=3).check(build_evidence(judge))
    assert (check.passed, check.score) == (True, 1.0)
    assert check.detail == "2 of 3 votes say it holds: It says snow.; against it: It is rude."
    cited, votes, by = check.evidence
    assert (cited.expected, by.path) == ({"contains": "It snows."}, "judge")
    assert votes.path == "votes"
    assert votes.actual == {
        "for": 2,
        "against": 1,
        "not_cast": 0,
        "each": [
            {"vote": 1, "passed": False, "reasoning": "It is rude."},
            {"vote": 2, "passed": True, "reasoning": "It says snow."},
            {"vote": 3, "passed": True, "reasoning": "Snow it is."},
        ],
    }
    assert sorted(question.sample for question in judge.asked) == ["vote 1", "vote 2", "vote 3"]


def test_unanimous_votes_have_one_reason() -> None:
    judge = SampledJudge(
        vote_1=[build_verdict(False, "No 1.")],
        vote_2=[build_verdict(False, "No 2.")],
        vote_3=[build_verdict(False, "No 3.")],
    )
    check = JudgedAssertion(statement="x", votes=3).check(build_evidence(judge))
    assert (check.passed, check.detail) == (False, "No 1.")


def test_uncast_vote_counts_for_neither_side() -> None:
    judge = SampledJudge(
        vote_1=[ModelOutage("gone")], vote_2=[build_verdict(True, "Yes.")], vote_3=[build_verdict(True, "Snow.")]
    )
    check = JudgedAssertion(statement="x", votes=3).check(build_evidence(judge))
    assert (check.passed, check.detail) == (True, "2 of 3 votes say it holds: Yes.; 1 was not cast")
    assert check.evidence[1].actual["each"][0] == {"vote": 1, "error": "gone"}
    split = SampledJudge(
        vote_1=[ModelOutage("gone")], vote_2=[build_verdict(True, "Yes.")], vote_3=[build_verdict(False, "No.")]
    )
    with pytest.raises(BadAnswer, match="no majority of 3 votes: 1 for it, 1 against it, 1 not cast: gone"):
        JudgedAssertion(statement="x", votes=3).check(build_evidence(split))
    one = SampledJudge(vote_1=[build_verdict(True, "Yes.")], vote_2=[BadAnswer("bad")], vote_3=[NoModel("none")])
    with pytest.raises(BadAnswer, match="no majority of 3 votes: 1 for it, 0 against it, 2 not cast: bad"):
        JudgedAssertion(statement="x", votes=3).check(build_evidence(one))


def test_error_is_raised_if_no_vote_is_cast() -> None:
    judge = SampledJudge(vote_1=[ModelOutage("gone 1")], vote_2=[ModelOutage("gone 2")], vote_3=[BadAnswer("bad")])
    with pytest.raises(ModelOutage, match="gone 1"):
        JudgedAssertion(statement="x", votes=3).check(build_evidence(judge))


def test_each_vote_corrects_its_own_citations() -> None:
    judge = SampledJudge(
        vote_1=[build_verdict(True, "Yes.", "rain"), build_verdict(True, "Yes.")],
        vote_2=[build_verdict(True, "Yes.")],
        vote_3=[
            build_verdict(True, "Yes.", "hail"),
            build_verdict(True, "Yes.", "hail"),
            build_verdict(True, "Yes.", "hail"),
        ],
    )
    check = JudgedAssertion(statement="x", votes=3).check(build_evidence(judge))
    assert check.passed
    assert check.evidence[1].actual["not_cast"] == 1
    assert {question.sample for question in judge.asked if question.talk} == {"vote 1", "vote 3"}


def test_criterion_overrides_votes_of_run() -> None:
    yes = build_verdict(True, "Yes.")
    judge = SampledJudge(vote_1=[yes], vote_2=[yes], vote_3=[yes], once=[yes])
    asked = replace(build_evidence(judge), votes=3)
    assert JudgedAssertion(statement="x").check(asked).passed
    assert len(judge.asked) == 3
    assert JudgedAssertion(statement="x", votes=1).check(asked).passed
    assert (len(judge.asked), judge.asked[-1].sample) == (4, "")


def test_even_number_of_votes_is_rejected() -> None:
    with pytest.raises(ValidationError, match="expected an odd number of votes, so that there is always a majority"):
        JudgedAssertion.model_validate({"statement": "x", "votes": 4})


class BarrierJudge:
    """Answers only when a number of questions have arrived."""

    name = "a meeting"

    def __init__(self, size: int) -> None:
        self._barrier = threading.Barrier(size)

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Wait for all questions, then answer."""
        self._barrier.wait(20)
        return ModelAnswer(question.shape.model_validate(build_verdict(True, "Yes.")), self.name)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Not used."""
        raise NotImplementedError

    def close(self) -> None: ...


def test_votes_are_cast_concurrently() -> None:
    assert JudgedAssertion(statement="x", votes=5).check(build_evidence(BarrierJudge(5))).passed


def test_concurrent_calls_keep_order_and_raise_first_error() -> None:
    assert map_concurrently(lambda n: n * 2, range(3 * MAX_THREADS)) == [n * 2 for n in range(3 * MAX_THREADS)]
    assert map_concurrently(lambda n: n, []) == []
    threads = set[int]()

    def broken(number: int) -> int:
        threads.add(threading.get_ident())
        if number in (2, 5):
            raise ValueError(f"number {number}")
        return number

    with pytest.raises(ValueError, match="number 2"):
        map_concurrently(broken, range(8))
    threads.clear()
    map_concurrently(broken, [1])
    assert threads == {threading.get_ident()}
