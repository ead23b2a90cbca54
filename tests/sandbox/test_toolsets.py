"""Which operations models get as tools: the setting `toolset` of a simulator, and the results that they see."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.actors.toolbox import MAX_KEPT_RESULTS, Toolbox, ToolOptions
from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.model.environment import Simulator
from clerkship.playground.in_process import open_sandboxes
from clerkship.providers.contract import ModelToolCall
from clerkship.sandbox.tools import build_tools
from clerkship.simulators import files
from clerkship.simulators.registry import KINDS, KindEntry
from tests.checks.conformance.pager import SPEC as PAGER


@pytest.fixture
def tools() -> Iterator[Toolbox]:
    with SimulatorRig(files.SPEC) as rig:
        sandboxes = open_sandboxes(rig.gateway, rig.playground, lambda: "http://127.0.0.1:1")
        yield Toolbox(sandboxes, ToolOptions(("read_more",), max_result=1000))


def call(tools: Toolbox, name: str, **arguments: Any) -> str:
    """Return the result of a tool call."""
    return str(tools.call(ModelToolCall("1", name, arguments)).content)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_essential_tools_are_a_small_part_of_a_large_kind(kind: KindEntry) -> None:
    spec = kind.load()
    every = [tool.name for tool in build_tools("box", spec.routes, spec.operations)]
    essential = [tool.name for tool in build_tools("box", spec.routes, spec.operations, toolset="essential")]
    assert set(essential) <= set(every)
    assert essential
    if len(every) > 3:
        assert len(essential) < len(every)
    assert len(essential) <= 13


def test_kind_without_essential_operations_has_all_of_them() -> None:
    tools = build_tools("box", PAGER.routes, PAGER.operations, toolset="essential")
    assert [tool.operation.name for tool in tools] == ["send_page", "list_pages"]


def test_toolset_is_one_of_two_and_the_default_is_not_written() -> None:
    assert Simulator(kind="files").model_dump(mode="json") == {"kind": "files", "config": {}, "datasets": None}
    assert Simulator(kind="files", toolset="essential").model_dump()["toolset"] == "essential"
    with pytest.raises(ValidationError, match="Input should be 'all' or 'essential'"):
        Simulator.model_validate({"kind": "files", "toolset": "few"})


def test_long_result_is_read_in_parts(tools: Toolbox) -> None:
    text = "".join(f"line {number}\n" for number in range(300))
    call(tools, "write_file", path="long.txt", data=text)
    cut = call(tools, "read_file", path="long.txt")
    assert cut.startswith("[cut at 1,000 of 2,590 characters: read on with read_more, result 1, offset 1000]")
    parts = [call(tools, "read_more", result=1, offset=offset) for offset in (0, 1000, 2000)]
    assert "".join(part.rpartition("\n")[0] for part in parts) == text
    assert parts[1].endswith("[… 590 more characters: offset 2000]")
    assert parts[2].endswith("[the end]")


def test_only_the_last_long_results_are_kept(tools: Toolbox) -> None:
    call(tools, "write_file", path="long.txt", data="x" * 1001)
    for _ in range(MAX_KEPT_RESULTS + 1):
        call(tools, "read_file", path="long.txt")
    assert call(tools, "read_more", result=1, offset=0).startswith("error: no result 1 is kept (expected: one of")
    assert call(tools, "read_more", result=2, offset=0).startswith("x" * 1000)


@pytest.mark.parametrize(
    "arguments", [{}, {"result": 1}, {"result": "1", "offset": 0}, {"result": 1, "offset": 0, "more": 1}]
)
def test_read_more_refuses_other_arguments(tools: Toolbox, arguments: dict[str, Any]) -> None:
    assert call(tools, "read_more", **arguments).startswith("error: read_more takes `result` and `offset`")


def test_operation_with_the_name_of_an_own_tool_gets_another_name() -> None:
    voice = next(kind for kind in KINDS if kind.kind == "voice").load()
    with SimulatorRig(voice) as rig:
        sandboxes = open_sandboxes(rig.gateway, rig.playground, lambda: "http://127.0.0.1:1")
        names = [tool.name for tool in Toolbox(sandboxes, ToolOptions(("wait",))).definitions]
    assert len(names) == len(set(names))
    assert {"wait", "wait_2"} <= set(names)
