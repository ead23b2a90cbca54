"""Person, judge and agent on a real model. This tests the whole path, not the quality of the answers."""

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from clerkship.actors.contract import Message
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.model_build import build_model
from clerkship.llm.contract import Model, Question
from clerkship.llm.retry import ModelRetryPolicy
from clerkship.model.frozen import Flag
from clerkship.model.model_choice import ModelChoice
from clerkship.model.run import TaskRun
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore
from tests.actors.models import model_at
from tests.small_model import local_model
from tests.workbench import written

pytestmark = pytest.mark.model
SETTINGS = Settings(timeout=900, endpoint_calls=1)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Return the address of the model."""
    try:
        chosen = local_model.choose_model()
        home = local_model.install(chosen)
    except local_model.NoSmallModel as problem:
        pytest.exit(str(problem), returncode=2)
    with local_model.serving(home, chosen) as found:
        yield found


@pytest.fixture
def model(address: str) -> Iterator[Model]:
    """Return a model with short, deterministic answers."""
    parameters = {"temperature": 0, "seed": 7, "max_tokens": 200}
    found = build_model(ModelChoice(who=f"openai:local@{address}", parameters=parameters, timeout=300), SETTINGS)
    assert found is not None
    yield found
    found.close()


class Verdict(BaseModel):
    reasoning: str
    passed: Flag


class Order(BaseModel):
    """A shape with a choice, a list, and a number with bounds."""

    items: Annotated[list[str], Field(min_length=1, max_length=3)]
    urgency: Annotated[str, Field(pattern="^(low|high)$")]
    count: int


@pytest.mark.parametrize("shape", [Verdict, Order])
def test_answers_have_the_shape_by_grammar(model: Model, shape: type[BaseModel]) -> None:
    question = Question("A customer orders two red apples, in a hurry.", shape, "Answer in very few words.", "probe")
    answer = model.ask(question)
    told(f"{shape.__name__}: {answer.data!r}, {answer.usage}")
    assert isinstance(answer.data, shape)
    assert answer.usage.prompt_tokens > 20
    assert 0 < answer.usage.completion_tokens <= 600
    assert answer.usage.cost is None


CONFTEST = """
    simulation:
      llm:
        {provider: self-hosted, model: local, api_base: URL, timeout: 300, max_tokens: 120,
         seed: 7, temperature: 0.3, repeat_penalty: 1.1}
      simulated_user_prompt: person.jinja2
      max_concurrent_llm_calls: 1
    evaluation:
      llm:
        {provider: self-hosted, model: local, api_base: URL, timeout: 300, max_tokens: 200,
         seed: 7, temperature: 0.2, repeat_penalty: 1.3}
      max_concurrent_llm_calls: 1
"""
PERSON = """{{ simulation_context }}
Write the next thing you say as the customer, in one short sentence, as `message`. `done` is false.
"""
JUDGE = """{{ transcript }}

{{ criteria_text }}
Does this hold in the conversation above? Give the reason in one short sentence, and whether it passed.
"""
SCENARIO = """
    scenario:
      name: Order
      simulation_context: >
        You are a customer. You ordered shoes last week and want to know where they are. You are friendly.
      setup:
        PERSON
      goals:
        assertions:
          - bot_uttered: {text_matches: late}
        criteria:
          - The agent says that the order is late
"""


def agent(message: Message) -> str:
    """Return the same reply to every message."""
    return "Your shoes are late by two days. They come on Friday."


def told(text: str) -> None:
    """Print a text for the reader of the test output."""
    sys.stderr.write(f"model: {text}\n")


def played(folder: Path, address: str, person: str, judge: str = "") -> TaskRun:
    """Run the scenario with the models of the conftest."""
    (folder / "eval" / "scenarios").mkdir(parents=True)
    conftest = dedent(CONFTEST).replace("URL", address) + judge
    (folder / "eval" / "conftest.yml").write_text(conftest, encoding="utf-8")
    (folder / "person.jinja2").write_text(PERSON, encoding="utf-8")
    (folder / "judge.jinja2").write_text(JUDGE, encoding="utf-8")
    text = dedent(SCENARIO).replace("PERSON", person)
    (folder / "eval" / "scenarios" / "order.yml").write_text(text, encoding="utf-8")
    store = SqliteStore(folder / "store.db")
    request = RunRequest(path=folder / "eval" / "scenarios", agent=PythonSolver("agent", agent))
    catalog = RegisteredCatalog()
    result = execute(plan_run(request, SETTINGS, catalog), store, catalog)
    [task_run] = store.task_runs(result.run.id)
    told(f"{task_run.status}, {task_run.verdict}, ended by {task_run.ending} {task_run.error}")
    for line in store.log(task_run):
        told(line.decode(errors="replace")[:300])
    for criterion in task_run.criteria:
        told(f"{criterion.label}: {criterion.status}, {criterion.passed}: {criterion.detail[:300]}")
    told(f"asked: {task_run.models}")
    store.close()
    return task_run


def test_model_judges_a_conversation(address: str, tmp_path: Path) -> None:
    task_run = played(tmp_path, address, "person: {lines: [Where are my shoes?]}")
    assert task_run.status == "completed"
    rule, judged = written(task_run)
    assert rule.passed
    # Whatever it finds: a verdict with a reason, or that what it cites is not there. It was asked, and it answered.
    assert judged.detail
    assert task_run.models["judge"].calls >= 1
    assert task_run.models["judge"].completion_tokens > 0
    assert task_run.models["judge"].cost is None


def test_prompt_without_citations_gives_a_verdict(address: str, tmp_path: Path) -> None:
    own = "  criteria_judge_prompt: judge.jinja2\n"
    task_run = played(tmp_path, address, "person: {lines: [Where are my shoes?]}", own)
    _, judged = written(task_run)
    assert (task_run.status, judged.status) == ("completed", "judged")
    assert task_run.verdict in ("pass", "fail")
    assert judged.detail


def test_model_plays_a_person(address: str, tmp_path: Path) -> None:
    task_run = played(tmp_path, address, "max_turns: 2")
    assert task_run.models["person"].calls >= 1
    assert task_run.models["person"].completion_tokens > 0
    # One who does not keep to the role, or finds no end, is found out, and the agent does not answer for it.
    if task_run.status != "completed":
        assert task_run.status == "invalid_person" or "the person could not be played" in task_run.error
        assert task_run.verdict is None


WORK = """
    environment: {name: desk, simulators: {drop: {kind: files}}}
    task:
      name: Note
      task_item: {instruction: "Write the text hello into the file note.txt, then call finish."}
      criteria: [{label: written, assertion: {file_present: {path: note.txt}}}]
"""


def test_model_works_as_an_agent_with_tools(address: str, tmp_path: Path) -> None:
    solver = model_at(address, "local", max_tokens=300, policy=ModelRetryPolicy(timeout=300))
    told(f"asked for a tool call: {solver.probe() or 'it called the tool'}")
    (tmp_path / "work.yml").write_text(dedent(WORK), encoding="utf-8")
    store = SqliteStore(tmp_path / "store.db")
    catalog = RegisteredCatalog()
    result = execute(plan_run(RunRequest(path=tmp_path, agent=solver), SETTINGS, catalog), store, catalog)
    [task_run] = store.task_runs(result.run.id)
    store.close()
    told(f"{task_run.verdict}, {task_run.answer!r}, {task_run.agent_error}, notes: {task_run.notes}")
    assert task_run.status == "completed"
    assert task_run.models["agent"].calls >= 1
