"""Resolve the names in a task, and that of the agent, to objects. It is done once per task: trials share the result."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

import orjson
from pydantic import BaseModel, ValidationError

from clerkship.actors.contract import (
    NO_PERSON_HINT,
    SimulatedPerson,
    Solver,
    SolverWithCapabilities,
    SolverWithPreflight,
)
from clerkship.actors.isolation.contract import Isolated
from clerkship.actors.person_scripted import LineSource, ScriptedPerson
from clerkship.actors.python import PythonSolver
from clerkship.by_name import load
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.log import NO_NAMES, VariableNames
from clerkship.kit.rng import derive_seed, shuffle
from clerkship.llm.prompts import Prompts
from clerkship.llm.trial_model import TrialModel
from clerkship.model.call import AssertionCall
from clerkship.model.conversation_key import ConversationKey, normalize_address
from clerkship.model.dataset import Dataset
from clerkship.model.duration import render_duration
from clerkship.model.environment import ComponentConfig, Environment
from clerkship.model.errors import InputError
from clerkship.model.freeze import freeze_fields
from clerkship.model.frozen import Frozen
from clerkship.model.lazy import lazy_property
from clerkship.model.monitor_settings import merge_options
from clerkship.model.names import did_you_mean
from clerkship.model.run import BenchmarkRun
from clerkship.model.scenario import Scenario, ScenarioPerson
from clerkship.model.snapshot import Snapshot
from clerkship.model.task import Criterion, Task
from clerkship.model.variables import TrackedVariables, expand_task, refuse_unset
from clerkship.playground.component import PreparedComponent
from clerkship.playground.playground import PlaygroundOptions, bind_reactions
from clerkship.playground.sandbox import PreparedSimulator, prepare_simulator
from clerkship.reactions.contract import pair_name
from clerkship.sandbox.assertion import Assertion
from clerkship.sandbox.component import ComponentSpec
from clerkship.sandbox.monitor import Monitor
from clerkship.sandbox.steps.contract import Step
from clerkship.settings import Settings, get_template_variables, override_settings

if TYPE_CHECKING:
    from clerkship.engine.fork_point import ForkPoint

EMPTY_SCENARIO = Scenario()
M = TypeVar("M", bound=BaseModel)
AGENT_PROCESS = "--agent-process"
"""Stored in the options of a run whose Python agent has its own process."""
_WITH_PROCESS = ("python", "command", "claude-code", "codex")
"""Kinds of agents that run in a process of their own, or can."""
IN_TIME, DEADLINE_KEY = "done_in_time", "done_within"
"""The monitor of deadlines, and the key of the task item that tells the agent of one."""


@dataclass(frozen=True)
class BuiltTask:
    """A task with its names resolved."""

    snapshot: Snapshot
    task: Task
    """The task with environment variables expanded. The snapshot never contains their values."""
    simulators: Mapping[str, PreparedSimulator]
    scenario: Scenario
    steps: tuple[tuple[timedelta | None, Step], ...]
    checks: tuple[tuple[Criterion, Assertion], ...]
    """Each criterion as its author wrote it, and its assertion with environment variables expanded."""
    monitors: tuple[tuple[Criterion, Monitor], ...]
    """The monitors that run, each as a criterion of weight 0."""
    people: Mapping[str, ScenarioPerson]
    """The people of the scenario by the key of their conversation, in the order of the file."""
    task_item: bytes
    """As JSON, like the slots and stubs, because parsing it gives each agent its own copy."""
    slots: bytes
    stubs: bytes
    variables: Mapping[str, str]
    """The values of the environment variables in the task, by name."""
    options: PlaygroundOptions
    """The options of its playgrounds."""
    fork_point: "ForkPoint | None" = None
    """The point from which its trials continue, if they are forks."""

    def people_for_trial(self, trial: int) -> dict[str, ScenarioPerson]:
        """Return the people of a trial. A fork has the people of the trial that it continues."""
        number = trial if self.fork_point is None else self.fork_point.fork.trial
        return {key: person.for_trial(number) if person.by_trial else person for key, person in self.people.items()}

    def build_people(
        self, seed: str, model: TrialModel | None, prompts: Prompts, trial: int = 1
    ) -> dict[str, SimulatedPerson]:
        """Build the people of one trial, by conversation. The seed decides in which order they take turns."""
        people = list(self.people_for_trial(trial).items())
        return {
            key: ScriptedPerson(person, self._build_improviser(key, person, model, prompts))
            for key, person in (people if len(people) < 2 else shuffle(people, derive_seed(seed, "people")))
        }

    def _build_improviser(
        self, key: str, person: ScenarioPerson, model: TrialModel | None, prompts: Prompts
    ) -> LineSource | None:
        """Build what generates the messages of a person that are not scripted; return None if all are scripted.

        Raises InputError if it needs a model and none is configured.
        """
        if not self.improvises or not person.needs_model:
            return None
        if model is None:
            raise InputError.of("the person must be played by a model, and none is configured", hint=NO_PERSON_HINT)
        known_text = f"{self.slots.decode()}\n{self.snapshot.environment.now:%Y-%m-%d}"
        is_approached = self.scenario.starts == "agent" or not person.can_begin
        played = load("clerkship.actors.person_played")  # imported only if a model plays a person
        role = played.PlayedRole(person, known_text, is_approached)
        return cast(LineSource, played.Improviser(role, model, prompts, key if len(self.people) > 1 else ""))

    @lazy_property
    def improvises(self) -> bool:
        """Whether a model improvises any word of any person, in some trial."""
        return any(person.needs_model for person in self.people.values())

    @lazy_property
    def observers(self) -> frozenset[str]:
        """The sandboxes and domains that record what is done to them: all but those that only carry a conversation.

        A judge trusts their events more than the events that an agent reports of itself.
        """
        return frozenset(name for name, simulator in self.simulators.items() if not simulator.spec.converses).union(
            self.options.domains
        )

    @lazy_property
    def activity_targets(self) -> Mapping[str, str]:
        """By sandbox, the `module:function` that lists the agent's activity; none if no monitor runs."""
        if not self.monitors:
            return {}
        return {name: each.spec.activity for name, each in self.simulators.items() if each.spec.activity}

    @property
    def components(self) -> Mapping[str, PreparedComponent]:
        """Everything whose state is rebuilt from a log: simulators and domains."""
        return {**self.simulators, **self.options.domains}


def build_tasks(
    snapshots: Iterable[Snapshot], datasets: Mapping[str, Dataset], catalog: RegisteredCatalog
) -> list[BuiltTask]:
    """Resolve the names in snapshots. Tasks of the same environment share its prepared simulators and domains."""
    prepared: dict[str, tuple[Mapping[str, PreparedSimulator], Mapping[str, PreparedComponent]]] = {}
    keys: dict[int, str] = {}
    """Environments as JSON, by `id()`.

    Tasks from a store have equal but separate environments, so they are compared as JSON. Tasks from files share one
    object, and rendering it once for each task would be slow.
    """
    built = []
    for snapshot in snapshots:
        environment = snapshot.environment
        key = keys.get(id(environment)) or keys.setdefault(id(environment), environment.model_dump_json())
        if key not in prepared:
            prepared[key] = (
                prepare_simulators(environment, datasets, catalog),
                prepare_domains(environment, datasets, catalog),
            )
        built.append(_build_task(snapshot, *prepared[key], catalog))
    return built


def build_task(snapshot: Snapshot, datasets: Mapping[str, Dataset], catalog: RegisteredCatalog) -> BuiltTask:
    """Resolve the names in a snapshot."""
    [built] = build_tasks([snapshot], datasets, catalog)
    return built


def _build_task(
    snapshot: Snapshot,
    simulators: Mapping[str, PreparedSimulator],
    domains: Mapping[str, PreparedComponent],
    catalog: RegisteredCatalog,
) -> BuiltTask:
    task, used = expand_variables(snapshot)
    scenario = task.scenario or EMPTY_SCENARIO
    monitors = _build_monitors(task, snapshot.environment, catalog)
    return BuiltTask(
        snapshot=snapshot,
        task=task,
        simulators=simulators,
        scenario=scenario,
        steps=tuple((call.at, _validate(catalog.step(call.name), call.args or {}, task)) for call in scenario.steps),
        checks=tuple(
            (original, _build_assertion(criterion.assertion, task, catalog))
            for original, criterion in zip(snapshot.task.criteria, task.criteria, strict=True)
        ),
        monitors=monitors,
        people={_find_conversation(person, simulators): person for person in scenario.all_people},
        task_item=orjson.dumps(_add_deadline(task, monitors)),
        slots=orjson.dumps(scenario.initial_slots),
        stubs=orjson.dumps(scenario.stubs),
        variables=used,
        options=PlaygroundOptions(
            VariableNames(used) if used else NO_NAMES,
            bind_reactions(snapshot.environment, catalog.reaction_pairs),
            domains,
            catalog.agent_events,
        ),
    )


def _build_assertion(call: AssertionCall, task: Task, catalog: RegisteredCatalog) -> Assertion:
    assertion = _validate(catalog.assertion(call.name), call.args, task)
    return assertion.resolve(lambda nested: _build_assertion(nested, task, catalog))


def _build_monitors(
    task: Task, environment: Environment, catalog: RegisteredCatalog
) -> tuple[tuple[Criterion, Monitor], ...]:
    """Build the monitors for the sandboxes of a task."""
    kinds = {simulator.kind for simulator in environment.simulators.values()}
    settings = (environment.monitors, task.monitors)
    monitors = [
        _validate(monitor, merge_options(monitor.name, *settings, ignores_all=monitor.judged), task)
        for monitor in catalog.find_monitors(kinds, {name for each in settings for name in each})
    ]
    return tuple((_build_criterion(monitor), monitor) for monitor in monitors if monitor.mode != "off")


def _add_deadline(task: Task, monitors: Iterable[tuple[Criterion, Monitor]]) -> Mapping[str, Any] | None:
    """Return the task item with the time in which the work must be done, if a trial can fail by it."""
    is_gated = any(criterion.gate and monitor.name == IN_TIME for criterion, monitor in monitors)
    if task.task_item is None or not is_gated or DEADLINE_KEY in task.task_item:
        return task.task_item
    allowed = "1 working day" if task.done_within is None else render_duration(task.done_within)
    return task.task_item | {DEADLINE_KEY: allowed}


def _build_criterion(monitor: Monitor) -> Criterion:
    call = AssertionCall.model_validate({monitor.name: None})
    return Criterion(label=monitor.label, assertion=call, weight=0.0, axis=monitor.axis, gate=monitor.mode == "gate")


def _validate(model: type[M], args: Any, task: Task) -> M:
    """Validate the arguments of a step or an assertion.

    They were valid when the files were loaded, but an environment variable may have another value by now.
    """
    try:
        return freeze_fields(model.model_validate(args))  # all trials of the task share it
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(map(str, (getattr(model, "name", ""), *first["loc"])))
        reason = first["msg"].removeprefix("Value error, ")
        raise InputError.of(
            f"task {task.name!r}: {location}: {reason}", hint="has an environment variable changed?"
        ) from None


def expand_variables(snapshot: Snapshot) -> tuple[Task, Mapping[str, str]]:
    """Return the task with environment variables expanded, and the values of these variables by name."""
    if b"${" not in snapshot.data:
        return snapshot.task, {}
    tracked = TrackedVariables(get_template_variables())
    data = expand_task(snapshot.task.model_dump(mode="json"), tracked, refuse_unset(f"task {snapshot.task.name!r}"))
    return Task.model_validate(data), tracked.used


def prepare_simulators(
    environment: Environment, datasets: Mapping[str, Dataset], catalog: RegisteredCatalog
) -> dict[str, PreparedSimulator]:
    """Prepare each simulator of an environment: parse its config and load its datasets."""
    chosen = {name: (catalog.simulator(choice.kind), choice) for name, choice in environment.simulators.items()}
    return {
        name: prepare_simulator(spec, *_prepare_component(spec, choice, environment, datasets))
        for name, (spec, choice) in chosen.items()
    }


def prepare_domains(
    environment: Environment, datasets: Mapping[str, Dataset], catalog: RegisteredCatalog
) -> dict[str, PreparedComponent]:
    """Prepare each domain of an environment: parse its config and load its datasets."""
    chosen = {name: (catalog.domain(choice.kind), choice) for name, choice in environment.domains.items()}
    return {
        name: PreparedComponent(spec, *_prepare_component(spec, choice, environment, datasets))
        for name, (spec, choice) in chosen.items()
    }


def _prepare_component(
    spec: ComponentSpec, choice: ComponentConfig, environment: Environment, datasets: Mapping[str, Dataset]
) -> tuple[Frozen, Mapping[str, Any]]:
    """Parse the config of a simulator or domain, and build its base from the datasets of its type."""
    names = environment.datasets if choice.datasets is None else choice.datasets
    matching = [datasets[name] for name in names if spec.is_loaded_from(datasets[name].type)]
    return spec.configure(spec.config.model_validate(choice.config), environment), spec.prepare(matching)


def _find_conversation(person: ScenarioPerson, simulators: Mapping[str, PreparedSimulator]) -> str:
    """Return the key of a person's conversation, on the sandbox that they name or the only one that can hold it."""
    channel, address = person.channel, person.address
    if channel is None or address is None:
        return person.sandbox or next(name for name, simulator in simulators.items() if simulator.spec.converses)
    sandbox = person.sandbox or next(
        name for name, simulator in simulators.items() if channel in simulator.spec.channels
    )
    return str(ConversationKey(sandbox, channel, normalize_address(channel, address)))


def build_solver(reference: str, catalog: RegisteredCatalog, settings: Settings) -> Solver:
    """Build the agent that a reference names: `nop`, `oracle`, `python:module:name`, `command:./agent`, `http://…`.

    Raises InputError if the kind of agent is unknown.
    """
    kind, _, argument = reference.partition(":")
    if kind not in catalog.agents:
        suggest_agent = load("clerkship.actors.agent_suggestion:suggest_agent")
        hint = suggest_agent(reference) or catalog.missing(kind) or did_you_mean(kind, catalog.agents)
        raise InputError.of(f"unknown agent `{reference}`", hint=hint)
    return catalog.agents.get(kind)(argument, settings)


def find_plugins_used(snapshots: Iterable[Snapshot], solver: str, catalog: RegisteredCatalog) -> dict[str, str]:
    """Return the plug-in packages that tasks and their agent need, with their versions."""
    owners = [catalog.owner("agent", solver.partition(":")[0])]
    for snapshot in snapshots:
        scenario = snapshot.task.scenario or Scenario()
        simulators, domains = snapshot.environment.simulators, snapshot.environment.domains
        kinds = {name: component.kind for name, component in (*simulators.items(), *domains.items())}
        pairs = [pair_name(kinds[each.source], kinds[each.target]) for each in snapshot.environment.reactions]
        owners += [catalog.owner("simulator", simulator.kind) for simulator in simulators.values()]
        owners += [catalog.owner("domain", domain.kind) for domain in domains.values()]
        owners += [catalog.owner("reaction", pair) for pair in pairs]
        owners += [catalog.owner("step", call.name) for call in scenario.steps]
        owners += [catalog.owner("assertion", call.name) for call in snapshot.task.assertions()]
    return dict(sorted({(owner.package, owner.version) for owner in owners if owner is not None}))


def build_agent(agent: str | Solver, settings: Settings, catalog: RegisteredCatalog) -> Solver:
    """Return the solver of a run, given a solver or a reference such as `python:module:name`.

    If the setting `agent_process` is on, a Python agent gets its own process. Raises InputError if the agent cannot
    be built, or cannot be imported by another process.
    """
    if isinstance(agent, str):
        return build_solver(agent, catalog, settings)
    if settings.agent_process == "on" and isinstance(agent, PythonSolver):
        return cast(Solver, load("clerkship.actors.python_process:to_process")(agent))
    return agent


def settings_of(run: BenchmarkRun, settings: Settings) -> Settings:
    """Return the settings for starting the agent of a stored run again."""
    process = "on" if AGENT_PROCESS in run.options else None
    limits = {"max_tokens": run.asking.max_tokens, "model_timeout": run.asking.model_timeout}
    return override_settings(settings, agent_process=process, **limits)


def options_with(solver: Solver, options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options to store with a run: `--agent-process` is included if its agent has its own process."""
    others = tuple(option for option in options if option != AGENT_PROCESS)
    return (*others, AGENT_PROCESS) if has_process(solver) else others


def check_process(agent: str | Solver, catalog: RegisteredCatalog) -> None:
    """Raise InputError if `--agent-process` has no meaning for an agent.

    It is accepted for a program, which has its own process anyway.
    """
    if isinstance(agent, str):
        name, kind = agent, agent.partition(":")[0]
        # `build_solver` refuses an unknown kind with a better message.
        is_supported = kind.replace("_", "-") in _WITH_PROCESS or kind not in catalog.agents
    else:
        name, is_supported = agent.name, isinstance(agent, PythonSolver | Isolated)
    if not is_supported:
        hint = "leave the option out: it is for `python:module:name`"
        raise InputError.of(f"--agent-process: agent {name} cannot run in a process of its own", hint=hint)


def check_reachable(solver: Solver) -> None:
    """Raise InputError if an agent cannot be reached."""
    if isinstance(solver, SolverWithPreflight):
        solver.preflight()
    elif isinstance(solver, SolverWithCapabilities):
        solver.capabilities()  # it asks the agent, and so raises if the agent cannot be reached


def has_process(solver: Solver | None) -> bool:
    """Return whether an agent is a Python agent in its own process."""
    return getattr(solver, "agent_process", False)
