"""Bad input: datasets with mistakes, functions that fail, and arguments that do not fit."""

import ctypes
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.model.errors import InputError
from clerkship.playground.failure import SimulatorBroken
from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.sandbox.request import Request
from clerkship.simulators.tables.config import TablesConfig
from clerkship.simulators.tables.handle import TableFunctions
from clerkship.simulators.tables.http import MAX_ARGUMENTS
from clerkship.suite_files.load import load_library
from tests.simulators.tables.library import FILES, open_rig, write_files, write_task
from tests.waiting import time_limit
from tests.workbench import CATALOG, Workbench

DATASET = FILES["library/dataset.yml"]


def find_mistakes(folder: Path, **changed: str) -> list[str]:
    """Return the mistakes in the library with some changed files."""
    write_files(folder, **changed)
    (folder / "task.yml").write_text(write_task("{table_state: {table: loans}}"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_library(folder, CATALOG)
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("file", "text", "mistake"),
    [
        ("devices", '{"a": {}\n "b": {}}', "library/devices.json:2:2: it is not JSON: unexpected character"),
        ("devices", "", "library/devices.json:1:1: it is not JSON: "),
        ("devices", "5", "library/devices.json:1:1: expected a map of id to record, or a list of records"),
        ("devices", '{"a": {},\n "b": 5}', "library/devices.json:2:7: b: expected a record: a map"),
        ("devices", '{"a": ' + '{"x":' * 80 + "1" + "}" * 81, "a: expected a record: a map, at most 64 levels deep"),
        (
            "loans",
            '[{"number": "1"},\n {"id": "2"}]',
            "loans.json:2:2: [1]: the record has no text as `number`",
        ),
        ("loans", '[{"number": "1"}, {"number": "1"}]', "[1]: two records have the id '1'"),
        ("functions", "def f(db) -> int:\n  '''F.'''\n  return (", "library/functions.py:3:1: it is not Python: "),
        ("functions", "x = 1\n", "library/functions.py:1:1: it has no public function"),
        ("functions", "def f(x: int):\n  '''F.'''\n", "library/functions.py:1:1: `f` has no parameter `db`"),
        ("functions", "\ndef f(db):\n  pass\n", "library/functions.py:2:1: `f` has no docstring"),
        ("functions", "def f(db, x):\n  '''F.'''\n", "library/functions.py:1:1: `f`: parameter `x` has no type"),
        ("functions", "def f(db, *x: int):\n  '''F.'''\n", "`f` has `*`, `**` or `/` parameters"),
        ("functions", "async def f(db):\n  '''F.'''\n", "`f` is async"),
        ("functions", "def read_policy(db):\n  '''F.'''\n", "`read_policy` is the name of a built-in operation"),
        (
            "functions",
            "def f(db):\n  '''F.'''\ndef f(db):\n  '''G.'''\n",
            "library/functions.py:3:1: `f` is defined twice",
        ),
        ("functions", "(" * 100_000, "it is not Python: "),
        ("dataset", DATASET.replace("devices.json", "none.json"), "tables.devices: none.json: there is no such file"),
        ("dataset", DATASET.replace("devices.json", "../../etc/x.json"), "../../etc/x.json: "),
        ("dataset", DATASET.replace("{devices:", "{de-vices:"), "'de-vices' is not the name of a table"),
    ],
)
def test_mistake_in_a_file_is_reported_with_its_place(tmp_path: Path, file: str, text: str, mistake: str) -> None:
    mistakes = find_mistakes(tmp_path, **{file: text})
    assert any(mistake in each for each in mistakes), mistakes


@pytest.mark.parametrize(
    ("criterion", "mistake"),
    [
        ("{table_state: {table: lones}}", "no table `lones` in desk; did you mean `loans`?"),
        ("{table_no_other_changes: {may: [{table: device}]}}", "no table `device` in desk; did you mean `devices`?"),
        (
            "{table_no_other_changes: {calls: [{name: lend}]}}",
            "no table function `lend` in desk; did you mean",
        ),
        ("{table_no_other_changes: {calls: [], must: [{table: loans}]}}", "`calls` do not go with `must` and `may`"),
    ],
)
def test_unknown_table_or_function_in_a_criterion_is_a_mistake(tmp_path: Path, criterion: str, mistake: str) -> None:
    write_files(tmp_path)
    (tmp_path / "task.yml").write_text(write_task(criterion), encoding="utf-8")
    with pytest.raises(InputError, match=mistake.replace("?", r"\?")):
        load_library(tmp_path, CATALOG)


def test_validation_does_not_run_the_functions(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    write_files(tmp_path, functions=f"open({str(marker)!r}, 'w').close()\n{FILES['library/functions.py']}")
    (tmp_path / "task.yml").write_text(
        write_task("{table_no_other_changes: {calls: [{name: find_devices}]}}"), encoding="utf-8"
    )
    load_library(tmp_path, CATALOG)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return db['devices']['pump-1'].nothing", r"`f` failed \(functions.py:3\): AttributeError"),
        ("return db['flights']", r"UnknownTable: there is no table 'flights' \(tables: devices, loans\)"),
        ("return {1, 2}", "`f`: its result is not JSON: Type is not JSON serializable: set"),
        ("return [[]] * 400_000", r"`f` returned [\d,]+ bytes \(limit: 1,000,000\)"),
        ("db['devices']['pump-1']['x'] = object()", "devices: the record 'pump-1' is not JSON"),
        ("db['devices'][5] = {}", "the id 5 is not a text"),
        ("db['devices']['x'] = 5", "the record 'x' is not a dict"),
        ("while True: pass", "`f` took more than 50,000 steps"),
        ("while True: db", r"`f` took more than 50,000 steps; does it ever end\?"),
        ("return sum(1 for _ in iter(int, 1))", "`f` took more than 50,000 steps"),
        ("return f(db)", "RecursionError"),
        ("for n in range(1001): db['devices'][str(n)] = {}", r"`f` changed 1,001 records \(limit: 1,000\)"),
        ("x = []\n    x.append(x)\n    return x", "its result is nested more than 64 levels deep"),
    ],
)
def test_function_that_fails_makes_the_trial_errored(body: str, reason: str) -> None:
    source = f"def f(db) -> int:\n    '''F.'''\n    {body}\n"
    with open_rig(source, TablesConfig(max_steps=50_000)) as rig:
        before = rig.dumped()
        with pytest.raises(SimulatorBroken, match=reason):
            rig.send(Request("POST", "/functions/f"))
        assert rig.playground.broken is not None
        assert rig.dumped() == before


def test_function_runs_while_an_exception_waits_for_a_thread_that_does_not_run() -> None:
    released = threading.Event()

    def wait() -> None:
        with suppress(SystemExit):
            released.wait(60)

    stuck = threading.Thread(target=wait)
    stuck.start()
    assert stuck.ident is not None
    # As for an agent that is stopped. In Python 3.11, this keeps traced functions from beginning.
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(stuck.ident), ctypes.py_object(SystemExit))
    try:
        with open_rig() as rig, time_limit(30):
            assert rig.send(Request("POST", "/functions/find_devices", body=b'{"kind": "pump"}')).status == 200
    finally:
        released.set()
        stuck.join(60)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[]", 422),
        (b"{", 400),
        (b'{"device_id": 5, "ward": "A"}', 422),
        (b'{"device_id": "pump-1"}', 422),
        (b'{"device_id": "pump-1", "ward": "A", "db": {}}', 422),
        (b'{"device_id": "pump-1", "ward": "A", "days": 1.5}', 422),
        (b'{"device_id": "' + b"x" * MAX_ARGUMENTS + b'", "ward": "A"}', 413),
        (b'{"device_id": ' + b"[" * 70 + b"]" * 70 + b"}", 422),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_the_function_runs(body: bytes, status: int) -> None:
    with open_rig() as rig:
        reply = rig.send(Request("POST", "/functions/lend_device", body=body))
        assert (reply.status, rig.playground.broken) == (status, None)
        assert orjson.loads(reply.body)["error"]["message"]
        assert not [event for event in rig.own_events() if event.kind == "tables.function.called"]


def test_refusal_is_bounded_and_a_record_that_is_missing_is_one() -> None:
    source = "def f(db, id: str) -> dict:\n    '''F.'''\n    if id == 'long':\n        raise ValueError('x' * 10_000)\n"
    with open_rig(f"{source}    return db['devices'][id]\n") as rig:
        long = rig.send(Request("POST", "/functions/f", body=b'{"id": "long"}'))
        missing = rig.send(Request("POST", "/functions/f", body=b'{"id": "../x"}'))
    assert (long.status, len(long.body) < 1_200) == (409, True)
    assert (missing.status, b"there is no record '../x' in devices" in missing.body) == (404, True)


def test_unknown_function_and_a_policy_that_is_not_there_are_refused(bench: Workbench) -> None:
    write_files(bench.folder, dataset=DATASET.replace("policy: policy.md", ""))
    bench.write("task.yml", write_task("{table_no_other_changes: {}}"))

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        desk = sandboxes.get_as(TableFunctions)
        with pytest.raises(Refused, match="404: no route for /functions/steal"):
            desk.call_function("steal")
        with pytest.raises(Refused, match="404: there is no policy"):
            desk.policy()

    assert bench.run_one(agent).verdict == "pass"
