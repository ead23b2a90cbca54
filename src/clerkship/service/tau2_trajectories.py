"""Replay the tool calls in a results file of tau2 over an imported suite, and compare the rewards."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from clerkship.engine.build import prepare_simulators
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.event import Event, Payload
from clerkship.kit.rng import Ids, Rng
from clerkship.model.environment import Environment
from clerkship.model.errors import ClerkshipError, InputError
from clerkship.sandbox.json_schema import find_violation
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.tables.assertions.reference_calls import list_changed
from clerkship.simulators.tables.state import TablesState
from clerkship.simulators.tables.steps import CallFunction, PutRecord
from clerkship.suite_files.library import Library, LoadedTask
from clerkship.suite_files.load import load_library

_RECORDS, _SAID = "table_no_other_changes", "bot_uttered"
_COMPARED = (_RECORDS, _SAID)


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
    tasks = {name.partition(" ")[2]: loaded for name, loaded in library.tasks.items()}
    states = {loaded.environment.name: _build_state(loaded.environment, library, catalog) for loaded in tasks.values()}
    replayed = []
    for id, trial, simulation in by_task:
        state = states[tasks[id].environment.name] if id in tasks else None
        if state is None:
            reason = "its environment has no tables" if id in tasks else "the suite has no such task"
            replayed.append(ReplayedTrajectory(id, trial, 0, None, reason))
            continue
        try:
            replayed.append(_replay(id, trial, simulation, tasks[id], state))
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
    messages = [each for each in simulation.get("messages") or () if each.get("role") == "assistant"]
    calls = [(call["name"], call["arguments"]) for each in messages for call in each.get("tool_calls") or ()]
    said = [str(each.get("content") or "") for each in messages]
    passed = all(_holds(name, args, loaded, start, calls, said) for name, args in criteria)
    return ReplayedTrajectory(id, trial, float(passed), float(recorded))


def _holds(
    name: str, args: Any, loaded: LoadedTask, start: TablesState, calls: list[tuple[str, Any]], said: list[str]
) -> bool:
    """Return whether a criterion holds after the calls and what was said."""
    if name == _SAID:
        return any(re.search(args["text_matches"], text) for text in said)
    expected = [(call["name"], call.get("arguments", {})) for call in args["calls"]]
    return not list_changed(_apply(loaded, start, calls), _apply(loaded, start, expected))


def _apply(loaded: LoadedTask, start: TablesState, calls: Iterable[tuple[str, Any]]) -> TablesState:
    """Return the state after the steps of a task, and then these calls. What is refused changes nothing."""
    state, now = start.start_again(), loaded.environment.now

    def emit(payload: Payload) -> Event:
        event = Event(0, now, "desk", payload.kind, "agent", None, payload)
        state.apply(event)
        return event

    action = ActionContext("agent", now, Ids("replay"), Rng("replay"), emit)
    scenario = loaded.task.scenario
    for step in scenario.steps if scenario is not None else ():
        if step.name == PutRecord.name:
            put = PutRecord.model_validate(step.args)
            state.put(action, put.table, put.id, put.record, merge=put.merge)
        else:
            call = CallFunction.model_validate(step.args)
            state.call(action, call.function, call.arguments)
    for name, arguments in _list_valid(state, calls):
        with suppress(Refusal):
            state.call(action, name, arguments)
    return state


def _list_valid(state: TablesState, calls: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the calls of functions that exist, with arguments that fit."""
    functions = state.tables.functions
    for name, arguments in calls:
        if name in functions and find_violation(functions[name].schema, arguments) is None:
            yield name, arguments
