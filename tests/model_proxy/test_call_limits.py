"""An agent's model calls have limits, for each trial and for the run."""

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import httpx
import pytest

from clerkship.actors.python import PythonSolver
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.model.usage import ModelLimits
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.model_access import ModelAddress
from clerkship.service.planning.options import CallLimitOptions
from clerkship.service.planning.plan import limit_calls
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import RunResult
from clerkship.service.up import PlaygroundRequest, open_playground
from clerkship.settings import Settings, load_settings
from tests.actors.programs import WORK, suite
from tests.model_proxy.desk import CHAT, ModelDesk
from tests.model_proxy.provider import KEY, Call, ModelProvider, Raw
from tests.workbench import CATALOG, Workbench

CALL_COST = (60 * 2.5 + 40 * 1.25 + 10 * 10) / 1_000_000


@pytest.fixture
def provider() -> Iterator[ModelProvider]:
    with ModelProvider("42") as started:
        yield started


@pytest.fixture
def settings(provider: ModelProvider) -> Settings:
    return Settings(openai_base_url=f"{provider.url}/v1", openai_api_key=KEY)


def ask(sandboxes: Sandboxes, **changed: Any) -> int:
    return send(sandboxes.models["openai"], **changed)


def send(address: ModelAddress, **changed: Any) -> int:
    base, key = address
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = Request(f"{base}/chat/completions", json.dumps(CHAT | changed).encode(), headers)
    with urlopen(request) as response:
        return int(json.load(response)["choices"][0]["message"]["content"])


def ask_thrice(task_item: Any, sandboxes: Sandboxes) -> int:
    return max(ask(sandboxes) for _ in range(3))


def ask_once(task_item: Any, sandboxes: Sandboxes) -> int:
    return ask(sandboxes)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (
            {"max_calls_per_trial": 2},
            "has made 2 model calls in this trial, and --max-calls-per-trial allows no more than 2",
        ),
        (
            {"max_total_tokens_per_trial": 200},
            "have used 220 tokens, and --max-total-tokens-per-trial allows no more than 200",
        ),
        (
            {"max_cost_per_trial": 0.0005},
            "have cost $0.0006, and --max-cost-per-trial allows no more than $0.0005",
        ),
    ],
)
def test_trial_fails_at_its_limit_with_the_count(
    bench: Workbench, settings: Settings, provider: ModelProvider, limits: dict[str, Any], message: str
) -> None:
    suite(bench, WORK)
    task_run = bench.run_one(ask_thrice, settings=settings, **limits)
    assert (task_run.ending, task_run.status, task_run.verdict) == ("agent_failed", "completed", "fail")
    assert task_run.agent_error.startswith("the agent")
    assert f"{message}; raise --max-" in task_run.agent_error
    assert len(provider.received) == 2
    refused = [event["payload"] for event in bench.events(task_run) if event["kind"] == "agent.model.called"][-1]
    assert (refused["status"], message in refused["error"]) == (400, True)
    assert task_run.models["agent"].prompt_tokens == 200


def test_model_that_is_the_agent_has_limits(bench: Workbench, settings: Settings, provider: ModelProvider) -> None:
    provider.answers = [Call("finish", {"answer": 42})]
    suite(bench, WORK)
    assert bench.run_one("openai:gpt-4o", settings=settings, max_calls=1).verdict == "pass"
    provider.answers = [Call("look_up", {})]
    task_run = bench.run_one("openai:gpt-4o", settings=settings, max_calls_per_trial=2)
    assert (task_run.ending, task_run.verdict) == ("agent_failed", "fail")
    assert "--max-calls-per-trial allows no more than 2" in task_run.agent_error
    task_run = bench.run_one("openai:gpt-4o", settings=settings, max_calls=2)
    assert (task_run.ending, task_run.verdict) == ("agent_failed", "fail")
    assert "--max-calls allows no more than 2" in task_run.agent_error


def test_limit_that_is_not_reached_changes_nothing(bench: Workbench, settings: Settings) -> None:
    suite(bench, WORK)
    limits = {"max_calls_per_trial": 3, "max_calls": 3, "max_total_tokens": 1000, "max_cost": 1.0}
    assert bench.run_one(ask_thrice, settings=settings, **limits).verdict == "pass"


def test_agent_that_catches_the_refusal_fails_too(bench: Workbench, settings: Settings) -> None:
    def on_task(task_item: Any, sandboxes: Sandboxes) -> int:
        ask(sandboxes)
        with pytest.raises(HTTPError, match="400"):
            ask(sandboxes)
        return 42

    suite(bench, WORK)
    task_run = bench.run_one(on_task, settings=replace(settings, max_calls_per_trial=1))
    assert (task_run.ending, task_run.verdict) == ("agent_failed", "fail")


def test_call_that_fails_does_not_count(bench: Workbench, settings: Settings, provider: ModelProvider) -> None:
    def on_task(task_item: Any, sandboxes: Sandboxes) -> int:
        with pytest.raises(HTTPError, match="503"):
            ask(sandboxes)
        return ask(sandboxes)

    provider.answers = [Raw(503, b"{}"), "42"]
    suite(bench, WORK)
    assert bench.run_one(on_task, settings=settings, max_calls_per_trial=1, max_total_tokens=1000).verdict == "pass"


@pytest.mark.parametrize(
    ("changed", "answer", "limits", "message"),
    [
        ({"model": "llama"}, "42", {"max_cost": 1.0}, "the price of the model `llama` is not known, so --max-cost"),
        ({"model": "llama"}, "42", {"max_cost_per_trial": 1.0}, "so --max-cost-per-trial cannot be applied"),
        ({}, Raw(200, b'{"choices": [{"message": {"content": "1"}}]}'), {"max_cost": 1.0}, "has no token counts"),
        ({}, Raw(200, b'{"choices": [{"message": {"content": "1"}}]}'), {"max_total_tokens": 9}, "--max-total-tokens"),
    ],
)
def test_use_that_cannot_be_counted_is_an_error(  # noqa: PLR0913, PLR0917  (the case, and fixtures)
    bench: Workbench,
    settings: Settings,
    provider: ModelProvider,
    changed: dict[str, Any],
    answer: Any,
    limits: dict[str, Any],
    message: str,
) -> None:
    def on_task(task_item: Any, sandboxes: Sandboxes) -> int:
        return max(ask(sandboxes, **changed) for _ in range(2))

    provider.answers = [answer]
    suite(bench, WORK)
    task_run = bench.run_one(on_task, settings=settings, **limits)
    assert (task_run.status, task_run.verdict) == ("errored", None)
    assert message in str(task_run.error)
    assert len(provider.received) == (0 if changed else 1)


def test_calls_without_a_price_can_be_limited_by_number(bench: Workbench, settings: Settings) -> None:
    suite(bench, WORK)
    agent = lambda task_item, sandboxes: ask(sandboxes, model="llama")  # noqa: E731
    assert bench.run_one(agent, settings=settings, max_calls=5, max_total_tokens=500).verdict == "pass"


def test_run_limit_cancels_trials_that_have_not_begun_and_resume_runs_them(
    bench: Workbench, settings: Settings, provider: ModelProvider
) -> None:
    suite(bench, WORK)
    task_runs = bench.run(ask_once, settings=settings, trials=6, concurrency=1, max_calls=2)
    assert [task_run.status for task_run in task_runs] == ["completed"] * 2 + ["cancelled"] * 4
    assert task_runs[2].error == (
        "the agent has made 2 model calls in this run, and --max-calls allows no more than 2; "
        "`clerkship resume` with a higher --max-calls goes on"
    )
    assert bench.result is not None
    run = bench.result.run
    assert (run.status, bench.exit_code()) == ("cancelled", 130)
    for limit, passed in ((2, 2), (5, 5), (7, 6)):
        result = resume_run(bench, run.id, settings, ask_once, limit)
        assert result.counts.passed == passed
        assert len(provider.received) == passed
    assert (result.run.status, result.exit_code()) == ("completed", 0)


def test_trial_fails_that_calls_beyond_the_limit_of_the_run(
    bench: Workbench, settings: Settings, provider: ModelProvider
) -> None:
    suite(bench, WORK)
    task_runs = bench.run(ask_thrice, settings=settings, trials=3, concurrency=1, max_calls=4)
    assert [task_run.status for task_run in task_runs] == ["completed", "completed", "cancelled"]
    failed = task_runs[1]
    assert (task_runs[0].verdict, failed.verdict, failed.ending) == ("pass", "fail", "agent_failed")
    assert failed.agent_error.startswith(
        "the agent has made 4 model calls in this run, and --max-calls allows no more than 4; raise --max-calls if"
    )
    assert bench.result is not None
    assert len(provider.received) == 4
    resumed = resume_run(bench, bench.result.run.id, settings, ask_thrice, 8)
    assert (resumed.counts.verdicts, resumed.run.status) == ({"pass": 2, "fail": 1}, "completed")
    assert len(provider.received) == 7, "the trial that failed is not run again"


def test_run_whose_last_trial_calls_beyond_its_limit_is_complete(bench: Workbench, settings: Settings) -> None:
    suite(bench, WORK)
    [task_run] = bench.run(ask_thrice, settings=settings, trials=1, max_calls=2)
    assert bench.result is not None
    assert (task_run.ending, bench.result.run.status, bench.exit_code()) == ("agent_failed", "completed", 1)


def test_trials_at_the_same_time_fail_or_are_cancelled(
    bench: Workbench, settings: Settings, provider: ModelProvider
) -> None:
    suite(bench, WORK)
    task_runs = bench.run(ask_once, settings=settings, trials=8, concurrency=4, max_calls=2)
    assert len(provider.received) == 2
    endings = Counter(task_run.ending for task_run in task_runs)
    assert endings["agent_done"] == 2
    assert endings["cancelled"] >= 3
    assert endings["agent_done"] + endings["agent_failed"] + endings["cancelled"] == 8


def resume_run(bench: Workbench, run: str, settings: Settings, agent: Any, max_calls: int) -> RunResult:
    planned = plan_resume(bench.store, run, CATALOG, settings, agent=PythonSolver("agent", agent))
    plan = limit_calls(planned.plan, CallLimitOptions(max_calls=max_calls))
    return resume(replace(planned, plan=replace(plan, concurrency=1)), bench.store, CATALOG)


def test_parallel_calls_never_exceed_a_number(provider: ModelProvider) -> None:
    limits = ModelLimits(max_calls=10, max_calls_per_trial=11)

    def is_answered(desk: ModelDesk) -> bool:
        try:
            return send(desk.openai) == 42
        except HTTPError as error:
            return error.code != 400

    with ModelDesk(provider, limits) as desk, ThreadPoolExecutor(16) as pool:
        answered = list(pool.map(is_answered, [desk] * 40))
    assert (answered.count(True), answered.count(False)) == (10, 30)
    assert len(provider.received) == 10


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("openai/v1/chat/completions", "error"),
        ("openai/v1/responses", "error"),
        ("anthropic/v1/messages", "type"),
        ("gemini/v1beta/models/gemini-2.5-flash:generateContent", "error"),
    ],
)
def test_refusal_has_the_form_of_the_provider_and_is_not_repeated(
    provider: ModelProvider, path: str, field: str
) -> None:
    with ModelDesk(provider, ModelLimits(max_calls_per_trial=1)) as desk:
        desk.post("/chat/completions", CHAT)
        address = desk.openai.base_url.removesuffix("openai/v1") + path
        refused = desk.post(address, {"model": "gpt-4o", "messages": [], "contents": [], "stream": True})
        listed = httpx.get(
            f"{desk.openai.base_url}/models",
            headers={"authorization": f"Bearer {desk.openai.api_key}"},
            trust_env=False,
        )
    assert (refused.status_code, refused.headers["x-should-retry"]) == (400, "false")
    assert field in refused.json()
    assert "--max-calls-per-trial allows no more than 1" in refused.json()["error"]["message"]
    assert listed.status_code == 200  # a list of models asks no model


def test_replayed_calls_count_the_same(bench: Workbench, settings: Settings, provider: ModelProvider) -> None:
    def run(mode: str, **limits: Any) -> TaskRun:
        used = settings if mode == "record" else Settings()
        return bench.run_one(ask_thrice, settings=used, judge="none", tape=mode, **limits)

    suite(bench, WORK)
    assert run("record").verdict == "pass"
    stopped, again = (run("replay", max_cost_per_trial=2 * CALL_COST) for _ in range(2))
    assert (stopped.ending, again.ending) == ("agent_failed", "agent_failed")
    assert "have cost $0.0006, and --max-cost-per-trial allows no more than $0.0006" in stopped.agent_error
    assert list(bench.store.log(stopped)) == list(bench.store.log(again))
    assert run("replay", max_cost=1.0).verdict == "pass"
    assert len(provider.received) == 3


def test_limits_come_from_settings_and_options(bench: Workbench, settings: Settings) -> None:
    given = load_settings({"CLERKSHIP_MAX_COST": "2.5", "CLERKSHIP_MAX_CALLS_PER_TRIAL": "7"})
    assert (given.max_cost, given.max_calls_per_trial) == (2.5, 7)
    with pytest.raises(InputError, match="CLERKSHIP_MAX_COST is 'nan'"):
        load_settings({"CLERKSHIP_MAX_COST": "nan"})
    suite(bench, WORK)
    with pytest.raises(InputError, match="invalid max_calls -1"):
        bench.run("nop", max_calls=-1)
    assert bench.run_one(ask_once, settings=replace(settings, max_calls=0), max_calls=0).verdict == "pass"
    set_by_both = replace(settings, max_calls_per_trial=1)
    assert bench.run_one(ask_thrice, settings=set_by_both).ending == "agent_failed"
    assert bench.run_one(ask_thrice, settings=set_by_both, max_calls_per_trial=0).verdict == "pass"


def test_agent_whose_calls_are_not_seen_cannot_have_limits(bench: Workbench, settings: Settings) -> None:
    suite(bench, WORK)
    with pytest.raises(InputError, match="the model calls of `nop` do not go through the run"):
        bench.run("nop", settings=settings, max_cost=1.0)
    with pytest.raises(InputError, match="do not go through the run"):
        bench.run(ask_once, settings=replace(settings, model_proxy="off"), max_cost=1.0)


def test_running_playground_has_the_limits_of_the_settings(bench: Workbench, settings: Settings) -> None:
    suite(bench, WORK)
    limited = replace(settings, max_calls=1, store=bench.folder / "store.db")
    request = PlaygroundRequest(path=bench.folder, task="Work")
    with open_playground(request, limited, CATALOG) as playground:
        assert send(playground.models["openai"]) == 42
        with pytest.raises(HTTPError, match="400"):
            send(playground.models["openai"])
