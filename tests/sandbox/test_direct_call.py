"""Operations without an HTTP route: called by name by the tools of a model, recorded and replayed."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from clerkship.actors.toolbox import Toolbox
from clerkship.checks.conformance.rig import SimulatorRig, prepare_domains
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.providers.contract import ModelToolCall
from clerkship.recording import recorded_agent
from clerkship.sandbox.call_record import decode_bytes, encode_bytes
from clerkship.sandbox.direct_call import DirectCall
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.operation import OperationCall
from clerkship.simulators import files
from clerkship.simulators.files.exercise import HALF
from clerkship.simulators.files.operations import NewFile, write_file
from clerkship.simulators.files.sftp.call import SftpCall
from clerkship.simulators.registry import KINDS
from clerkship.simulators.spec import Spec
from tests.checks.conformance.pager import SPEC, parse_line, send_page


@pytest.fixture
def rig() -> Iterator[SimulatorRig]:
    with SimulatorRig(SPEC) as opened:
        yield opened


@pytest.fixture
def sandboxes(rig: SimulatorRig) -> Sandboxes:
    return open_sandboxes(rig.gateway, rig.playground, lambda: "http://127.0.0.1:1")


def _call_tool(tools: Toolbox, name: str, **arguments: Any) -> str:
    return str(tools.call(ModelToolCall("1", name, arguments)).content)


def test_a_model_calls_an_operation_without_a_route(rig: SimulatorRig, sandboxes: Sandboxes) -> None:
    tools = Toolbox(sandboxes)
    names = [tool.name for tool in tools.definitions]
    assert names == ["send_page", "list_pages"]
    assert _call_tool(tools, "send_page", number="12", text="call") == "sent"
    assert _call_tool(tools, "list_pages") == '[["12","call"]]'
    assert _call_tool(tools, "send_page") == "error: `number` is missing (expected: string: the number of the pager)"
    assert _call_tool(tools, "send_page", number="12", urgent=True).startswith("error: unknown argument `urgent`")
    assert _call_tool(tools, "send_page", number=["12"]).startswith("refused with status 422: number: Input should be")
    assert rig.playground.broken is None
    requests = [event.request for event in rig.playground.log.events if event.request is not None]
    assert [(request.method, request.status) for request in requests] == [
        ("send_page", 200),
        ("list_pages", 200),
        ("send_page", 422),
    ]


def test_a_handle_calls_an_operation_by_name(sandboxes: Sandboxes) -> None:
    assert sandboxes["box"].call("send_page", {"number": "x"}).status == 422
    assert sandboxes["box"].call("send_page", {"number": "1"}).body == b"sent"
    with pytest.raises(ValueError, match="no operation `fly`"):
        sandboxes["box"].call("fly")


def test_bytes_are_preserved_by_encoding_and_decoding() -> None:
    data = {"a": [b"\x00\xff", {"b": b""}], "c": 1, "d": None}
    assert decode_bytes(orjson.loads(orjson.dumps(encode_bytes(data)))) == data


@pytest.mark.parametrize(
    ("spec", "call"),
    [
        (SPEC, parse_line("page 12 call the ward")),
        (SPEC, parse_line("page x")),
        (SPEC, DirectCall(send_page, {"number": "7"})),
        (files.SPEC, SftpCall(write_file, HALF, HALF.path, HALF.data)),
        (files.SPEC, SftpCall(write_file, NewFile(path="a.bin", data=bytes(range(256))), "a.bin", bytes(range(256)))),
    ],
    ids=["line", "refused", "by-name", "listener-only-field", "bytes"],
)
def test_replayed_call_produces_the_same_log(spec: Spec, call: OperationCall[Any, Any]) -> None:
    acts: list[dict[str, Any] | None] = []
    with SimulatorRig(spec) as first, SimulatorRig(spec) as again:
        first.gateway.subscribe_requests(
            first.playground, lambda _, call: acts.append(recorded_agent.to_recorded_action("box", call))
        )
        first.send(call)
        [act] = orjson.loads(orjson.dumps(acts))
        recorded_agent.repeat_action(act, open_sandboxes(again.gateway, again.playground, lambda: "http://127.0.0.1:1"))
        assert again.lines == first.lines
        assert first.playground.broken is None


@pytest.mark.parametrize(
    ("kind", "operation", "arguments"),
    [
        (entry.kind, operation.name, {})
        for entry in KINDS
        for operation in entry.load().operations
        if not operation.schema.get("required")
    ]
    + [("fhir", "read", {"type": "Patient", "id": "p1"}), ("x12", "send_interchange", {"edi": b"ISA"})],
)
def test_no_direct_call_breaks_a_trial(kind: str, operation: str, arguments: dict[str, Any]) -> None:
    spec = next(entry for entry in KINDS if entry.kind == kind).load()
    prepared = PreparedSimulator(spec, spec.config(), spec.prepare(spec.exercise_datasets))
    with SimulatorRig(spec, prepared=prepared, domains=prepare_domains(spec)) as rig:
        sandboxes = open_sandboxes(rig.gateway, rig.playground, lambda: "http://127.0.0.1:1")
        reply = sandboxes["box"].call(operation, arguments)
        assert rig.playground.broken is None
        assert reply.status < 500
