"""The models of a run: which of them a trial asks, in which role, through which recording."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, cast

from pydantic import JsonValue

from clerkship.actors.contract import Agent, Solver, SolverWithModels, SolverWithSnapshot
from clerkship.actors.registry import RecordedSolver
from clerkship.by_name import load
from clerkship.llm.contract import Model
from clerkship.llm.prompts import Prompts
from clerkship.llm.trial_model import TrialModel, UsageCounter
from clerkship.model.calibration import JudgeIdentity
from clerkship.model.errors import InputError
from clerkship.model.model_choice import ModelChoice
from clerkship.model.run import ModelOptions
from clerkship.model.run_options import NO_MODEL
from clerkship.model.scenario import ScenarioPerson
from clerkship.model.snapshot import Snapshot
from clerkship.model.task import Task
from clerkship.model.usage import ModelLimits, Role
from clerkship.recording.session import RecordingSession
from clerkship.sandbox.call_record import CallRecord
from clerkship.sandbox.request import Request

if TYPE_CHECKING:
    from clerkship.model_proxy.proxy import ModelProxy
    from clerkship.playground.playground import Playground
    from clerkship.providers.connections import ProviderAccount
    from clerkship.recording.recorded_calls import CallRecording
    from clerkship.sandbox.model_access import ModelAddress
    from clerkship.sandbox.trace_access import TraceAddress

_JUDGED = "judged"
_CALL_RECORDING = "clerkship.recording.recorded_calls:CallRecording"
SubscribeRequests = Callable[[Callable[[str, Request | CallRecord], None]], None]
"""Registers a function to call with each request to a sandbox."""


@lru_cache
def _takes_snapshot(solver: type[Solver]) -> bool:
    """Return whether solvers of a class get the whole task. Cached, because checking a protocol is slow."""
    return issubclass(solver, SolverWithSnapshot)


def is_code(solver: Solver) -> bool:
    """Return whether agents of a solver are code of the user that runs, and not a recording of it."""
    uses_code = getattr(solver, "uses_protocols", False) or getattr(solver, "agent_process", False)
    return uses_code and not isinstance(solver, RecordedSolver)


def rates_task(asking: ModelOptions, task: Task) -> bool:
    """Return whether the options of a run ask for ratings of a task's conversation."""
    if asking.metrics in ("all", "none"):
        return asking.metrics == "all"
    is_scenario = any(person.simulation_context is not None for person in task.people)
    is_default = asking.metrics == "scenarios" and is_scenario
    return is_default or bool(task.metrics) or "metrics" in asking.prompts


@dataclass(frozen=True)
class ModelSelection:
    """The models of a run, and their descriptions for the run's record."""

    judge: Model | None = None
    """Judges criteria, rates conversations and checks how people are played."""
    person: Model | None = None
    """Plays people that are not scripted."""
    judge_choice: ModelChoice | None = None
    person_choice: ModelChoice | None = None
    asking: ModelOptions = field(default_factory=ModelOptions)
    """Prompts, votes, and whether answers are recorded or replayed."""
    session: RecordingSession = field(default_factory=RecordingSession)
    not_rated: str = ""
    """Why scenarios are not rated, although a conftest names a judge; empty if they are rated or need not be."""
    build_proxy: "Callable[[Collection[str] | None, ProviderAccount | None], ModelProxy | None]" = lambda *_: None
    """Builds the proxy for the agents' own model calls, for a replay with its providers; None if there is none."""

    @cached_property
    def prompts(self) -> Prompts:
        """The prompts, built in or from the files."""
        return Prompts(self.asking.prompts)

    @property
    def skips_judged(self) -> bool:
        """Whether criteria that need a judge are skipped."""
        return self.judge_choice is not None and self.judge_choice.is_none

    @property
    def parameters(self) -> Mapping[str, JsonValue]:
        """The parameters of each request to the judge, as configured."""
        return self.judge_choice.parameters if self.judge_choice is not None else {}

    @property
    def replays(self) -> bool:
        """Whether all answers come from a recording. The record then has nothing specific to this time or machine."""
        return self.session.replays

    def model_for(self, role: Role, snapshot: Snapshot, trial: int, usage: UsageCounter) -> TrialModel | None:
        """Return the model that a trial asks in a role, with its recording; None if there is no such model."""
        model = self.person if role == "person" else self.judge
        if model is not None and self.session.mode is not None:
            recorded = load("clerkship.recording.recorded_model:RecordedModel")
            model = cast(Model, recorded(self.session, model, role, (snapshot.task.name, trial)))
        return TrialModel(model, role, trial, usage) if model is not None else None

    def rates_task(self, task: Task) -> bool:
        """Return whether conversations of a task are rated by metrics, and there is a judge."""
        if self.judge is None or self.skips_judged:
            return False
        return rates_task(self.asking, task)

    def checks_person(self, person: ScenarioPerson) -> bool:
        """Return whether the judge checks how a person is played."""
        return (person.check == "model" or self.asking.checks_person) and person.needs_model

    def roles(self, task: Task) -> tuple[Role, ...]:
        """Return the roles in which a task may ask models."""
        judged = not self.skips_judged and self.judge is not None
        roles: dict[Role, bool] = {
            "judge": judged,
            "person": True,
            "metrics": self.rates_task(task),
            "person_check": judged and any(map(self.checks_person, task.people)),
        }
        return tuple(role for role, is_asked in roles.items() if is_asked)

    def open_agent(
        self,
        solver: Solver,
        snapshot: Snapshot,
        trial: int,
        subscribe: SubscribeRequests,
        models: "Mapping[str, ModelAddress] | None" = None,
        open_traces: "Callable[[], TraceAddress] | None" = None,
    ) -> Agent:
        """Open the agent of a trial: the agent itself, a wrapper that records it, or a replay of its recording.

        `models` are the addresses for its model calls, and `open_traces` returns that for its spans.
        """
        if _takes_snapshot(type(solver)):
            return cast(SolverWithSnapshot, solver).open_for(snapshot, trial)
        if self.session.solver and isinstance(solver, RecordedSolver):
            opened = None
        elif (models is not None or open_traces is not None) and getattr(solver, "agent_process", False):
            address = None if open_traces is None else open_traces()
            opened = cast(SolverWithModels, solver).open_with({} if models is None else models, address)
        else:
            opened = solver.open(snapshot.solution, trial)
        if opened is not None and not self.session.solver:
            return opened
        has_several_people, owner = len(snapshot.task.people) > 1, (snapshot.task.name, trial)
        agents = load("clerkship.recording.recorded_agent")
        recording = agents.AgentRecording(self.session, owner, snapshot.setup_hash, names_sandbox=has_several_people)
        if opened is None:
            return cast(Agent, agents.RecordedAgent(recording))
        agent = agents.RecordingAgent(opened, recording)
        subscribe(agent.hear)
        return cast(Agent, agent)

    def open_proxy(self, solver: Solver) -> "ModelProxy | None":
        """Return the proxy for the model calls of an agent; None if it makes none that can be logged.

        An agent that is a model has an account of its own.
        """
        account: ProviderAccount | None = getattr(solver, "model_account", None)
        if not (is_code(solver) or account):
            return None
        if not self.replays:
            return self.build_proxy(None, account)
        recorded = self.session.providers()
        return self.build_proxy(recorded, account) if recorded or account else None

    def check_limits(self, limits: ModelLimits, solver: Solver) -> None:
        """Raise InputError if an agent cannot have limits, because its model calls do not go through the run."""
        if not limits.are_set or self.replays:
            return
        if (proxy := self.open_proxy(solver)) is None:
            message = f"the model calls of `{solver.name}` do not go through the run, so they cannot be limited"
            hint = "this needs an agent that calls models, the key of its provider, and CLERKSHIP_MODEL_PROXY not `off`"
            raise InputError.of(message, hint=hint)
        proxy.close()

    def record_calls(self, task: str, trial: int, playground: "Playground") -> "CallRecording | None":
        """Return the recording of a trial's model calls; None if nothing is recorded or replayed."""
        if self.session.mode is None:
            return None
        return cast("CallRecording", load(_CALL_RECORDING)(self.session, (task, trial), playground))

    def recording_error(self, task: str, trial: int) -> str:
        """Return what a trial needed that is not recorded, or why it cannot be recorded; empty if neither."""
        return self.session.error_of((task, trial))

    def run_fields(self, snapshots: Iterable[Snapshot] = ()) -> dict[str, Any]:
        """Return the fields of a run's record that describe its models."""
        fields = {"judge": self.judge_choice, "person": self.person_choice, "asking": self.asking}
        return fields | {"judging": self.judge_identity(snapshots)}

    def judge_identity(self, snapshots: Iterable[Snapshot] = ()) -> JudgeIdentity | None:
        """Return what identifies the judge in a calibration: model, parameters, prompt and votes.

        None if criteria are not judged. If criteria use different numbers of votes, the smallest one is returned,
        because every verdict of the run has at least that many.
        """
        if self.judge_choice is None or self.judge_choice.is_none:
            return None
        default = self.asking.votes
        calls = [call.args for snapshot in snapshots for call in snapshot.task.assertions() if call.name == _JUDGED]
        votes = [args.get("votes") if isinstance(args, dict) else None for args in calls]
        return JudgeIdentity(
            model=self.judge_choice.who,
            parameters=self.judge_choice.parameters,
            prompt=self.prompts["criterion"].version,
            votes=min((count if isinstance(count, int) else default for count in votes), default=default),
        )

    def close(self) -> None:
        """Close the models. Threads that wait for an answer get an error at once."""
        for model in {id(model): model for model in (self.judge, self.person) if model is not None}.values():
            model.close()


NO_MODELS = ModelSelection()
NO_JUDGE = ModelSelection(judge_choice=ModelChoice(who=NO_MODEL))
