"""The real Claude Code and Codex do a task: tools over MCP, models of a stand-in provider behind the model proxy."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from clerkship.events.lifecycle import SpanRecorded
from clerkship.service.scaffold import create_project
from tests.actors.installed_work import work
from tests.clients.installs import CACHE, install_lock
from tests.command_server import get_command_path
from tests.model_proxy.provider import KEY, Call, ModelProvider, Raw, ReceivedCall, build_answer

PACKAGES = Path(__file__).with_name("package.json")
VERSIONS = json.loads(PACKAGES.read_bytes())["dependencies"]


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The programs on the PATH, and a home folder without a login."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    folder, wanted = CACHE / "installed-agents-node", PACKAGES.read_bytes()
    with install_lock(folder):
        if not (folder / "installed.json").is_file() or (folder / "installed.json").read_bytes() != wanted:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "package.json").write_bytes(wanted)
            command = [npm, "install", "--no-package-lock", "--silent"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode != 0:
                pytest.skip(f"the programs cannot be installed: {done.stderr.strip()[-300:]}")
            (folder / "installed.json").write_bytes(wanted)
    for name in os.environ:
        if name.startswith(("ANTHROPIC_", "CLAUDE", "CODEX_", "OPENAI_")):
            monkeypatch.delenv(name)
    binaries = folder / "node_modules" / ".bin"
    monkeypatch.setenv("PATH", f"{binaries}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    return binaries


@pytest.mark.slow
@pytest.mark.long
def test_claude_code_does_a_task() -> None:
    with ModelProvider(Call("mcp__clerkship__read_file", {"path": "inbox/a.txt"}), "42") as provider:
        worked = work("claude-code", "--model sonnet", provider)
    assert worked.answer == 42
    assert worked.kinds == ["agent.model.called", "agent.action.executed", "files.file.read", "agent.model.called"]
    assert worked.facts["agent_version"] == VERSIONS["@anthropic-ai/claude-code"]
    assert [usage["prompt_tokens"] for usage in worked.desk.usage] == [100, 100]


@pytest.mark.slow
@pytest.mark.long
def test_spans_of_claude_code_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_CODE_ENABLE_TELEMETRY", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    with ModelProvider(Call("mcp__clerkship__read_file", {"path": "inbox/a.txt"}), "42") as provider:
        worked = work("claude-code", "--model sonnet", provider)
    assert worked.answer == 42
    events = worked.desk.events
    assert "agent.tool.executed" not in [event.kind for event in events]  # the call over MCP is an action already
    spans = [event.payload for event in events if isinstance(event.payload, SpanRecorded)]
    operations = [(span.operation, span.name.removeprefix("claude_code.")) for span in spans]
    assert operations[0] == ("invoke_agent", "interaction")
    assert operations.count(("chat", "llm_request")) == 2
    assert operations.count(("execute_tool", "tool")) == 1
    assert {span.provider for span in spans if span.operation == "chat"} == {"anthropic"}
    [tool] = [span for span in spans if span.operation == "execute_tool"]
    assert (tool.tool_name, tool.is_error) == ("mcp__clerkship__read_file", False)
    measured = worked.desk.playground.sidecar.data()["spans"]
    assert [(each["input_tokens"], each["output_tokens"]) for each in measured if "input_tokens" in each] == [
        (100, 10)
    ] * 2
    assert [each["call_id"] for each in measured if "call_id" in each] == ["toolu_0"]


@pytest.mark.slow
@pytest.mark.long
def test_codex_does_a_task() -> None:
    with ModelProvider(call_in_namespace(), "42") as provider:
        worked = work("codex", "--model gpt-5.1", provider)
    assert worked.answer == 42
    assert worked.kinds == ["agent.model.called", "agent.action.executed", "files.file.read", "agent.model.called"]
    assert worked.facts["agent_version"] == VERSIONS["@openai/codex"]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("agent", ["claude-code:--model sonnet", "codex:--model gpt-5.1"])
def test_run_is_recorded_and_replayed_without_a_key(tmp_path: Path, agent: str) -> None:
    create_project(tmp_path / "desk")
    command = ["clerkship", "run", "practice", "--tag", "files", "--agent", agent]
    with ModelProvider("42") as provider:
        keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "ANTHROPIC_BASE_URL": provider.url}
        environ = os.environ | keys | {"OPENAI_BASE_URL": f"{provider.url}/v1"}
        for option, environment in (("--record", environ), ("--replay", dict(os.environ))):
            done = subprocess.run(
                [*command, option],
                cwd=tmp_path / "desk",
                env=environment | {"PATH": f"{get_command_path()}{os.pathsep}{os.environ['PATH']}"},
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
            assert len([call for call in provider.received if call.method == "POST"]) == 1


def call_in_namespace() -> Raw:
    """Return an answer that calls a tool as models do for Codex: with the namespace of the MCP server."""
    received = ReceivedCall("POST", "/v1/responses", {}, b'{"stream": true}')
    _, events = build_answer(received, Call("read_file", {"path": "inbox/a.txt"}), 0)
    assert events is not None
    named = b"".join(events).replace(b'"name": "read_file"', b'"namespace": "mcp__clerkship", "name": "read_file"')
    return Raw(200, named, "text/event-stream")


@pytest.mark.slow
@pytest.mark.long
def test_options_of_the_stand_ins_are_those_of_the_programs(programs: Path) -> None:
    claude = read_help(programs / "claude")
    for option in ("--print", "--output-format", "--no-session-persistence", "--strict-mcp-config", "--mcp-config"):
        assert option in claude
    assert "--allowedTools" in claude
    codex = read_help(programs / "codex", "exec")
    for option in ("--skip-git-repo-check", "--ephemeral", "--color", "--output-last-message", "--config"):
        assert option in codex


def read_help(*words: str | Path) -> str:
    """Return what a program prints about its options."""
    return subprocess.run([*words, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
