"""Requests that are sent again: counted by reason, and not part of a recording."""

import threading
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import BaseModel

from clerkship.llm.contract import BadAnswer, Question
from clerkship.llm.retry import ModelOutage
from clerkship.llm.trial_model import TrialModel, UsageCounter
from clerkship.model.usage import Usage, read_agent_usage
from clerkship.recording.cassette import Cassette
from clerkship.recording.recorded_model import RecordedModel
from clerkship.recording.session import RecordingSession
from clerkship.report.costs import render_usage
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import in_turn, model, refused, said


class Verdict(BaseModel):
    """The shape of the answers."""

    passed: bool


QUESTION = Question("Did it?", Verdict)
GOOD = said('{"passed": true}')
WRONG = said("It did, I think.")


def test_each_reason_is_counted() -> None:
    answers = [refused(429, "slow down", **{"Retry-After": "0"}), WRONG, refused(500, "broken"), GOOD]
    with Served(in_turn(answers)) as served, closing(model(served)) as asked:
        usage = asked.ask(QUESTION).usage
    assert usage.retries == {"invalid answer": 1, "rate limit": 1, "server error": 1}
    assert usage.calls == 2
    assert render_usage(usage).endswith("3 sent again (1 invalid answer, 1 rate limit, 1 server error)")


def test_timeouts_are_counted() -> None:
    release, asked_before = threading.Event(), list[Asked]()

    def answer(request: Asked) -> Answered:
        asked_before.append(request)
        if len(asked_before) == 1:
            release.wait(20)
        return GOOD

    with Served(answer) as served, closing(model(served, answer_timeout=0.5)) as asked:
        usage = asked.ask(QUESTION).usage
        release.set()
    assert usage.retries["timeout"] >= 1


def test_question_without_an_answer_counts_its_retries() -> None:
    usage = UsageCounter()
    with Served(lambda request: WRONG) as served, closing(model(served)) as asked, pytest.raises(BadAnswer):
        TrialModel(asked, "judge", 1, usage).ask(QUESTION)
    busy = refused(500, "broken")
    with Served(lambda request: busy) as served, closing(model(served)) as asked, pytest.raises(ModelOutage):
        TrialModel(asked, "judge", 1, usage).ask(QUESTION)
    assert usage.used()["judge"].retries == {"invalid answer": 2, "server error": 3}


def test_recording_run_shows_its_retries_and_the_cassette_has_none(tmp_path: Path) -> None:
    file = tmp_path / "c.jsonl"
    session = RecordingSession("record", {"t": file})
    with Served(in_turn([WRONG, GOOD])) as served, closing(model(served)) as asked:
        recorded = RecordedModel(session, asked, "judge", ("t", 1))
        assert recorded.ask(QUESTION).usage.retries == {"invalid answer": 1}
    session.save()
    [entry] = Cassette.load(file).entries.values()
    assert entry.usage == Usage(calls=2, prompt_tokens=14, completion_tokens=6, cost=None)  # type: ignore[union-attr]


def test_usage_of_an_agent_is_read_only_if_it_is_one() -> None:
    given = {"model": "small", "calls": 2, "prompt_tokens": 5, "retries": {"timeout": 1}}
    assert read_agent_usage(given) == Usage(calls=2, prompt_tokens=5, cost=None, retries={"timeout": 1})
    assert read_agent_usage("many") is None
    assert read_agent_usage({"calls": "many"}) is None
