"""The time of a model that plays a person is not the agent's time, delays nothing else, and can be interrupted."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
import pytest
from pydantic import BaseModel

from clerkship.actors.contract import Message, Solver
from clerkship.actors.python import PythonSolver
from clerkship.engine.batch import TrialBatch
from clerkship.engine.build import build_tasks
from clerkship.engine.models import ModelSelection
from clerkship.engine.spec import BatchContext, FinishedTrial, TrialSpec
from clerkship.llm.contract import ModelAnswer, Question
from clerkship.llm.retry import ModelOutage
from clerkship.model.run import ModelOptions
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench

T = TypeVar("T", bound=BaseModel)
SCENARIO = "scenario: {name: A, simulation_context: You want tea.}"
TASK = """
    environment: {name: e, simulators: {chat: {kind: chat}}}
    task:
      name: A
      environment: e
      task_item: {instruction: Ask them.}
      timeout: 5
      scenario: {person: {simulation_context: You want tea., sandbox: chat}}
"""
SCRIPTED = """
    environment: {name: f, simulators: {chat: {kind: chat}}}
    task: {name: B, environment: f, scenario: {person: {fallback: Hm.}}}
"""


class SlowModel:
    """A model that runs a callback before each answer."""

    name = "thinker"

    def __init__(self, first: Callable[[], object], message: str = "Tea, please.", *, done: bool = False) -> None:
        self._first, self._message, self._done = first, message, done
        self._said = 0
        self.closed = threading.Event()

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        self._first()
        self._said += 1
        again = f" And that is {self._said}." if self._said > 2 else ""
        answer = {"message": f"{self._message}{again}", "done": self._done}
        return ModelAnswer(question.shape.model_validate(answer), self.name)

    def embed(self, texts: Any) -> list[list[float]]:
        raise NotImplementedError

    def close(self) -> None:
        self.closed.set()


@contextmanager
def build_context(solver: Solver, models: ModelSelection) -> Iterator[BatchContext]:
    gateway = Gateway()
    listener = open_http(gateway)
    try:
        yield BatchContext(solver, gateway, listener.url, models=models)
    finally:
        listener.close()


def batch(
    bench: Workbench, within: BatchContext, stored: list[FinishedTrial], trials: int = 1, **requests: Any
) -> TrialBatch:
    request = RunRequest(path=bench.folder, agent=within.solver, person="openai:none@http://127.0.0.1:1/v1", **requests)
    plan = plan_run(request, Settings(timeout=requests.get("timeout", 20)), CATALOG)
    built = build_tasks(plan.snapshots, plan.datasets, CATALOG)
    jobs = [TrialSpec(task, "run", 0, trial) for task in built for trial in range(1, trials + 1)]
    return TrialBatch(jobs, within, 8, stored.extend)


def run_until(running: TrialBatch, requests: threading.Event) -> None:
    def stop() -> None:
        requests.wait(20)
        running.stop()

    stopper = threading.Thread(target=stop)
    stopper.start()
    running.run()
    stopper.join(60)


def test_time_of_the_model_does_not_count_against_limits_of_the_agent(bench: Workbench) -> None:
    bench.write("a.yml", SCENARIO)
    solver = PythonSolver("agent", lambda message: "Anything else?")
    stored: list[FinishedTrial] = []
    with build_context(solver, ModelSelection(person=SlowModel(lambda: time.sleep(0.5)))) as within:
        batch(bench, within, stored, timeout=1, turn_timeout=0.4, max_turns=3).run()
    [finished] = stored
    assert (finished.task_run.ending, finished.task_run.error) == ("turn_limit", "")


def test_time_of_the_agent_still_counts(bench: Workbench) -> None:
    bench.write("a.yml", SCENARIO)

    def slow(message: Message) -> str:
        time.sleep(0.15)
        return "Anything else?"

    stored: list[FinishedTrial] = []
    with build_context(
        PythonSolver("agent", slow), ModelSelection(person=SlowModel(lambda: time.sleep(0.05)))
    ) as within:
        batch(bench, within, stored, timeout=0.4, max_turns=30).run()
    assert stored[0].task_run.status == "timed_out"


def post(sandboxes: Any, text: str) -> Any:
    box = sandboxes["chat"]
    headers = {"authorization": f"Bearer {box.token}"}
    with httpx.Client(base_url=box.url, headers=headers, timeout=20) as client:
        client.post("/messages", json={"text": text}).raise_for_status()
        return client.get("/messages").json()["messages"]


def test_played_person_answers_over_http_and_in_process(bench: Workbench) -> None:
    bench.write("a.yml", TASK)

    class Asks:
        def on_task(self, task_item: Any, sandboxes: Any) -> Any:
            over_http = post(sandboxes, "Tea or coffee?")
            return [over_http[-1]["text"], sandboxes["chat"].say("Sugar?")[-1]["text"]]

    stored: list[FinishedTrial] = []
    with build_context(PythonSolver("agent", Asks), ModelSelection(person=SlowModel(lambda: None))) as within:
        batch(bench, within, stored).run()
    assert stored[0].task_run.answer == ["Tea, please.", "Tea, please."]
    assert stored[0].task_run.ending == "agent_done"


def test_person_contacted_by_the_agent_may_answer_and_leave(bench: Workbench) -> None:
    bench.write("a.yml", TASK)

    class Asks:
        def on_task(self, task_item: Any, sandboxes: Any) -> Any:
            chat = sandboxes["chat"]
            answer = chat.say("Tea or coffee?")[-1]["text"]
            chat.say("It is coming.")
            return [answer, chat.is_open]

    stored: list[FinishedTrial] = []
    with build_context(
        PythonSolver("agent", Asks), ModelSelection(person=SlowModel(lambda: None, done=True))
    ) as within:
        batch(bench, within, stored).run()
    assert stored[0].task_run.answer == ["Tea, please.", False]
    assert stored[0].task_run.status == "completed"


def test_agent_that_continues_after_the_model_failed_is_not_blamed(bench: Workbench) -> None:
    bench.write("a.yml", TASK)

    class Asks:
        def on_task(self, task_item: Any, sandboxes: Any) -> Any:
            sandboxes["chat"].say("Tea or coffee?")
            sandboxes["chat"].say("Hello?")  # refused: nobody is there any more, and the agent crashes on it

    stored: list[FinishedTrial] = []
    model = SlowModel(lambda: None, "As an AI, I drink nothing.")
    with build_context(PythonSolver("agent", Asks), ModelSelection(person=model)) as within:
        batch(bench, within, stored).run()
    task_run = stored[0].task_run
    assert (task_run.status, task_run.verdict) == ("invalid_person", None)
    assert "not_open" in task_run.agent_error


def test_waiting_for_a_model_does_not_delay_other_trials(bench: Workbench) -> None:
    bench.write("a/a.yml", TASK)
    bench.write("b/b.yml", SCRIPTED)
    thinking, served = threading.Event(), threading.Event()

    def think() -> None:
        thinking.set()
        assert served.wait(20), "the other was not served meanwhile"

    class Asks:
        def on_task(self, task_item: Any, sandboxes: Any) -> Any:
            if task_item:
                return post(sandboxes, "Tea or coffee?")[-1]["text"]
            assert thinking.wait(20)
            results = post(sandboxes, "Hello?")[-1]["text"]
            served.set()
            return results

    stored: list[FinishedTrial] = []
    with build_context(PythonSolver("agent", Asks), ModelSelection(person=SlowModel(think))) as within:
        batch(bench, within, stored).run()
    assert {finished.task_run.task: finished.task_run.answer for finished in stored} == {
        "A": "Tea, please.",
        "B": "Hm.",
    }


@pytest.mark.parametrize("files", [SCENARIO, TASK])
def test_run_stopped_while_a_model_plays_is_stored_as_cancelled(bench: Workbench, files: str) -> None:
    bench.write("a.yml", files)
    requests = threading.Event()

    class Agent:
        def on_turn(self, message: Message) -> str:
            return "Hello"

        def on_task(self, task_item: Any, sandboxes: Any) -> Any:
            return post(sandboxes, "Tea or coffee?")

    def think() -> None:
        requests.set()
        assert model.closed.wait(20), "nobody sent it home"
        raise ModelOutage("it was sent home")

    model = SlowModel(think)
    stored: list[FinishedTrial] = []
    with build_context(PythonSolver("agent", Agent), ModelSelection(person=model)) as within:
        running = batch(bench, within, stored)
        run_until(running, requests)
    [finished] = stored
    assert (finished.task_run.status, finished.task_run.verdict) == ("cancelled", None)
    assert finished.log


@pytest.mark.parametrize("files", [SCENARIO, TASK])
def test_unavailable_model_errors_the_run(bench: Workbench, files: str) -> None:
    bench.write("a.yml", files)

    def think() -> None:
        raise ModelOutage("no answer in 4 attempts")

    class Agent:
        def on_turn(self, message: Message) -> str:
            return "Hello"

        def on_task(self, task_item: Any, sandboxes: Any) -> Any:
            return sandboxes["chat"].say("Tea or coffee?")

    stored: list[FinishedTrial] = []
    with build_context(PythonSolver("agent", Agent), ModelSelection(person=SlowModel(think))) as within:
        batch(bench, within, stored).run()
    task_run = stored[0].task_run
    assert (task_run.status, task_run.verdict) == ("errored", None)
    assert task_run.error == "the person could not be played: no answer in 4 attempts"


def test_run_stopped_during_the_person_check_is_cancelled(bench: Workbench) -> None:
    bench.write("a.yml", SCENARIO)
    requests = threading.Event()

    def judge_it() -> None:
        requests.set()
        assert judge.closed.wait(20), "nobody sent it home"
        raise ModelOutage("it was sent home")

    judge = SlowModel(judge_it)
    models = ModelSelection(judge=judge, person=SlowModel(lambda: None), asking=ModelOptions(checks_person=True))
    stored: list[FinishedTrial] = []
    with build_context(PythonSolver("agent", lambda message: "Anything else?"), models) as within:
        running = batch(bench, within, stored, max_turns=2)
        run_until(running, requests)
    assert stored[0].task_run.status == "cancelled"
