"""Replay the tool calls in a results file of tau2 over an imported suite, and compare the rewards."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.engine.build import prepare_simulators
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.call import StepCall
from clerkship.model.environment import Environment
from clerkship.model.errors import ClerkshipError, InputError
from clerkship.sandbox.request import Refusal
from clerkship.service.tau2_import import name_task
from clerkship.simulators.chat.steps.past import ChatPast
from clerkship.simulators.tables.assertions.reference_calls import REFERENCE, build_reference_action, list_changed
from clerkship.simulators.tables.assertions.table_function_returns import TableFunctionReturns
from clerkship.simulators.tables.assertions.table_no_other_changes import TableNoOtherChanges
from clerkship.simulators.tables.state import TablesState
from clerkship.simulators.tables.steps import CallFunction, PutRecord
from clerkship.suite_files.library import Library, LoadedTask
from clerkship.suite_files.load import load_library

_RECORDS, _SAID, _RETURNS, _CALLED = (
    TableNoOtherChanges.name,
    "bot_uttered",
    TableFunctionReturns.name,
    "event_occurred",
)
_COMPARED = (_RECORDS, _SAID, _RETURNS, _CALLED)
_SIDES = ("assistant", "user")


class TrajectoryCall(NamedTuple):
    """A call of a function in a trajectory."""

    name: str
    side: str
    arguments: Any

    def matches(self, where: Mapping[str, Any]) -> bool:
        """Return whether it is the call that a criterion looks for."""
        wanted = {path.partition(".")[2]: value for path, value in where.items() if path != "name"}
        return self.name == where["name"] and all(self.arguments.get(name) == value for name, value in wanted.items())


class ReplayedTrajectory(NamedTuple):
    """The reward of a trajectory, replayed and recorded."""

    task: str
    trial: int
    reward: float
    recorded: float | None
    """None if it cannot be compared."""
    reason: str = ""


def replay_trajectories(folder: Path, results: Path, catalog: RegisteredCatalog) -> list[ReplayedTrajectory]:
    """Return the rewards of the simulations in a results file; raise InputError."""
    try:
        simulations = orjson.loads(results.read_bytes())["simulations"]
        by_task = [(str(each["task_id"]), int(each.get("trial") or 0), each) for each in simulations]
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"it is not a results file of tau2: {type(error).__name__}: {error}"
        raise InputError.of(message, file=str(results), hint="expected JSON with `simulations`") from None
    library = load_library(folder, catalog)
    environments = {loaded.environment.name: loaded.environment for loaded in library.tasks.values()}
    states = {name: _build_state(environment, library, catalog) for name, environment in environments.items()}
    replayed = []
    for id, trial, simulation in by_task:
        names = (name_task(environment, id) for environment in environments)
        loaded = next((library.tasks[name] for name in names if name in library.tasks), None)
        state = states[loaded.environment.name] if loaded is not None else None
        if loaded is None or state is None:
            reason = "its environment has no tables" if loaded is not None else "the suite has no such task"
            replayed.append(ReplayedTrajectory(id, trial, 0, None, reason))
            continue
        try:
            replayed.append(_replay(id, trial, simulation, loaded, state))
        except (KeyError, TypeError, AttributeError, ValueError, ClerkshipError) as error:
            reason = f"it cannot be replayed: {type(error).__name__}: {error}"
            replayed.append(ReplayedTrajectory(id, trial, 0, None, reason))
    return replayed


def _build_state(environment: Environment, library: Library, catalog: RegisteredCatalog) -> TablesState | None:
    """Return the state of the tables of an environment before any call; None if it has none."""
    name = next((name for name, each in environment.simulators.items() if each.kind == "tables"), None)
    if name is None:
        return None
    datasets = {name: library.datasets[name] for name in environment.datasets}
    prepared = prepare_simulators(environment, datasets, catalog)[name]
    return TablesState(prepared.config, prepared.base)


def _replay(
    id: str, trial: int, simulation: Mapping[str, Any], loaded: LoadedTask, start: TablesState
) -> ReplayedTrajectory:
    recorded = (simulation.get("reward_info") or {}).get("reward")
    criteria = [(each.assertion.name, each.assertion.args) for each in loaded.task.criteria]
    if others := [name for name, _ in criteria if name not in _COMPARED]:
        return ReplayedTrajectory(id, trial, 0, None, f"its reward needs `{others[0]}`")
    if recorded is None:
        return ReplayedTrajectory(id, trial, 0, None, "it has no reward")
    messages = _skip_history(simulation.get("messages") or [], loaded)
    calls = [
        TrajectoryCall(_find_name(start, call["name"], each["role"]), each["role"], call["arguments"])
        for each in messages
        for call in each.get("tool_calls") or ()
    ]
    said = [str(each.get("content") or "") for each in messages if each["role"] == "assistant"]
    played = PlayedTrajectory(loaded, start, _apply(loaded, start, calls), calls, said)
    passed = all(played.holds(name, args) for name, args in criteria)
    return ReplayedTrajectory(id, trial, float(passed), float(recorded))


def _skip_history(messages: Sequence[Mapping[str, Any]], loaded: LoadedTask) -> list[Mapping[str, Any]]:
    """Return the messages of the agent and the person that are not in the history of the task."""
    past = [ChatPast.model_validate(step.args) for step in _list_steps(loaded) if step.name == ChatPast.name]
    left = sum(len(step.messages) for step in past)
    for number, message in enumerate(messages):
        if not left:
            return [each for each in messages[number:] if each.get("role") in _SIDES]
        left -= message["role"] in _SIDES and bool(message.get("content"))
    return []


def _find_name(start: TablesState, name: str, side: str) -> str:
    """Return the name of a function in the suite: one of the person may have a prefix."""
    prefixed = f"{side}_{name}"
    return prefixed if prefixed in start.tables.functions else name


def _list_steps(loaded: LoadedTask) -> Sequence[StepCall]:
    return loaded.task.scenario.steps if loaded.task.scenario is not None else ()


class PlayedTrajectory(NamedTuple):
    """A trajectory that was played over the tables of a task."""

    loaded: LoadedTask
    start: TablesState
    end: TablesState
    calls: Sequence[TrajectoryCall]
    said: Sequence[str]

    def holds(self, name: str, args: Any) -> bool:
        """Return whether a criterion holds after the calls and what was said."""
        if name == _SAID:
            return any(re.search(args["text_matches"], text) for text in self.said)
        if name == _RETURNS:
            return bool(self._call_at_end(args) == args["value"])
        if name == _CALLED:
            side = "assistant" if args["actor"] == "agent" else "user"
            return any(call.side == side and call.matches(args["where"]) for call in self.calls)
        expected = [TrajectoryCall(call["name"], REFERENCE, call.get("arguments", {})) for call in args["calls"]]
        return not list_changed(self.end, _apply(self.loaded, self.start, expected))

    def _call_at_end(self, args: Any) -> Any:
        state = self.end.copy_records()
        action = build_reference_action(state, self.loaded.environment.now)
        return orjson.loads(state.call_checked(action, args["function"], args.get("arguments", {})))


def _apply(loaded: LoadedTask, start: TablesState, calls: Iterable[TrajectoryCall]) -> TablesState:
    """Return the state after the steps of a task, and then these calls. What is refused changes nothing."""
    state = start.start_again()
    action = build_reference_action(state, loaded.environment.now)
    for step in _list_steps(loaded):
        if step.name == PutRecord.name:
            put = PutRecord.model_validate(step.args)
            state.put(action, put.table, put.id, put.record, merge=put.merge)
        elif step.name == CallFunction.name:
            call = CallFunction.model_validate(step.args)
            state.call_checked(action, call.function, call.arguments)
    tools = {function.name for function in state.tables.agent_functions}
    for each in calls:
        if each.side != "assistant" or each.name in tools:
            with suppress(Refusal):  # also for a function that does not exist, and for arguments that do not fit
                state.call_checked(action, each.name, each.arguments)
    return state
