"""Playgrounds do not affect each other, whatever a simulator does to its records."""

import contextlib
import pickle
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, cast

import orjson
import pytest

from clerkship.actors.contract import Message
from clerkship.actors.python import PythonSolver
from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.event import Payload, parse_event
from clerkship.events.evidence import Evidence
from clerkship.events.log import open_log
from clerkship.model.environment import Environment, Simulator
from clerkship.model.freeze import FrozenDict, FrozenList, freeze
from clerkship.model.frozen import Frozen
from clerkship.model.run import TaskRun
from clerkship.playground.component import Overlay
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.sandbox.changes import initial_records, record_changes
from clerkship.sandbox.component import NoConfig
from clerkship.sandbox.request import Request
from clerkship.sandbox.state import State
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.simulators.registry import load_simulators
from clerkship.simulators.spec import Spec
from tests.playground.tickets import (
    DATASET,
    RECORDS,
    ChangesNestedRecordInPlace,
    ChangesPayload,
    ChangesRecordInPlace,
    TicketClosed,
    TicketsState,
    tickets,
)
from tests.workbench import Workbench

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def _prepared(spec: Spec) -> PreparedSimulator:
    return PreparedSimulator(spec, NoConfig(), {str(record["id"]): deepcopy(record) for record in RECORDS})


def _playground(prepared: PreparedSimulator) -> Playground:
    environment = Environment(name="test", simulators={"desk": Simulator(kind="tickets")})
    return Playground(environment, {"desk": prepared}, "seed")


def _close(playground: Playground) -> TicketsState:
    state, action = playground.state(TicketsState, "desk")
    state.close(action, "1")
    return state


def test_stored_copy_changes_only_one_playground() -> None:
    prepared = _prepared(tickets())
    state = _close(_playground(prepared))
    assert state.records["1"]["status"] == "closed"
    assert list(state.records.changed()) == ["1"]  # type: ignore[attr-defined]
    assert _playground(prepared).sandboxes["desk"].state.dump()["1"] == RECORDS[0]


@pytest.mark.parametrize("leaky", [ChangesRecordInPlace, ChangesNestedRecordInPlace])
def test_a_record_changed_in_place_raises_and_is_not_seen_by_the_next_trial(leaky: type[State[Any]]) -> None:
    prepared = _prepared(tickets(state=leaky))
    with pytest.raises(TypeError, match=r"records\[key\] = \{\*\*record"):
        _close(_playground(prepared))
    assert _playground(prepared).sandboxes["desk"].state.dump()["1"] == RECORDS[0]


def test_an_event_in_the_log_cannot_be_changed_by_apply() -> None:
    playground = _playground(_prepared(tickets(state=ChangesPayload)))
    with pytest.raises(TypeError, match="event payloads"):
        _close(playground)


class Noted(Payload):
    """An event with plain data of any shape."""

    kind: ClassVar[str] = "test.noted"
    data: dict[str, Any]
    more: Any = None


def test_an_event_does_not_change_with_the_data_it_was_made_from() -> None:
    log, writer = open_log()
    data: dict[str, Any] = {"record": {"status": "open", "tags": ["new"]}}
    more = [{"a": 1}]
    event = writer.append("desk", Noted(data=data, more=more), actor="agent", at=NOW)
    data["record"]["status"] = "closed"
    data["record"]["tags"].append("old")
    more[0]["a"] = 2
    assert event.payload == Noted(data={"record": {"status": "open", "tags": ["new"]}}, more=[{"a": 1}])
    assert parse_event(log.lines[0], {"test.noted": Noted}, log.blobs.__getitem__) == event


class DeskConfig(Frozen):
    """A config with a dict."""

    recipients: dict[str, str] = {"on-call": "ward 3"}


def test_a_config_cannot_be_changed_by_a_playground() -> None:
    prepared = PreparedSimulator(tickets(config=DeskConfig), DeskConfig())
    config = _playground(prepared).sandboxes["desk"].state.config
    assert isinstance(config, DeskConfig)
    with pytest.raises(TypeError, match="configs"):
        config.recipients["on-call"] = "ward 4"


def test_a_dataset_cannot_be_changed_by_prepare() -> None:
    with pytest.raises(TypeError, match="cannot be changed in place"):
        DATASET.records[0]["status"] = "closed"


@pytest.mark.parametrize("shared", [[], {}, set()])
def test_a_state_with_a_mutable_class_attribute_is_refused(shared: object) -> None:
    with pytest.raises(TypeError, match=r"Sharing\.messages is a \w+ that all playgrounds would share"):
        type("Sharing", (TicketsState,), {"messages": shared})


@dataclass
class Machine:
    """A record that is an object."""

    status: str = "off"
    parts: list[str] = field(default_factory=list)


@pytest.mark.parametrize("record", [Machine(), {"machine": Machine()}])
def test_an_object_is_copied_for_each_playground_and_its_change_is_kept(record: Any) -> None:
    def machine(overlay: Overlay) -> Machine:
        results = overlay["a"]["machine"] if isinstance(record, dict) else overlay["a"]
        assert isinstance(results, Machine)
        return results

    base = {"a": record}
    first, other = Overlay(base), Overlay(base)
    assert machine(first).status == "off"
    assert first.changed() == {}
    machine(first).status = "on"
    machine(first).parts.append("motor")
    assert (machine(first).status, machine(first).parts) == ("on", ["motor"])
    assert machine(other) == Machine()
    before, after = first.changed()["a"]
    assert before != after
    assert before is not record


class Pump:
    """An object without `__eq__`."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.doses = [rate]
        self.of: Any = self


class SlottedPump:
    """An object without `__eq__` or `__dict__`."""

    __slots__ = ("doses", "rate")

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.doses = [rate]


@dataclass
class Stand:
    """An object that compares another one, which has no `__eq__`."""

    pump: Pump


@pytest.mark.parametrize("pump", [Pump, SlottedPump])
@pytest.mark.parametrize(
    ("record_of", "pump_of"),
    [
        (lambda pump: pump, lambda record: record),
        (lambda pump: {"pumps": [pump], "n": 1}, lambda record: record["pumps"][0]),
        (Stand, lambda record: record.pump),
    ],
)
def test_an_object_without_eq_is_changed_only_when_its_state_is(
    pump: Callable[[int], Any], record_of: Callable[[Any], Any], pump_of: Callable[[Any], Any]
) -> None:
    base = {"read": record_of(pump(1)), "set": record_of(pump(1)), "deep": record_of(pump(1)), "gone": pump(1)}
    records = Overlay(base)
    assert pump_of(records["read"]) is pump_of(records["read"])
    pump_of(records["set"]).rate = 2
    pump_of(records["deep"]).doses.append(2)
    assert records["gone"].rate == 1
    del records["gone"]
    assert sorted(records.changed()) == ["deep", "gone", "set"]
    assert sorted(record_changes(records)) == ["deep", "gone", "set"]
    assert pump_of(base["set"]).rate == 1
    assert "gone" not in records
    assert len(records) == len(list(records)) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda records: record_changes(records)["a"].before["doses"].sort(reverse=True),
        lambda records: initial_records(records)["b"]["doses"].append(4),
        lambda records: next(iter(initial_records(records).values())).clear(),
        lambda records: initial_records(records).get("b", {}).update(doses=[]),
    ],
)
def test_an_assertion_cannot_change_the_records_that_the_trial_began_with(change: Callable[[Overlay], Any]) -> None:
    base = {"a": {"doses": [1, 2]}, "b": {"doses": [3]}}
    records = Overlay(base)
    records["a"] = {"doses": [9]}
    with pytest.raises(TypeError, match="cannot be changed in place"):
        change(records)
    assert base == {"a": {"doses": [1, 2]}, "b": {"doses": [3]}}


def test_an_assertion_gets_a_copy_of_an_initial_record_that_is_an_object() -> None:
    base = {"a": Machine(), "b": Machine()}
    records = Overlay(base)
    records["a"] = Machine("on")
    record_changes(records)["a"].before.parts.append("motor")
    initial_records(records)["b"].status = "on"
    assert base == {"a": Machine(), "b": Machine()}


def test_the_view_of_initial_records_is_read_only_and_freezes_what_is_read() -> None:
    base: dict[str, Any] = {str(number): {"n": number} for number in range(1000)}
    initial = initial_records(Overlay(base))
    assert not hasattr(initial, "__setitem__")
    assert (initial == base, len(initial), "7" in initial, "x" in initial) == (True, 1000, True, False)
    assert not any(isinstance(record, FrozenDict) for record in base.values())


def test_setdefault_returns_the_stored_value() -> None:
    records = Overlay({})
    with pytest.raises(TypeError, match="cannot be changed in place"):
        records.setdefault("a", {})["status"] = "open"
    records.setdefault("b", Machine()).status = "on"
    assert records["b"] == Machine("on")


def test_reading_plain_records_copies_each_only_once_for_all_playgrounds() -> None:
    base: dict[str, Any] = {str(number): {"n": [number]} for number in range(100)}
    base["bytes"] = data = bytes(1000)
    first, other = Overlay(base), Overlay(base)
    assert first["bytes"] is data
    assert all(mine is theirs for mine, theirs in zip(first.values(), other.values(), strict=True))
    assert first.changed() == {}


def test_an_iteration_freezes_no_record_before_its_turn() -> None:
    base = {str(number): {"n": number} for number in range(1000)}
    next(iter(Overlay(base).items()))
    assert sum(isinstance(record, FrozenDict) for record in base.values()) == 1


CHANGES: list[Callable[[Any], Any]] = [
    lambda data: data.update(a=1),
    lambda data: data.pop("list"),
    lambda data: data.setdefault("b", 1),
    lambda data: data.clear(),
    lambda data: data.__ior__({"b": 1}),
    lambda data: data["list"].append(1),
    lambda data: data["list"].sort(),
    lambda data: data["list"].__iadd__([1]),
    lambda data: data["list"][0].popitem(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_frozen_data_refuses_every_change(change: Callable[[Any], Any]) -> None:
    frozen = freeze({"list": [{"a": {1}}, (1, [2])]})
    with pytest.raises(TypeError, match="cannot be changed in place"):
        change(frozen)


def test_copies_of_frozen_data_are_plain_and_equal() -> None:
    data = {"list": [{"a": 1}, (1, [2])], "b": None}
    frozen = freeze(data)
    assert (type(frozen), type(frozen["list"]), frozen) == (FrozenDict, FrozenList, data)
    assert freeze(frozen) is frozen
    assert orjson.dumps(frozen) == orjson.dumps(data)
    for plain in (deepcopy(frozen), pickle.loads(pickle.dumps(frozen))):
        assert plain == data
        assert type(plain) is dict
    deep = deepcopy(frozen)
    deep["list"][0]["a"] = 2
    assert frozen == data
    assert type(copy(frozen)) is dict
    assert type(copy(frozen["list"])) is list


def test_fork_and_original_do_not_affect_each_other() -> None:
    spec = tickets()
    with SimulatorRig(spec, prepared=_prepared(spec)) as rig:
        rig.send(Request("POST", "/tickets/1/close"))
        with rig.fork() as fork:
            assert fork.dumped() == rig.dumped()
            fork.send(Request("POST", "/tickets/2/close"))
            assert fork.dump()["2"]["status"] == "closed"
        assert rig.dump()["2"]["status"] == "open"


DESK = """
    dataset:
      name: tickets
      type: records
      records:
        - {id: "1", status: open, log: [opened]}
    environment: {name: desk, simulators: {desk: {kind: tickets}}, datasets: [tickets]}
    task:
      name: Close it
      environment: desk
      entities: [{id: ticket, dataset: tickets, where: {id: "1"}}]
      criteria:
        - {label: closed, assertion: {event_occurred: {event: tickets.ticket.closed}}}
        - {label: as expected, assertion: {changes_evidence: {expected: {status: open}}}}
    """


class ChangesEvidence(Assertion):
    """An assertion that tries to change its evidence, and reports what it could change."""

    name: ClassVar[str] = "changes_evidence"
    expected: dict[str, Any]

    def check(self, evidence: Evidence) -> Check:
        closed = evidence.of_kind("tickets.ticket.closed")[0].payload
        changed = []
        values: tuple[Any, ...] = (self.expected, evidence.entities["ticket"], cast(TicketClosed, closed).note)
        for data in values:
            with contextlib.suppress(TypeError):
                data["status"] = "changed"
                changed.append(data)
        return Check.of(not changed, f"changed {changed}")


def _run(bench: Workbench, state: type[State[Any]]) -> list[TaskRun]:
    def close(task_item: Any, sandboxes: Any) -> str:
        [ticket] = [each for each in sandboxes["desk"].tickets() if each["status"] == "open"]
        with contextlib.suppress(Exception):
            sandboxes["desk"].close_ticket(ticket["id"])
        return "done"

    bench.write("desk.yml", DESK)
    catalog = RegisteredCatalog(load_simulators([tickets(state=state)]))
    catalog.assertions.add(ChangesEvidence.name, ChangesEvidence)
    plan = plan_run(
        RunRequest(path=bench.folder, agent=PythonSolver("close", close), trials=2, concurrency=1), Settings(), catalog
    )
    execute(plan, bench.store, catalog)
    return bench.store.task_runs(plan.run.id)


def test_two_trials_of_a_task_begin_with_the_same_records(bench: Workbench) -> None:
    task_runs = _run(bench, TicketsState)
    assert [(run.verdict, run.error) for run in task_runs] == [("pass", ""), ("pass", "")]


def test_a_simulator_that_changes_records_in_place_is_errored_in_each_trial_alike(bench: Workbench) -> None:
    task_runs = _run(bench, ChangesRecordInPlace)
    assert [run.status for run in task_runs] == ["errored", "errored"]
    assert all("cannot be changed in place" in run.error for run in task_runs)


def test_agent_may_change_its_metadata_without_changing_the_log(bench: Workbench) -> None:
    bench.write(
        "talk.yml",
        """
        scenario:
          name: Talk
          simulation_context: You say hello.
          setup: {person: {lines: [{say: Hello, metadata: {device: {os: linux}}}]}}
        """,
    )

    def agent(message: Message) -> str:
        metadata: Any = message.metadata
        metadata["device"]["os"] = "changed"
        return "yes"

    task_run = bench.run_one(agent)
    assert task_run.agent_error == ""
    [messages] = [event["payload"] for event in bench.events(task_run) if event["payload"].get("metadata")]
    assert messages["metadata"] == {"device": {"os": "linux"}}
