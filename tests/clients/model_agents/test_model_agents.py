"""Agents in other frameworks do the task of a new project, and the run logs their model calls and tools."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.service.scaffold import create_project
from clerkship.store.sqlite import SqliteStore
from tests.clients.installs import CACHE, CannotInstall, install_lock, python_environment
from tests.command_server import get_command_path
from tests.model_proxy.desk import ModelDesk
from tests.model_proxy.provider import KEY, Call, ModelProvider

EXAMPLES = Path(__file__).parents[3] / "examples" / "model_agents"
PROGRAMS = Path(__file__).parent / "programs"
READ = Call("read_file", {"path": "inbox/orders.csv"})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A new project, with the agents beside it."""
    create_project(tmp_path / "practice")
    for source in EXAMPLES.glob("with_*"):
        shutil.copy(source, tmp_path / "practice")
    return tmp_path / "practice"


@pytest.fixture
def provider() -> Iterator[ModelProvider]:
    with ModelProvider(READ, "42") as started:
        yield started


def run(project: Path, provider: ModelProvider, agent: str, tool: Call = READ) -> None:
    """Run the task of the project that has no conversation, record the calls, and replay them without the provider."""
    addresses = {"OPENAI_BASE_URL": f"{provider.url}/v1", "ANTHROPIC_BASE_URL": provider.url}
    log = run_task(project, agent, tool, "--record", OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY, **addresses)
    assert len(provider.received) == 2
    assert run_task(project, agent, tool, "--replay") == log
    assert len(provider.received) == 2


def run_task(project: Path, agent: str, called: Call, option: str, **environ: str) -> list[bytes]:
    """Run the task with an option, check what is in its log, and return the log."""
    own = ("OPENAI_", "ANTHROPIC_", "CLAUDE")
    known = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    known["CLAUDE_CONFIG_DIR"] = str(project.parent / "claude")
    command = ["clerkship", "run", "practice", "--tag", "files", "--agent", f"command:{agent}", option]
    done = subprocess.run(
        command,
        cwd=project,
        env=known | {"PATH": get_command_path()} | environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    with SqliteStore(project / ".clerkship" / "store.db") as store:
        recorded = max(store.runs(), key=lambda run: run[0].is_replayed is (option == "--replay"))[0]
        [task_run] = store.task_runs(recorded.id)
        lines = list(store.log(task_run))
    events: list[dict[str, Any]] = [json.loads(line) for line in lines]
    kinds = [event["kind"] for event in events if event["source"] in ("models", "drop", "agent")]
    assert kinds == [
        "files.file.written",
        "agent.model.called",
        "files.file.read",
        "agent.tool.executed",
        "agent.model.called",
    ]
    tool = next(event["payload"] for event in events if event["kind"] == "agent.tool.executed")
    assert (tool["tool_name"], tool["arguments"]) == called
    assert "masks,30" in json.dumps(tool["result"])
    used = task_run.models["agent"]
    assert (used.calls, used.prompt_tokens, used.completion_tokens) == (2, 200, 20)
    return lines


def environment(name: str) -> str:
    """Return the Python of a framework's environment; skip the test if it cannot be installed."""
    try:
        return shlex.quote(str(python_environment(name.replace("_", "-"), PROGRAMS / f"{name}.txt")))
    except CannotInstall as problem:
        pytest.skip(str(problem))


def test_openai_loop(project: Path, provider: ModelProvider) -> None:
    pytest.importorskip("openai")
    run(project, provider, f"{shlex.quote(sys.executable)} with_openai.py")


def test_pydantic_ai(project: Path, provider: ModelProvider) -> None:
    run(project, provider, f"{environment('pydantic_ai')} with_pydantic_ai.py")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["langgraph", "openai_agents"])
def test_other_frameworks_in_python(project: Path, provider: ModelProvider, name: str) -> None:
    run(project, provider, f"{environment(name)} with_{name}.py")


@pytest.mark.slow
def test_claude_agent_sdk(project: Path) -> None:
    read = Call("mcp__clerk__read_file", READ.arguments)
    with ModelProvider(read, "42") as provider:
        run(project, provider, f"{environment('claude_agent_sdk')} with_claude_agent_sdk.py", read)


@pytest.fixture
def packages() -> Path:
    """The packages of the programs in Node, installed once under .cache."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    wanted = (PROGRAMS / "package.json").read_bytes()
    folder = CACHE / "model-agents-node"
    with install_lock(folder):
        if not (folder / "installed.json").is_file() or (folder / "installed.json").read_bytes() != wanted:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "package.json").write_bytes(wanted)
            command = [npm, "install", "--no-package-lock", "--silent"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode != 0:
                pytest.skip(f"the packages cannot be installed: {done.stderr.strip()[-300:]}")
            (folder / "installed.json").write_bytes(wanted)
    return folder / "node_modules"


@pytest.mark.slow
def test_vercel_ai(project: Path, provider: ModelProvider, packages: Path) -> None:
    (project / "node_modules").symlink_to(packages)
    run(project, provider, "node with_vercel_ai.mjs")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["whole", "stream"])
@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_official_clients_in_node(provider: ModelProvider, packages: Path, tmp_path: Path, api: str, mode: str) -> None:
    shutil.copy(PROGRAMS / "drive_sdks.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(packages)
    with ModelDesk(provider) as desk:
        command = ["node", "drive_sdks.mjs", api, mode]
        environ = os.environ | desk.variables
        done = subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=120
        )
        assert json.loads(done.stdout or "null") == [{"path": "inbox/orders.csv"}, "42"], done.stderr
        kinds = [event.kind for event in desk.events]
        assert kinds == ["agent.model.called", "agent.tool.executed", "agent.model.called"]
        assert [usage["prompt_tokens"] for usage in desk.usage] == [100, 100]
