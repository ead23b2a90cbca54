"""The example package `shop_plugin`: a benchmark of another tool, ported with `clerkship.plugin` alone."""

import ast
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from clerkship.checks.conformance import check_simulator
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.plugin_contract import InvalidPlugin, Plugin, collect_claims
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.rescore import rescore
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore
from clerkship.suite_files.load import load_library
from tests.plugin.outside import install_package

EXAMPLE = Path(__file__).parents[2] / "examples" / "shop_plugin"
REPORTS = """
import json, sys, urllib.request
work = json.loads(sys.stdin.readline())
print(json.dumps({"report": {"kind": "shop.policy.consulted", "rule": "cancellation"}}))
shop = work["sandboxes"]["shop"]
request = urllib.request.Request(shop["url"] + "/orders/W1/cancel", b'{"reason": "changed my mind"}')
request.add_header("Authorization", "Bearer " + shop["token"])
urllib.request.urlopen(request).read()
print(json.dumps({"answer": "done"}))
"""


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RegisteredCatalog]:
    """A catalog with the example installed. Its modules are removed afterwards."""
    site, before = tmp_path / "site", set(sys.modules)
    shutil.copytree(EXAMPLE / "src" / "shop_bench", site / "shop_bench")
    install_package(site, "shop_bench", None, "shop")
    monkeypatch.syspath_prepend(str(site))
    found = RegisteredCatalog()
    assert found.broken == []
    yield found
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "shop_bench":
            del sys.modules[name]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "store.db") as opened:
        yield opened


def run(catalog: RegisteredCatalog, store: SqliteStore, agent: str) -> TaskRun:
    """Run the example's task."""
    plan = plan_run(RunRequest(path=EXAMPLE / "practice", agent=agent), Settings(timeout=20), catalog)
    execute(plan, store, catalog)
    [task_run] = store.task_runs(plan.run.id)
    return task_run


def passed(task_run: TaskRun) -> dict[str, bool]:
    """Return which criteria passed, by the name of the assertion."""
    return {criterion.assertion: criterion.passed for criterion in task_run.criteria if not criterion.monitor}


def test_plugin_imports_only_the_plugin_api() -> None:
    imported = {
        node.module or ""
        for path in EXAMPLE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    }
    assert {name for name in imported if name.startswith("clerkship")} == {"clerkship.plugin"}


@pytest.mark.parametrize("agent", ["oracle", "shop:careful"])
def test_agent_of_the_plugin_and_the_solution_pass(catalog: RegisteredCatalog, store: SqliteStore, agent: str) -> None:
    task_run = run(catalog, store, agent)
    assert task_run.verdict == "pass", task_run


def test_criterion_finds_the_event_reported_by_the_agent(catalog: RegisteredCatalog, store: SqliteStore) -> None:
    task_run = run(catalog, store, "shop:careless")
    assert passed(task_run) == {"agent_acted": True, "shop.end_state": True, "sequencing": False}


def test_program_reports_the_event_as_json(catalog: RegisteredCatalog, store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(REPORTS, encoding="utf-8")
    task_run = run(catalog, store, f"command:{shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'agent.py'))}")
    assert passed(task_run)["shop.end_state"]  # lines and requests of a program have no common order
    reported = [event for event in map(orjson.loads, store.log(task_run)) if event["kind"] == "shop.policy.consulted"]
    assert [(event["actor"], event["payload"]) for event in reported] == [("agent", {"rule": "cancellation"})]


def test_end_state_assertion_shows_differences_from_the_dataset(catalog: RegisteredCatalog, store: SqliteStore) -> None:
    task_run = run(catalog, store, "nop")
    [criterion] = [one for one in task_run.criteria if one.assertion == "shop.end_state"]
    assert [(one.path, one.expected, one.actual) for one in criterion.evidence[0].differences] == [
        ("status", "cancelled", "pending"),
        ("cancel_reason", "changed my mind", "(absent)"),
    ]


def test_run_is_rescored_from_its_log(catalog: RegisteredCatalog, store: SqliteStore) -> None:
    task_run = run(catalog, store, "shop:careful")
    again = rescore(store, task_run.run, catalog)
    [regraded] = store.task_runs(again.run.id)
    assert passed(regraded) == passed(task_run)


def test_simulator_of_the_plugin_passes_conformance(catalog: RegisteredCatalog) -> None:
    check_simulator(catalog.simulator("shop.orders"))


def test_misspelled_field_of_a_plugin_event_is_rejected(catalog: RegisteredCatalog, tmp_path: Path) -> None:
    text = (EXAMPLE / "practice" / "cancel.yml").read_text(encoding="utf-8").replace("{rule: cance", "{rul: cance")
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "cancel.yml").write_text(text.replace("  solution: solution.py\n", ""), encoding="utf-8")
    with pytest.raises(InputError, match=r"`shop.policy.consulted` has no field `rul`; did you mean `rule`"):
        load_library(tmp_path / "suite", catalog)


def test_plugin_events_are_validated(catalog: RegisteredCatalog) -> None:
    event = catalog.events["shop.policy.consulted"]
    with pytest.raises(InvalidPlugin, match=r"event `shop.policy.consulted` does not start with its prefix, `acme.`"):
        collect_claims(Plugin(contract=2, events=(event,)), "acme")
    with pytest.raises(InvalidPlugin, match=r"one of its events is the class int .expected a subclass of Payload"):
        collect_claims(Plugin(contract=2, events=(int,)), "acme")  # type: ignore[arg-type]
    spec = catalog.simulator("shop.orders")
    with pytest.raises(InvalidPlugin, match=r"event `shop.orders.order.read` is emitted by one of its simulators"):
        collect_claims(Plugin(contract=2, simulators=(spec,), events=(spec.events[0],)), "shop")
