"""Measure run coverage from the logs and snapshots of stored runs, and the domain of an agent if one is given."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Literal

from clerkship.assertions.registry import ASSERTIONS
from clerkship.by_name import load
from clerkship.engine.build import prepare_simulators
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.agent import ActionExecuted, FlowStarted, SlotSet, ToolExecuted
from clerkship.events.event import parse_line
from clerkship.events.lifecycle import FaultInjected, StepRan
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.model.run import TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.report.run_coverage import CoverageTable, RunCoverage, render_run_coverage
from clerkship.sandbox.component import ComponentSpec
from clerkship.sandbox.faults.registry import FAULTS, MODEL_FAULTS
from clerkship.sandbox.request import Refusal, Request
from clerkship.sandbox.route import find_route
from clerkship.sandbox.run_coverage import CoverageDimension, CoveredItem, LoggedEvent
from clerkship.sandbox.steps.fault_step import FaultStep
from clerkship.sandbox.steps.registry import STEPS
from clerkship.service.exporting import ReportFailed, write_files
from clerkship.service.stored_runs import load_datasets, load_snapshot, require_intact
from clerkship.simulators.spec import Spec
from clerkship.store.contract import Store
from clerkship.suite_files.foreign import read_domain

Exercised = tuple[str, CoveredItem]
"""An item, after the name of its table."""
REPORTED = {
    FlowStarted.kind: ("flows", "flow_id"),
    SlotSet.kind: ("slots", "name"),
    ActionExecuted.kind: ("actions", "name"),
    ToolExecuted.kind: ("tools", "tool_name"),
}
"""What agents report of themselves: the table that counts each event, and the field that names the item."""


def measure_run_coverage(
    store: Store,
    references: Iterable[str],
    catalog: RegisteredCatalog,
    domain: Path | None = None,
    damaged: list[str] | None = None,
) -> RunCoverage:
    """Return what some runs exercised together. Each run counts once, however often it is named.

    Raise SealBroken if one was changed. For `damaged` see `Store.task_runs`.
    """
    runs = list({run.id: run for run in map(store.run, references)}.values())
    notes = [note for run in runs for note in require_intact(store, run.id).notes()]
    task_runs = [task_run for run in runs for task_run in store.task_runs(run.id, damaged=damaged)]
    get_snapshot = cache(partial(load_snapshot, store))
    environments: dict[str, _CoveredEnvironment] = {}
    tables = {name: CoverageTable(name) for name in ("flows", "slots", "actions", "responses", "tools", "operations")}
    _add(tables, "possible", _list_names(domain) if domain is not None else ())
    for task_run in task_runs:
        snapshot = get_snapshot(task_run.snapshot)
        key = f"{snapshot.environment.model_dump_json()} {snapshot.datasets}"
        if key not in environments:
            environments[key] = _CoveredEnvironment(snapshot.environment, catalog)
            _add(tables, "possible", environments[key].list_possible(load_datasets(store, [snapshot]), catalog))
        for event in map(parse_line, store.log(task_run)):
            _add(tables, "exercised", environments[key].find_exercised(event))
        _add(tables, "exercised", _list_judged(task_run, snapshot))
    tables["actions"].exercised -= tables["responses"].possible | tables["responses"].exercised  # may run as actions
    shown = [table for table in tables.values() if table.possible or table.exercised]
    return RunCoverage(runs, len(task_runs), shown, tuple(notes))


def _add(tables: dict[str, CoverageTable], field: Literal["possible", "exercised"], items: Iterable[Exercised]) -> None:
    for table, item in items:
        getattr(tables.setdefault(table, CoverageTable(table)), field).add(item)


def _list_names(domain: Path) -> Iterator[Exercised]:
    """Yield the names of a domain. Its actions include its responses, which are counted apart."""
    known = read_domain(domain)
    responses = known.responses or frozenset()
    names = {"flows": known.flows, "slots": known.slots, "responses": responses}
    for table, listed in {**names, "actions": (known.actions or frozenset()) - responses}.items():
        yield from ((table, ("", name)) for name in listed or ())


class _CoveredEnvironment:
    """What trials in one environment can exercise, and which events do."""

    def __init__(self, environment: Environment, catalog: RegisteredCatalog) -> None:
        self._environment = environment
        self._simulators = {name: catalog.simulator(each.kind) for name, each in environment.simulators.items()}
        domains = {name: catalog.domain(each.kind) for name, each in environment.domains.items()}
        self._components: dict[str, ComponentSpec] = {**self._simulators, **domains}
        self._dimensions: dict[str, tuple[CoverageDimension, ...]] = {
            name: load(spec.run_coverage) for name, spec in self._simulators.items() if spec.run_coverage
        }
        self._steps = {step.name: step for spec in self._components.values() for step in spec.steps}
        self._faults = {
            *FAULTS,
            *MODEL_FAULTS,
            *(name for name, step in self._steps.items() if issubclass(step, FaultStep)),
        }

    def list_possible(self, datasets: Mapping[str, Dataset], catalog: RegisteredCatalog) -> Iterator[Exercised]:
        """Yield everything that can be exercised."""
        specs, simulators = self._components.values(), self._simulators.values()
        yield from (("operations", (spec.kind, each.name)) for spec in simulators for each in spec.operations)
        yield from (("events", (spec.kind, event.kind)) for spec in specs for event in spec.events)
        monitors = catalog.find_monitors({spec.kind for spec in simulators}, self._environment.monitors)
        names = {
            "steps": {name for name in (*STEPS, *self._steps) if not self._is_fault(name)},
            "faults": self._faults,
            "assertions": {*ASSERTIONS, *(each.name for spec in specs for each in spec.assertions)},
            "monitors": {monitor.name for monitor in monitors},
        }
        yield from ((table, ("", name)) for table, listed in names.items() for name in listed)
        for name, prepared in prepare_simulators(self._environment, datasets, catalog).items():
            for dimension in self._dimensions.get(name, ()):
                possible = dimension.list_possible(prepared.config, prepared.base)
                yield from ((dimension.name, item) for item in possible)

    def _is_fault(self, step: str) -> bool:
        return step.removeprefix("fault.") in self._faults

    def find_exercised(self, event: LoggedEvent) -> Iterator[Exercised]:
        """Yield what an event exercised. Slots that the scenario sets are none of the agent's doing."""
        kind, source, payload = event["kind"], event["source"], event["payload"]
        table, field = REPORTED.get(kind, ("", ""))
        if field in payload and event["actor"] != "scenario":  # a long name is stored beside the log
            yield table, ("", payload[field])
        if isinstance(payload.get("utter_name"), str):
            yield "responses", ("", payload["utter_name"])
        if kind == FaultInjected.kind:
            yield "faults", ("", payload["fault"])
        if kind == StepRan.kind and not self._is_fault(payload["step"]):
            yield "steps", ("", payload["step"])
        if source in self._components and kind.startswith(f"{self._components[source].kind}."):
            yield "events", (self._components[source].kind, kind)
        operation = _find_operation(self._simulators[source], event) if source in self._simulators else ""
        if operation:
            yield "operations", (self._simulators[source].kind, operation)
        for dimension in self._dimensions.get(source, ()):
            with suppress(KeyError):
                yield from ((dimension.name, item) for item in dimension.find_exercised(event))


def _find_operation(spec: Spec, event: LoggedEvent) -> str:
    """Return the operation of the request that an event records; empty if there is none."""
    request = event.get("request")
    if request is None:
        return ""
    if any(request["method"] == each.name for each in spec.operations):  # over another protocol than HTTP
        return str(request["method"])
    try:
        return find_route(spec.routes, Request(request["method"], request["path"]))[0].operation.name
    except Refusal:
        return ""


def _list_judged(task_run: TaskRun, snapshot: Snapshot) -> Iterator[Exercised]:
    """Yield the assertions and monitors that were judged; of an `any_of` also those in it."""
    judged = [criterion for criterion in task_run.criteria if criterion.status == "judged"]
    yield from (("monitors" if each.monitor else "assertions", ("", each.assertion)) for each in judged)
    labels = {each.label for each in judged}
    nested = [leaf for each in snapshot.task.criteria if each.label in labels for _, leaf in each.assertion.leaves()]
    yield from (("assertions", ("", leaf.name)) for leaf in nested)


def write_run_coverage(coverage: RunCoverage, target: Path) -> None:
    """Write the HTML page; raise ReportFailed."""
    failed = write_files({"html": target}, lambda sort: [render_run_coverage(coverage).encode()])
    if failed:
        raise ReportFailed(failed[0])
