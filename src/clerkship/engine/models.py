"""Who is asked in a run what no rule decides, and by whom in which trial."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import cast

from pydantic import JsonValue

from clerkship.actors.contract import Agent, Informed, Solver
from clerkship.actors.recorded import RecordedSolver
from clerkship.engine.build import expanded
from clerkship.llm.asker import Asker, Tally
from clerkship.llm.contract import Model
from clerkship.llm.prompts import Prompts
from clerkship.model.run import Asking, TaskRun
from clerkship.model.scenario import Person
from clerkship.model.snapshot import Snapshot
from clerkship.model.task import Task
from clerkship.model.usage import Role
from clerkship.recording.recorded_agent import RecordedAgent, RecordingAgent, Story
from clerkship.recording.session import Spot, Tapes
from clerkship.sandbox.direct_call import CallRecord
from clerkship.sandbox.exchange import Request

Overhear = Callable[[Callable[[str, Request | CallRecord], None]], None]
"""Has somebody told of each request to a sandbox."""


@lru_cache
def _is_informed(solver: type[Solver]) -> bool:
    """Tell whether solvers of a class are given the task; asked once for each, because checking a protocol is slow."""
    return issubclass(solver, Informed)


@dataclass(frozen=True)
class Models:
    """Everybody who is asked in a run, ready to be."""

    judge: Model | None = None
    person: Model | None = None
    skips_judged: bool = False
    """Whether what needs a judge is passed over."""
    asking: Asking = field(default_factory=Asking)
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    """What goes into each question to the judge, as it is written: for the record."""
    tapes: Tapes | None = None
    """What is recorded, or replayed."""

    @cached_property
    def prompts(self) -> Prompts:
        """What they are told."""
        return Prompts(self.asking.prompts)

    @property
    def replays(self) -> bool:
        """Whether nobody is asked, and nothing of this hour or machine is to be kept."""
        return self.tapes is not None and self.tapes.mode == "replay"

    def asker(self, role: Role, snapshot: Snapshot, trial: int, tally: Tally) -> Asker | None:
        """Whoever asks in this role, in this trial of this task; nobody where there is no such model."""
        model = self.person if role == "person" else self.judge
        if model is not None and self.tapes is not None:
            model = self.tapes.model(model, role, spot_of(snapshot, trial), self.names(snapshot))
        return Asker(model, role, trial, tally) if model is not None else None

    def rates(self, task: Task) -> bool:
        """Whether conversations of this task are rated besides: where that is asked for, and somebody can be."""
        if self.judge is None or self.skips_judged:
            return False
        return self.asking.metrics or bool(task.metrics) or "metrics" in self.asking.prompts

    def checks(self, person: Person) -> bool:
        """Whether a judge is to look at how this person is played."""
        return person.needs_model and (person.check == "model" or self.asking.checks_person)

    def agent(self, solver: Solver, snapshot: Snapshot, trial: int, overhear: Overhear) -> Agent:
        """The agent of a trial: as it is, while it is taken down, or as it was."""
        if _is_informed(type(solver)):
            return cast(Informed, solver).open_for(snapshot, trial)
        if self.tapes is None or not self.tapes.solver:
            return solver.open(snapshot.solution, trial)
        veil = self.tapes.veil.over(self.names(snapshot))
        story = Story(self.tapes, spot_of(snapshot, trial), self.tapes.solver, snapshot.scene, veil)
        if isinstance(solver, RecordedSolver):
            return RecordedAgent(story)
        recording = RecordingAgent(solver.open(snapshot.solution, trial), story)
        overhear(recording.hear)
        return recording

    @cached_property
    def _names(self) -> dict[str, Mapping[str, str]]:
        return {}

    def names(self, snapshot: Snapshot) -> Mapping[str, str]:
        """What stands in a task for environment variables: found once."""
        if snapshot.hash not in self._names:
            self._names[snapshot.hash] = expanded(snapshot)[1]
        return self._names[snapshot.hash]

    def missed(self, task: str, trial: int) -> str:
        """What a trial asked that was never recorded, and is not to be asked; nothing if all was."""
        return self.tapes.missed(task, trial) if self.tapes is not None else ""

    def ended(self, snapshot: Snapshot, task_run: TaskRun) -> None:
        """A trial is over. If it came to its end, what it has not asked of what was recorded for it is stale."""
        if self.tapes is not None and task_run.status == "invalid_person":
            self.tapes.forget(spot_of(snapshot, task_run.trial))
        if self.tapes is not None and task_run.status == "completed":
            self.tapes.ended(spot_of(snapshot, task_run.trial), self._roles(snapshot.task))

    def _roles(self, task: Task) -> tuple[str, ...]:
        """What is asked for in a task, whether or not it comes up."""
        judged, person = not self.skips_judged and self.judge is not None, task.scenario and task.scenario.person
        asked = {
            "judge": judged,
            "person": True,
            "metrics": self.rates(task),
            "person_check": judged and bool(person and self.checks(person)),
        }
        agent = self.tapes.solver if self.tapes is not None else ""
        return (*(role for role, wanted in asked.items() if wanted), *([f"agent {agent}"] if agent else []))

    def close(self) -> None:
        """Let go of them; they are not asked again, and whoever waits for an answer goes on without."""
        for model in {id(model): model for model in (self.judge, self.person) if model is not None}.values():
            model.close()


def spot_of(snapshot: Snapshot, trial: int) -> Spot:
    """Which trial of which task, and of which file."""
    return Spot(snapshot.source, snapshot.task.name, trial)


ALONE = Models()
