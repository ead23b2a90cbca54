"""Agents of all kinds get the addresses of models from their run."""

import json
from collections.abc import Iterator
from pathlib import Path
from socket import socket
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from clerkship.model.run import TaskRun
from clerkship.report.detail import parse_detail
from clerkship.report.trial_card import build_body
from clerkship.sandbox.handle import Sandboxes
from clerkship.settings import Settings
from tests.actors.programs import WORK, program, suite
from tests.actors.servers import Answered, Asked, Served
from tests.model_proxy.desk import CHAT
from tests.model_proxy.provider import KEY, ModelProvider
from tests.workbench import Workbench

ASK = f"""
from urllib.request import Request, urlopen
def ask(base, key):
    data = json.dumps({CHAT!r}).encode()
    headers = {{"Authorization": "Bearer " + key, "Content-Type": "application/json"}}
    reply = json.load(urlopen(Request(base + "/chat/completions", data, headers)))
    return int(reply["choices"][0]["message"]["content"])
"""
PROGRAM = (
    ASK
    + """
say({"answer": ask(os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"])})
"""
)


@pytest.fixture
def provider() -> Iterator[ModelProvider]:
    with ModelProvider("42") as started:
        yield started


@pytest.fixture
def settings(provider: ModelProvider, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return Settings(openai_base_url=f"{provider.url}/v1", openai_api_key=KEY)


def check(bench: Workbench, task_run: TaskRun) -> None:
    """Check that the run passed, has the call in its log, and no secret anywhere."""
    assert (task_run.verdict, task_run.agent_error) == ("pass", "")
    kinds = bench.kinds(task_run)
    assert kinds.count("agent.model.called") == 1
    assert kinds.index("agent.model.called") < kinds.index("agent.answered")
    used = task_run.models["agent"]
    assert (used.calls, used.prompt_tokens, used.completion_tokens) == (1, 100, 10)
    assert used.cost == pytest.approx((60 * 2.5 + 40 * 1.25 + 10 * 10) / 1_000_000)
    stored = b"".join(bench.store.log(task_run))
    assert KEY.encode() not in stored
    assert b"clk_mdl" not in stored


def ask(base_url: str, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with urlopen(Request(f"{base_url}/chat/completions", json.dumps(CHAT).encode(), headers)) as response:
        return int(json.load(response)["choices"][0]["message"]["content"])


def test_program_gets_variables(bench: Workbench, settings: Settings, tmp_path: Path) -> None:
    suite(bench, WORK)
    check(bench, bench.run_one(program(tmp_path, PROGRAM), settings=settings))


@pytest.mark.parametrize("in_process", [False, True])
def test_proxy_for_http_is_not_used_for_the_run(
    bench: Workbench, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_process: bool
) -> None:
    with socket() as unused:  # bound, but not listening: what goes there is refused
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{unused.getsockname()[1]}")
        monkeypatch.setenv("NO_PROXY", "intranet.example")
        monkeypatch.delenv("no_proxy", raising=False)
        suite(bench, WORK)
        if in_process:
            called = (
                "def on_task(task_item):\n    return ask(os.environ['OPENAI_BASE_URL'], os.environ['OPENAI_API_KEY'])\n"
            )
            (tmp_path / "proxied.py").write_text(f"import json, os\n{ASK}{called}", encoding="utf-8")
            monkeypatch.syspath_prepend(str(tmp_path))
            check(bench, bench.run_one("python:proxied:on_task", settings=settings, agent_process=True))
        else:
            check(bench, bench.run_one(program(tmp_path, PROGRAM), settings=settings))


def test_call_without_the_token_is_no_action_of_the_agent(bench: Workbench, settings: Settings) -> None:
    def on_task(task_item: Any, sandboxes: Sandboxes) -> None:
        with pytest.raises(HTTPError, match="401"):
            ask(sandboxes.models["openai"].base_url, "wrong")

    suite(bench, WORK)
    first, second = (bench.run_one(on_task, settings=settings) for _ in range(2))
    assert bench.kinds(first).count("sandbox.refused") == 1
    assert first.verdict == "fail"
    assert next(run for run in first.criteria if run.assertion == "agent_acted").passed is False
    assert list(bench.store.log(first)) == list(bench.store.log(second))


def test_function_gets_addresses(bench: Workbench, settings: Settings) -> None:
    def on_task(task_item: Any, sandboxes: Sandboxes) -> int:
        return ask(*sandboxes.models["openai"])

    suite(bench, WORK)
    check(bench, bench.run_one(on_task, settings=settings))


def test_agent_behind_an_address_gets_them_with_the_task(bench: Workbench, settings: Settings) -> None:
    def answer(asked: Asked) -> Answered:
        given = json.loads(asked.body)["models"]["openai"]
        answered = {"answer": ask(given["base_url"], given["api_key"])}
        return 200, {"Content-Type": "application/json"}, json.dumps(answered).encode()

    suite(bench, WORK)
    with Served(answer) as served:
        check(bench, bench.run_one(f"http:{served.url}", settings=settings))


def test_python_agent_in_a_process_gets_variables_and_addresses(
    bench: Workbench, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "import json, os\n"
        + ASK
        + (
            "KEY = os.environ['OPENAI_API_KEY']\n"
            "def on_task(task_item, sandboxes):\n"
            "    assert sandboxes.models['openai'].api_key == KEY\n"
            "    return ask(os.environ['OPENAI_BASE_URL'], KEY)\n"
        )
    )
    (tmp_path / "own_models.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    suite(bench, WORK)
    check(bench, bench.run_one("python:own_models:on_task", settings=settings, agent_process=True))


def test_trials_at_the_same_time_have_their_own_tokens(
    bench: Workbench, settings: Settings, provider: ModelProvider, tmp_path: Path
) -> None:
    suite(bench, WORK)
    task_runs = bench.run(program(tmp_path, PROGRAM), settings=settings, trials=4, concurrency=4)
    for task_run in task_runs:
        check(bench, task_run)
    assert len(provider.received) == 4


@pytest.mark.parametrize(
    "changed", [{"model_proxy": "off"}, {"openai_api_key": "", "openai_base_url": Settings.openai_base_url}]
)
def test_program_keeps_its_variables_without_a_proxy(
    bench: Workbench, settings: Settings, tmp_path: Path, changed: dict[str, str]
) -> None:
    suite(bench, WORK)
    source = f'say({{"answer": 42 if os.environ["OPENAI_API_KEY"] == {KEY!r} else 0}})'
    given = Settings(**{"openai_api_key": KEY, **changed})  # type: ignore[arg-type]
    task_run = bench.run_one(program(tmp_path, source), settings=given)
    assert task_run.verdict == "pass"
    assert "agent.model.called" not in bench.kinds(task_run)


def test_report_and_log_show_each_call_with_its_cost(bench: Workbench, settings: Settings, tmp_path: Path) -> None:
    suite(bench, WORK)
    task_run = bench.run_one(program(tmp_path, PROGRAM), settings=settings)
    sidecar = bench.store.sidecar(task_run)
    detail = parse_detail(task_run, bench.store.log(task_run), sidecar, bench.store.blob)
    [line] = [event["line"] for event in detail.events if event["kind"] == "agent.model.called"]
    assert line.startswith("chat gpt-4o-2024-08-06 → 200, stop, 100 tokens in, 10 out, $0.00030, ")
    assert "model_calls" not in json.dumps(build_body(detail)["facts"])


def test_call_that_the_agent_does_not_wait_for_is_logged(
    bench: Workbench, settings: Settings, provider: ModelProvider, tmp_path: Path
) -> None:
    from tests.model_proxy.provider import Raw  # noqa: PLC0415

    events = b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n'
    provider.answers = [Raw(200, events, "text/event-stream", promised=10_000_000, stall=60)]
    source = f"""
from urllib.request import Request, urlopen
data = json.dumps({{**{CHAT!r}, "stream": True}}).encode()
headers = {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}}
urlopen(Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", data, headers)).readline()
say({{"answer": 42}})
"""
    suite(bench, WORK)
    task_run = bench.run_one(program(tmp_path, source), settings=settings)
    assert task_run.verdict == "pass"
    [called] = [event for event in bench.events(task_run) if event["kind"] == "agent.model.called"]
    assert called["payload"]["error"]


def test_agent_without_a_provider_is_told_what_to_set(bench: Workbench) -> None:
    def agent(task_item: Any, sandboxes: Any) -> Any:
        return sandboxes.models["anthropic"]

    suite(bench, WORK)
    task_run = bench.run_one(agent)
    assert "the run has no key of anthropic, so model calls cannot go through it; set ANTHROPIC_API_KEY" in (
        task_run.agent_error
    )
