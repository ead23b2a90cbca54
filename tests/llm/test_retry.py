"""Concurrency limits, retries and cancellation of requests to an endpoint."""

import json
import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from pydantic import BaseModel

from clerkship.kit.wall import monotonic
from clerkship.llm.client import Cancellation
from clerkship.llm.contract import Question
from clerkship.llm.hosts import ModelHosts
from clerkship.llm.remote import RemoteModel
from clerkship.llm.retry import MAX_WAIT, EndpointBusy, ModelOutage, ModelRetryPolicy, RequestDeclined
from clerkship.model.frozen import Flag
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import KEY, Busyness, bodies, cut, in_turn, model, refused, said
from tests.waiting import wait_until


class Verdict(BaseModel):
    passed: Flag


GOOD = said('{"passed": true}')
QUESTION = Question("Is it so?", Verdict)


def all_at_once(*work: Callable[[], object]) -> None:
    """Run each function in its own thread, and wait for all."""
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def record_waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the seconds before an attempt is repeated. They are still waited for."""
    waits: list[float] = []
    wait = Cancellation.wait

    def record(cancellation: Cancellation, seconds: float) -> None:
        waits.append(seconds)
        wait(cancellation, seconds)

    monkeypatch.setattr(Cancellation, "wait", record)
    return waits


def asking(asked: RemoteModel) -> Callable[[], object]:
    """Return a question with a valid answer."""
    return lambda: asked.ask(QUESTION)


def test_models_at_one_address_share_limit_and_connections() -> None:
    busy = Busyness(5)
    with Served(busy) as served:
        hosts = ModelHosts(5)
        judge, person = model(served, hosts, name="judge"), model(served, hosts, name="person", at_once=2)
        all_at_once(*[asking(person)] * 20, *[asking(judge)] * 20)  # the endpoint answers once all five are taken
        judge.close()
        person.close()
    assert busy.most[""] == 5
    assert busy.most["person"] == 2
    assert busy.most["judge"] > 2
    assert len({asked.port for asked in served.asked}) <= 5


@pytest.mark.parametrize(
    ("told", "own", "limit"),
    [(None, (None, None), 8), (None, (3, None), 8), (None, (20, None), 20), (None, (20, 10), 30), (4, (20, 10), 4)],
)
def test_endpoint_limit_is_the_configured_one_or_the_sum_of_its_models(
    told: int | None, own: tuple[int | None, ...], limit: int
) -> None:
    with Served(lambda asked: GOOD) as served:
        hosts = ModelHosts(told)
        models = [model(served, hosts, at_once=at_once) for at_once in own]
        assert hosts.get_limit(f"{served.url}/v1/elsewhere").at_once == limit
        for one in models:
            one.close()


def test_more_connections_than_the_httpx_default_stay_open() -> None:
    busy = Busyness(40)
    with Served(busy) as served:
        asked = model(served, at_once=40)
        all_at_once(*[asking(asked)] * 40)
        all_at_once(*[asking(asked)] * 40)
        asked.close()
    assert busy.most[""] == 40
    assert len({asked.port for asked in served.asked}) <= 40


@pytest.mark.parametrize("in_words", [False, True])
def test_retry_after_header_is_respected(in_words: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    delays = record_waits(monkeypatch)

    def answer(asked: Asked) -> Answered:
        if len(served.asked) > 1:
            return GOOD
        later = datetime.now(UTC) + timedelta(seconds=2)
        return refused(429, "slow down", **{"Retry-After": format_datetime(later, usegmt=True) if in_words else "1"})

    with Served(answer) as served:
        asked = model(served)
        asked.ask(QUESTION)
        asked.close()
    [delay] = [delay for delay in delays if delay > 0.5]
    assert 0.9 <= delay <= 2.2  # with a jitter of a tenth; a date has no fractions of a second


def test_rate_limit_pauses_other_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    delays = record_waits(monkeypatch)
    first = threading.Event()

    def answer(asked: Asked) -> Answered:
        if len(served.asked) == 1:
            first.set()
            return refused(429, "slow down", **{"Retry-After": "1"})
        return GOOD

    with Served(answer) as served:
        asked = model(served, at_once=4)

        def later() -> None:
            assert first.wait(20)
            asked.ask(QUESTION)

        all_at_once(asking(asked), later)
        asked.close()
    assert len(served.asked) == 3
    assert any(delay >= 1 for delay in delays)


def test_requests_that_wait_for_a_slot_are_paused_too() -> None:
    times: list[float] = []
    waiting = threading.Event()

    def answer(asked: Asked) -> Answered:
        is_first = len(served.asked) == 1
        if is_first:
            assert waiting.wait(20)
        times.append(monotonic())
        return refused(429, "slow down", **{"Retry-After": "1"}) if is_first else GOOD

    with Served(answer) as served:
        asked = model(served, ModelHosts(1))
        threads = [threading.Thread(target=asking(asked)) for _ in range(4)]
        for thread in threads:
            thread.start()
        wait_until(lambda: served.asked)
        waiting.set()
        for thread in threads:
            thread.join(20)
        asked.close()
    rejected, *later = times
    assert len(later) == 4
    assert min(later) - rejected >= 0.95


def test_waiting_request_releases_its_slot() -> None:
    failing = threading.Event()

    def answer(asked: Asked) -> Answered:
        first = len(served.asked) == 1
        failing.set()
        return refused(500, "broken") if first else GOOD

    with Served(answer) as served:
        hosts = ModelHosts(1)
        unlucky, lucky = model(served, hosts, name="unlucky", backoff=2), model(served, hosts, name="lucky")

        def other() -> None:
            assert failing.wait(20)
            lucky.ask(QUESTION)

        all_at_once(asking(unlucky), other)
        unlucky.close()
        lucky.close()
    assert [body["model"] for body in bodies(served)] == ["unlucky", "lucky", "unlucky"]


def test_long_retry_after_is_an_outage() -> None:
    with Served(lambda asked: refused(429, "quota", **{"Retry-After": "3600"})) as served:
        asked = model(served)
        with pytest.raises(ModelOutage, match=r"quota \(Retry-After: 3,600 seconds\), in 1 attempt at http"):
            asked.ask(QUESTION)
        asked.close()


def test_exhausted_quota_is_not_retried() -> None:
    data = json.dumps({"error": {"message": "no money", "code": "insufficient_quota"}}).encode()
    with Served(lambda asked: (429, {}, data)) as served:
        asked = model(served)
        with pytest.raises(ModelOutage, match="the quota for model `some-model` is used up: no money"):
            asked.ask(QUESTION)
        asked.close()
    assert len(served.asked) == 1


def test_rate_limited_requests_are_retried_longer_than_failed_ones() -> None:
    with Served(lambda asked: refused(429, "slow down", **{"Retry-After": "0"})) as served:
        asked = model(served)
        with pytest.raises(ModelOutage, match="status 429: slow down, in 10 attempts"):
            asked.ask(QUESTION)
        asked.close()
    assert len(served.asked) == 10


@pytest.mark.parametrize(
    "trouble",
    [
        None,
        cut(GOOD, 20),
        (200, {}, GOOD[2][:20]),
        refused(408, "slow"),
        refused(409, "conflict"),
        refused(425, "early"),
        refused(500, "broken"),
        refused(502, "<html>bad gateway</html>"),
        refused(503, "overloaded"),
        refused(529, "overloaded"),
    ],
)
def test_temporary_failures_are_retried(trouble: Answered | None) -> None:
    with Served(in_turn([trouble, trouble, GOOD])) as served:
        asked = model(served)
        assert asked.ask(QUESTION).data.passed
        asked.close()
    assert len(served.asked) == 3


def test_stalled_answer_times_out() -> None:
    with Served(lambda asked: cut(GOOD, 20, hangs=True)) as served:
        asked = model(served, answer_timeout=0.05)
        with pytest.raises(
            ModelOutage, match=r"no answer in time \(0.05 seconds; --model-timeout allows more\), in 4 attempts"
        ):
            asked.ask(QUESTION)
        asked.close()


def test_outage_lists_every_reason() -> None:
    answers = [refused(500, "broken"), refused(500, "broken"), refused(502, "gateway"), cut(GOOD, 10)]
    with Served(in_turn(answers)) as served:
        asked = model(served)
        with pytest.raises(ModelOutage) as outage:
            asked.ask(QUESTION)
        asked.close()
    assert "in 4 attempts (before that: status 500: broken; status 502: gateway) at http" in str(outage.value)


def test_waits_grow_and_have_jitter() -> None:
    policy, busy = ModelRetryPolicy(backoff=1.0), EndpointBusy("x")
    for failed, about in ((1, 1.0), (2, 2.0), (3, 4.0)):
        waits = [policy.wait(failed, busy) for _ in range(200)]
        assert 0.5 * about <= min(waits) < 0.8 * about
        assert 1.2 * about < max(waits) <= 1.5 * about
    told = [policy.wait(1, EndpointBusy("x", 10.0)) for _ in range(200)]
    assert min(told) >= 10
    assert 10.5 < max(told) <= 11
    assert policy.wait(50, busy) <= MAX_WAIT * 1.5


def called_off(asked: RemoteModel, over: threading.Event) -> Callable[[], object]:
    """Ask a question that is never answered."""

    def ask() -> None:
        with pytest.raises(ModelOutage, match="was cancelled"):
            asked.ask(QUESTION)
        over.set()

    return ask


def test_closing_cancels_only_the_models_own_waiting_requests() -> None:
    here, go_on, over = threading.Event(), threading.Event(), [threading.Event() for _ in range(3)]

    def answer(asked: Asked) -> Answered:
        if b"leaving" in asked.body:
            return refused(500, "broken")
        here.set()
        go_on.wait(20)
        return GOOD

    with Served(answer) as served:
        hosts = ModelHosts(1)
        leaving, staying = model(served, hosts, name="leaving", backoff=30), model(served, hosts, name="staying")
        begun = threading.Thread(target=called_off(leaving, over[0]))
        begun.start()
        stays = threading.Thread(target=asking(staying))
        stays.start()
        assert here.wait(20)  # and has the one slot, so that whoever else leaves waits for it
        waiting = threading.Thread(target=called_off(leaving, over[1]))
        waiting.start()
        leaving.close()
        for thread in (begun, waiting):
            thread.join(20)
        assert not begun.is_alive()
        assert not waiting.is_alive()
        assert over[0].is_set()
        assert over[1].is_set()
        assert stays.is_alive()
        go_on.set()
        stays.join(20)
        assert staying.ask(QUESTION).data.passed
        staying.close()
        with pytest.raises(ModelOutage, match="was cancelled"):
            staying.ask(QUESTION)


@pytest.mark.parametrize("trouble", [refused(401, f"bad key {KEY}"), refused(500, f"bad {KEY}"), None])
def test_key_is_not_shown_or_logged(trouble: Answered | None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Served(lambda asked: trouble) as served:
        asked = model(served)
        with pytest.raises((ModelOutage, RequestDeclined)) as wrong:
            asked.ask(QUESTION)
        asked.close()
    assert KEY not in caplog.text + repr(wrong.value) + str(wrong.value)
