"""Functions over tables: their schemas, their calls, and what calls change."""

from typing import Any

import orjson
import pytest

from clerkship.model.errors import InputError
from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.sandbox.request import Request
from clerkship.sandbox.tools import build_tools
from clerkship.simulators.tables.events import FunctionCalled, RecordChanged
from clerkship.simulators.tables.functions import load_functions
from clerkship.simulators.tables.handle import TableFunctions
from clerkship.simulators.tables.run_coverage import DIMENSIONS
from clerkship.simulators.tables.state import TablesState
from tests.simulators.tables.library import open_rig, write_files, write_task
from tests.workbench import Workbench

TYPES = '''
from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict


class Passenger(TypedDict, total=False):
    first: str
    age: int


def book(
    db,
    seats: list[Passenger],
    cabin: Literal["economy", "business"],
    price: float,
    note: Annotated[str | None, "a wish"] = None,
    extra: dict[str, int] | None = None,
    anything: Any = None,
) -> dict:
    """Book seats.

    They must be free.

    Args:
        seats: who travels,
            in order
        price: in euros

    Returns:
        The booking.

    Raises:
        ValueError: if it is full
    """
    return {}


def _hidden(db) -> None:
    """Not an operation."""
'''


def test_schema_of_a_function_follows_from_its_types_and_docstring() -> None:
    functions = load_functions(TYPES)
    assert list(functions) == ["book"]
    assert functions["book"].description == "Book seats.\n\nThey must be free."
    properties = functions["book"].schema["properties"]
    passenger = {"first": {"type": "string"}, "age": {"type": "integer"}}
    items = {"type": "object", "properties": passenger, "required": [], "additionalProperties": False}
    assert properties["seats"] == {"type": "array", "items": items, "description": "who travels, in order"}
    assert properties["cabin"] == {"enum": ["economy", "business"]}
    assert properties["price"] == {"type": "number", "description": "in euros"}
    assert (properties["note"]["description"], properties["note"]["default"]) == ("a wish", None)
    assert functions["book"].schema["required"] == ["seats", "cabin", "price"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_module_here\n", "cannot be imported: ModuleNotFoundError: No module named"),
        (
            "from datetime import date\ndef f(db, day: date):\n    '''F.'''\n",
            "parameter `day`: `date` is not",
        ),
        (
            "from __future__ import annotations\ndef f(db, day: Day):\n    '''F.'''\n",
            "`f` \\(line 2\\): name 'Day'",
        ),
        ("def f(db, days: dict[int, str]):\n    '''F.'''\n", "the keys of a map must be `str`"),
        ("raise SystemExit(3)\n", "cannot be imported: SystemExit: 3"),
    ],
)
def test_functions_that_cannot_be_loaded_are_an_input_error(source: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_functions(source)


def test_effects_are_logged_as_differences_and_a_refused_call_changes_nothing() -> None:
    with open_rig() as rig:
        lent = rig.send(Request("POST", "/functions/lend_device", body=b'{"device_id": "pump-1", "ward": "A"}'))
        loan = orjson.loads(lent.body)["loan"]
        again = rig.send(Request("POST", "/functions/lend_device", body=b'{"device_id": "pump-1", "ward": "B"}'))
        missing = rig.send(Request("POST", "/functions/return_device", body=b'{"device_id": "pump-9"}'))
        payloads = [event.payload for event in rig.own_events()]
    assert [payload for payload in payloads if isinstance(payload, RecordChanged)] == [
        RecordChanged(table="devices", id="pump-1", change="updated", before={"loan": None}, after={"loan": loan}),
        RecordChanged(table="loans", id=loan, change="created", after=payloads[1].after),  # type: ignore[attr-defined]
    ]
    calls = [payload for payload in payloads if isinstance(payload, FunctionCalled)]
    assert [(call.name, call.changes, call.refusal, call.ids) for call in calls] == [
        ("lend_device", 2, "", (loan,)),
        ("lend_device", 0, "pump-1 is lent already", ()),
        ("return_device", 0, "there is no record 'pump-9' in devices", ()),
    ]
    assert (again.status, missing.status) == (409, 404)


def test_a_replay_does_not_run_the_functions() -> None:
    counting = (
        "CALLS = []\ndef touch(db) -> int:\n    '''Count.'''\n    CALLS.append(1)\n"
        "    db['devices']['pump-1']['n'] = len(CALLS)\n    return len(CALLS)\n"
    )
    with open_rig(counting) as rig:
        assert [rig.send(Request("POST", "/functions/touch")).body for _ in range(2)] == [b"1", b"2"]
        assert rig.rebuilt() == rig.dumped()
        assert rig.send(Request("POST", "/functions/touch")).body == b"3"


def test_each_function_is_a_tool_with_flat_arguments() -> None:
    with open_rig() as rig:
        spec = rig.playground.sandboxes[rig.name].spec
        tools = {tool.name: tool for tool in build_tools("desk", spec.routes, spec.operations, is_only=True)}
        assert list(tools) == ["read_policy", "find_devices", "lend_device", "return_device"]
        assert tools["lend_device"].parameters["required"] == ["device_id", "ward"]
        request = tools["lend_device"].build_request({"device_id": "pump-1", "ward": "A"})
        assert rig.send(request).status == 200


def test_records_are_listed_in_the_order_of_the_dataset_with_created_ones_last() -> None:
    source = """
def churn(db) -> list:
    '''Change the devices.'''
    devices = db["devices"]
    devices["new"] = {}
    del devices["pump-1"]
    seen = list(devices)
    devices["pump-1"] = {"kind": "pump"}
    assert len(devices) == 3 and "nothing" not in devices and devices.get("nothing") is None
    return seen
"""
    with open_rig(source) as rig:
        assert orjson.loads(rig.send(Request("POST", "/functions/churn")).body) == ["bed-1", "new"]
        state = rig.playground.sandboxes[rig.name].state
        assert isinstance(state, TablesState)
        assert list(state.ids("devices")) == ["pump-1", "bed-1", "new"]
        assert state.read("devices", "pump-1") == {"kind": "pump"}


def test_an_agent_calls_functions_through_the_handle(bench: Workbench) -> None:
    write_files(bench.folder)
    bench.write("task.yml", write_task("{table_state: {table: loans, fields: [{path: ward, expected: A}]}}"))

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        desk = sandboxes.get_as(TableFunctions)
        assert [each["name"] for each in desk.functions()] == ["find_devices", "lend_device", "return_device"]
        assert desk.policy() == "Lend each device once.\n"
        assert desk.call_function("find_devices", kind="bed") == [{"id": "bed-1", "kind": "bed", "loan": None}]
        desk.call_function("lend_device", device_id="pump-1", ward="A")
        with pytest.raises(Refused, match=r"409: pump-1 is lent already \(refused\)"):
            desk.call_function("lend_device", device_id="pump-1", ward="A")
        with pytest.raises(Refused, match="422: ward: must be one of"):
            desk.call_function("lend_device", device_id="bed-1", ward="Z")

    assert bench.run_one(agent).verdict == "pass"


def test_steps_put_and_delete_records_and_call_functions(bench: Workbench) -> None:
    write_files(bench.folder)
    steps = """scenario:
    steps:
      - tables.put: {table: devices, id: bed-2, record: {kind: bed, loan: null}}
      - tables.put: {table: devices, id: bed-2, record: {kind: cot}, merge: true}
      - tables.delete: {table: devices, id: bed-1}
      - tables.call: {function: lend_device, arguments: {device_id: pump-1, ward: B}}"""
    bench.write("task.yml", write_task("{table_state: {table: devices, count: 2}}", steps))

    def agent(task_item: Any, sandboxes: Sandboxes) -> Any:
        return sandboxes.get_as(TableFunctions).call_function("find_devices")

    run = bench.run_one(agent)
    assert run.criteria[0].passed, run.criteria[0].detail
    devices: Any = run.answer
    assert devices[1] == {"id": "bed-2", "kind": "cot", "loan": None}
    changes = [event for event in bench.events(run) if event["kind"] == "tables.record.changed"]
    assert {event["actor"] for event in changes} == {"scenario"}


def test_a_fault_may_name_a_function(bench: Workbench) -> None:
    write_files(bench.folder)
    steps = "scenario: {steps: [{fault.error: {operation: lend_device, times: 1}}]}"
    bench.write("task.yml", write_task("{table_state: {table: loans, count: 1}}", steps))

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        desk = sandboxes.get_as(TableFunctions)
        desk.call_function("find_devices")
        with pytest.raises(Refused, match="503"):
            desk.call_function("lend_device", device_id="pump-1", ward="A")
        desk.call_function("lend_device", device_id="pump-1", ward="A")

    assert bench.run_one(agent).verdict == "pass"


def test_run_coverage_counts_the_functions_that_were_called_and_refused() -> None:
    with open_rig() as rig:
        rig.send(Request("POST", "/functions/find_devices"))
        rig.send(Request("POST", "/functions/return_device", body=b'{"device_id": "pump-1"}'))
        [dimension] = DIMENSIONS
        prepared = rig.prepared_simulators[rig.name]
        possible = set(dimension.list_possible(prepared.config, prepared.base))
        lines = [orjson.loads(line) for line in rig.lines]
    exercised = {item for line in lines for item in dimension.find_exercised(line)}
    assert exercised == {("called", "find_devices"), ("refused", "return_device")}
    assert exercised < possible
