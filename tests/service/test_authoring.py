"""The tools with which a coding assistant writes suites."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.mcp.server import UnknownTool
from clerkship.service.authoring import MAX_RESULT_LENGTH, TOOLS, AuthoringServer
from tests.actors.programs import runs
from tests.command_server import get_command
from tests.mcp.tool_servers import request
from tests.waiting import wait_until

TASK = """
task:
  name: Say yes
  task_item: {instruction: Answer with yes.}
  criteria:
    - {label: It said yes, gate: true, assertion: {answer_matches: "yes"}}
  solution: yes.py
"""


@pytest.fixture
def server(tmp_path: Path) -> AuthoringServer:
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "yes.yml").write_text(TASK)
    (tmp_path / "suite" / "yes.py").write_text("def on_task(task_item, sandboxes):\n    return 'yes'\n")
    return AuthoringServer(tmp_path, program=(get_command(),))


def call(server: AuthoringServer, tool: str, **arguments: Any) -> str:
    outcome = server.call_tool(tool, arguments)
    assert not outcome.is_error, outcome.text
    return outcome.text


def fail(server: AuthoringServer, tool: str, **arguments: Any) -> str:
    outcome = server.call_tool(tool, arguments)
    assert outcome.is_error, outcome.text
    return outcome.text


def test_a_suite_is_validated_run_mended_and_compared(server: AuthoringServer, tmp_path: Path) -> None:
    path = tmp_path / "suite" / "yes.yml"
    path.write_text(TASK.replace("answer_matches", "answer_match"))
    told = call(server, "validate", path="suite")
    assert "suite/yes.yml:6:" in told
    assert "did you mean `answer_matches`" in told
    assert told.endswith("exit code 2")
    path.write_text(TASK)
    assert call(server, "validate", path="suite").endswith("exit code 0")
    assert "pass 1" in call(server, "run", path="suite", agent="oracle")
    assert "fail 1" in call(server, "run", path="suite", agent="nop", tasks=["Say"], no_judge=True)
    assert "Say yes" in call(server, "show", run="latest~1")
    explained = call(server, "explain_failure")
    assert "It said yes" in explained
    assert "run.ended" in explained
    assert call(server, "explain_failure", run="latest~1") == "every task of latest~1 passed"
    assert "It said yes" in call(server, "compare", before="latest~1")


def test_solutions_are_read_again_in_each_call(server: AuthoringServer, tmp_path: Path) -> None:
    solution = tmp_path / "suite" / "yes.py"
    solution.write_text(solution.read_text().replace("'yes'", "'no'"))
    assert "fail 1" in call(server, "run", path="suite", agent="oracle")
    solution.write_text(solution.read_text().replace("'no'", "'yes'"))
    assert "pass 1" in call(server, "run", path="suite", agent="oracle")


def test_a_new_task_works(server: AuthoringServer, tmp_path: Path) -> None:
    told = call(server, "new_task", name="Read the drop", folder="more", kind="files")
    assert told.endswith("exit code 0")
    assert call(server, "validate", path="more").endswith("exit code 0")


def test_attacks_that_pass_are_reported(server: AuthoringServer) -> None:
    assert call(server, "attack", path="suite", only=["be-polite"]).endswith("exit code 0")


def test_assertions_are_listed_and_described(server: AuthoringServer) -> None:
    listed = call(server, "list_assertions")
    assert "- `never`: No event of this kind" in listed
    assert "Unknown values" not in listed
    described = call(server, "list_assertions", names=["never", "any_of"])
    assert "never: {event: files.file.deleted" in described
    assert "## any_of" in described
    assert "unknown assertion `nver`" in fail(server, "list_assertions", names=["nver"])


def test_pages_and_sections_are_read(server: AuthoringServer) -> None:
    assert "`guide/write_a_task`" in call(server, "read_docs")
    assert call(server, "read_docs", page="write_tasks_with_a_model").startswith("# Teach a model")
    assert "files.drop:" in call(server, "read_docs", page="reference/steps", section="files.drop")
    assert "it has `Faults`" in fail(server, "read_docs", page="reference/steps", section="files.drip")
    assert "there is no page" in fail(server, "read_docs", page="reference/stepz")
    pages = [each.uri for each in server.list_resources()]
    assert "clerkship-docs:reference/steps" in pages
    assert server.read_resource(pages[0])
    assert server.read_resource("clerkship-docs:../security") is None


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("validate", {}, "path"),
        ("validate", {"path": 7}, "string"),
        ("validate", {"path": "suite", "deep": True}, "deep"),
        ("run", {"path": "suite", "agent": "nop", "trials": 0}, "trials"),
        ("compare", {"before": "x" * 2000}, "before"),
    ],
)
def test_wrong_arguments_are_results_that_the_model_reads(
    server: AuthoringServer, tool: str, arguments: dict[str, Any], message: str
) -> None:
    assert message in fail(server, tool, **arguments)


def test_values_are_no_options(server: AuthoringServer, tmp_path: Path) -> None:
    told = call(server, "validate", path="--help")
    assert "Usage" not in told
    assert told.endswith("exit code 2")


def test_a_command_that_cannot_be_started_is_a_result(tmp_path: Path) -> None:
    assert "cannot be started: embedded null byte" in fail(run_python(tmp_path, "pass"), "validate", path="a\0b")
    assert "cannot be started: " in fail(run_python(tmp_path / "gone", "pass"), "validate", path="suite")


def test_an_unknown_tool_is_an_error_of_the_protocol(server: AuthoringServer) -> None:
    with pytest.raises(UnknownTool, match=r"unknown tool 'rm' .*validate"):
        server.call_tool("rm", {})


def test_explaining_a_run_that_does_not_exist_says_so(server: AuthoringServer) -> None:
    assert "store" in fail(server, "explain_failure", run="nothing")


def run_python(folder: Path, code: str, timeout: float = 60.0) -> AuthoringServer:
    """Return a server whose commands are a Python program instead of Clerkship."""
    return AuthoringServer(folder, timeout, (sys.executable, "-c", code))


def test_a_long_result_loses_its_middle(tmp_path: Path) -> None:
    told = call(run_python(tmp_path, "print('begin', 'x' * 100_000, 'end')"), "validate", path="suite")
    assert told.startswith("begin")
    assert told.endswith("end\nexit code 0")
    assert "characters left out" in told
    assert len(told) < MAX_RESULT_LENGTH + 200


def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)'])\n"
        "open('pid.tmp', 'w').write(str(child.pid)); os.rename('pid.tmp', 'pid'); time.sleep(100)"
    )
    assert "took longer than 2 s and was ended" in fail(run_python(tmp_path, code, 2), "validate", path="suite")
    child = int((tmp_path / "pid").read_text())
    wait_until(lambda: not runs(child), "the child has ended")


def ask(folder: Path, *messages: bytes) -> list[Any]:
    command: Sequence[str] = (get_command(), "author", str(folder))
    done = subprocess.run(command, input=b"\n".join(messages) + b"\n", capture_output=True, timeout=60, check=True)
    return [orjson.loads(line) for line in done.stdout.splitlines()]


def test_the_command_serves_the_tools_over_its_standard_streams(tmp_path: Path) -> None:
    start = request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}, 1)
    tools, broken = request("tools/list", {}, 2), b"{"
    pages = request("tools/call", {"name": "read_docs", "arguments": {}}, 3)
    started, listed, refused, read = ask(tmp_path, start, tools, broken, pages)
    assert "write_tasks_with_a_model" in started["result"]["instructions"]
    assert [tool["name"] for tool in listed["result"]["tools"]] == [*TOOLS]
    assert refused["error"]["code"] == -32700
    assert "guide/write_a_task" in read["result"]["content"][0]["text"]
