"""A run that is stopped while a model judges keeps the log, and the trial is run again."""

import threading
from collections.abc import Sequence
from typing import TypeVar

import pytest
from pydantic import BaseModel

from clerkship.actors.python import PythonSolver
from clerkship.engine.batch import TrialBatch
from clerkship.engine.build import build_tasks
from clerkship.engine.models import ModelSelection
from clerkship.engine.spec import BatchContext, FinishedTrial, TrialSpec
from clerkship.llm.contract import ModelAnswer, Question
from clerkship.llm.retry import ModelOutage
from clerkship.playground.gateway import Gateway
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench

T = TypeVar("T", bound=BaseModel)
SCENARIO = """
    scenario:
      name: A
      simulation_context: x
      setup: {person: {lines: [Hi]}}
      goals: {criteria: [It greets, It is kind]}
"""


class SlowModel:
    """A model that never answers until it is closed."""

    name = "slow"

    def __init__(self) -> None:
        self.asked, self.home = threading.Event(), threading.Event()

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        self.asked.set()
        if not self.home.wait(20):
            pytest.fail("nobody sent it home")
        raise ModelOutage("it was sent home")

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise NotImplementedError

    def close(self) -> None:
        self.home.set()


def test_trial_stopped_while_judged_is_stored_as_cancelled_with_its_log(bench: Workbench) -> None:
    bench.write("a.yml", SCENARIO)
    solver = PythonSolver("agent", lambda message: "hello")
    plan = plan_run(RunRequest(path=bench.folder, agent=solver, judge="none"), Settings(), CATALOG)
    [built] = build_tasks(plan.snapshots, plan.datasets, CATALOG)
    stored: list[FinishedTrial] = []
    model = SlowModel()
    setting = BatchContext(solver, Gateway(), lambda: "", models=ModelSelection(judge=model))
    batch = TrialBatch([TrialSpec(built, "run", 0)], setting, 1, stored.extend)

    def stop() -> None:
        model.asked.wait(20)
        batch.stop()

    stopper = threading.Thread(target=stop)
    stopper.start()
    batch.run()
    stopper.join(60)
    [finished] = stored
    task_run = finished.task_run
    assert batch.cancelled
    assert (task_run.status, task_run.verdict, task_run.criteria) == ("cancelled", None, ())
    assert b'"text":"hello"' in finished.log
