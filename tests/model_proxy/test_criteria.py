"""Criteria about the agent's model calls: usage, and what its prompts contain."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.assertions.model_calls import ModelUsage, PromptContains, PromptNeverContains
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import ModelCalled
from clerkship.model.errors import PlatformError
from clerkship.model_proxy import trial_calls
from clerkship.sandbox.assertion import Assertion
from clerkship.settings import Settings
from tests.actors.programs import program
from tests.assertions.log_builder import LogBuilder
from tests.model_proxy.desk import ModelDesk
from tests.model_proxy.provider import KEY, ModelProvider
from tests.workbench import Workbench, written

TASK = """
    environment: {name: desk, simulators: {drop: {kind: files}}}
    task:
      name: Work
      task_item: {instruction: What is six times seven?}
      criteria:
        - {label: usage, assertion: {model_usage: {calls: 2, prompt_tokens: {lte: 200}, cost: {lt: 0.01}}}}
        - {label: too dear, assertion: {model_usage: {cost: {lt: 0.0001}}}}
        - {label: fast, assertion: {model_usage: {slowest_ms: {lt: 20000}}}}
        - {label: has the rule, assertion: {prompt_contains: be BRIEF}}
        - {label: keeps the token, assertion: {prompt_never_contains: "[token of drop]"}}
        - {label: no number, assertion: {prompt_never_contains: {pattern: "\\\\d{3}-\\\\d{2}"}}}
"""
SOURCE = """
from urllib.request import Request, urlopen
message = json.loads(sys.stdin.readline())
def ask(text):
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Be\\u0020brief. " + text}]}
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
    urlopen(Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(), headers)).read()
ask("one")
ask("my token is " + message["sandboxes"]["drop"]["token"])
say({"answer": 42})
"""


@pytest.fixture
def provider() -> Iterator[ModelProvider]:
    with ModelProvider("42") as started:
        yield started


def test_criteria_of_a_run(bench: Workbench, provider: ModelProvider, tmp_path: Path) -> None:
    bench.write("a.yml", TASK)
    settings = Settings(openai_base_url=f"{provider.url}/v1", openai_api_key=KEY)
    task_run = bench.run_one(program(tmp_path, SOURCE), settings=settings)
    results = {criterion.label: criterion.passed for criterion in written(task_run)}
    assert results == {
        "usage": True,
        "too dear": False,
        "fast": True,
        "has the rule": True,
        "keeps the token": False,
        "no number": True,
    }
    [leak] = [criterion for criterion in task_run.criteria if criterion.label == "keeps the token"]
    assert "my token is [token of drop]" in str(leak.evidence[0].actual)
    assert leak.evidence[0].seq is not None


def calls(*requests: str, usage: dict[str, Any] | None = None) -> Evidence:
    """Return the evidence of an agent that sent these requests to a model."""
    log = LogBuilder()
    for request in requests:
        log.add_event(ModelCalled(provider="openai", operation="chat", model="m", status=200, request=request))
    return log.evidence(model_calls={event.seq: usage or {} for event in log.log.events})


def test_agent_without_model_calls_has_used_nothing() -> None:
    check = ModelUsage(calls=0, cost={"lte": 0.1}, slowest_ms={"lt": 1}).check(calls())
    assert check.passed
    assert PromptNeverContains(text="x").check(calls()).detail == "the agent called no model through the run"
    assert not PromptContains(text="x").check(calls()).passed


def test_unknown_cost_is_no_verdict() -> None:
    evidence = calls("{}", usage={"cost": None, "prompt_tokens": 3, "completion_tokens": 1})
    assert ModelUsage(prompt_tokens=3).check(evidence).passed
    with pytest.raises(Exception, match="the cost of 1 of 1 calls is not known; set CLERKSHIP_PRICES"):
        ModelUsage(cost=0).check(evidence)
    with pytest.raises(Exception, match="a replay takes no time"):
        ModelUsage(slowest_ms=0).check(evidence)


@pytest.mark.parametrize(
    "request_body", ['{"a": ["zwölf\\n"]}', '{"x": 1}\n{"b": {"c": "Zw\\u00f6lf"}}', '{"a": "zwölf']
)
def test_text_is_found_however_it_is_escaped(request_body: str) -> None:
    assert PromptContains(text="ZWÖLF").check(calls(request_body)).passed
    assert PromptContains(pattern="(?i)zw.lf").check(calls(request_body)).passed


@pytest.mark.parametrize("assertion", [PromptContains, PromptNeverContains])
def test_request_that_is_stored_in_part_is_no_verdict(
    assertion: type[PromptContains | PromptNeverContains], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_calls, "MAX_LOGGED_BODY", 60)
    with ModelProvider("42") as provider, ModelDesk(provider) as desk:
        desk.post("/chat/completions", {"model": "gpt-4o", "messages": [{"content": f"early {'x' * 60} late"}]})
        [call] = desk.calls
    assert call.request_is_cut
    log = LogBuilder()
    log.add_event(call)
    assert assertion(text="early").check(log.evidence()).passed is (assertion is PromptContains)
    with pytest.raises(PlatformError, match="1 of 1 requests to a model are too long to be stored as a whole"):
        assertion(text="late").check(log.evidence())


@pytest.mark.parametrize(
    ("assertion", "given"), [(ModelUsage, {}), (PromptContains, {}), (PromptContains, {"text": "a", "pattern": "b"})]
)
def test_assertion_without_an_expectation_is_refused(assertion: type[Assertion], given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        assertion.model_validate(given)
