"""Claude Code and Codex as agents, with stand-ins that take the same options and make the same calls."""

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.installed.agent import _read_json, load_installed
from clerkship.actors.isolation.contract import Isolation
from clerkship.actors.registry import AGENTS
from clerkship.cli.app import run as cli
from clerkship.model.errors import InputError
from clerkship.settings import Settings, override_isolation
from tests.actors.installed_work import work
from tests.actors.programs import WORK, runs, suite
from tests.model_proxy.provider import Call, ModelProvider
from tests.waiting import wait_until
from tests.workbench import Workbench

STAND_INS = Path(__file__).parent / "stand_ins"
KINDS = {"claude-code": "claude", "codex": "codex"}
TOOLS = {"claude-code": "mcp__clerkship__read_file", "codex": "read_file"}
VERSIONS = {"claude-code": "2.1.197", "codex": "0.169.0"}
KEYS = Settings(
    anthropic_api_key="sk-ant-key-of-the-test", openai_api_key="sk-key-of-the-test", isolate="never"
)  # without isolation, tests see the ids of processes, and are quicker
BY_KIND = pytest.mark.parametrize("kind", KINDS)
MOSTLY_ONE = pytest.mark.parametrize("kind", ["claude-code", pytest.param("codex", marks=pytest.mark.slow)])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the stand-ins, which is the only one on the PATH, and where they write what they saw."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for command in KINDS.values():
        source = (STAND_INS / f"{command}.py").read_text(encoding="utf-8")
        (programs / command).write_text(f"#!{sys.executable} -IS\n{source}", encoding="utf-8")
        (programs / command).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("STAND_IN_SEEN", str(tmp_path / "seen.json"))
    monkeypatch.setenv("STAND_IN_CHILD", str(tmp_path / "child"))
    return tmp_path


def read_seen(folder: Path) -> Any:
    """Return the command line, the prompt, the folder and the environment of the stand-in."""
    return json.loads((folder / "seen.json").read_bytes())


@pytest.fixture
def provider() -> Iterator[ModelProvider]:
    with ModelProvider("0") as started:
        yield started


@BY_KIND
def test_program_uses_the_tools_of_its_trial_and_models_through_the_run(
    kind: str, provider: ModelProvider, folder: Path
) -> None:
    private = folder / "private"
    private.mkdir()
    provider.answers = [Call(TOOLS[kind], {"path": "inbox/a.txt"}), "42"]
    worked = work(kind, "--model small", provider, Isolation(private=private))
    assert worked.answer == 42
    assert worked.kinds == ["agent.model.called", "agent.action.executed", "files.file.read", "agent.model.called"]
    assert (worked.facts["agent_version"], worked.facts["agent_exit_code"]) == (VERSIONS[kind], 0)
    seen = read_seen(folder)
    assert "How many orders are there?" in seen["prompt"]
    assert "Your last message is your answer." in seen["prompt"]
    assert seen["argv"][-2:] == ["--model", "small"]
    # Other processes can read command lines, and the next trial the private folder, if it stayed.
    secrets = (worked.token, *(address.api_key for address in worked.desk.models.values()))
    assert not [secret for secret in secrets if secret in json.dumps([seen["argv"], seen["prompt"]])]
    own = seen["environ"]["CLAUDE_CONFIG_DIR" if kind == "claude-code" else "CODEX_HOME"]
    assert Path(own).parent.parent == Path(seen["folder"]).parent == private
    assert list(private.iterdir()) == []
    if kind == "claude-code":
        assert seen["environ"]["ENABLE_TOOL_SEARCH"] == "false"
        assert seen["environ"]["DISABLE_TELEMETRY"] == "1"


@MOSTLY_ONE
def test_program_is_told_which_systems_it_has_as_tools(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", "says 42")
    monkeypatch.setenv("CLAUDECODE", "1")
    bench = Workbench(folder)
    suite(bench, WORK)
    heads = set()
    for settings in (KEYS, override_isolation(KEYS, "auto")):
        task_run = bench.run_one(load_installed(kind, "", settings), settings=settings)
        assert (task_run.verdict, task_run.answer, task_run.error) == ("pass", 42, "")
        heads.add(task_run.head)
    assert len(heads) == 1
    seen = read_seen(folder)
    assert "chat (chat), drop (files). Use the tools of the MCP server `clerkship`." in seen["prompt"]
    assert "CLAUDECODE" not in seen["environ"]
    assert "sk-ant-key-of-the-test" not in seen["environ"].values()


@MOSTLY_ONE
def test_program_with_a_login_and_no_key_keeps_its_own_configuration(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", "logged in")
    bench = Workbench(folder)
    suite(bench, WORK)
    solver = load_installed(kind, "", Settings())
    solver.preflight()
    task_run = bench.run_one(solver, settings=Settings(isolate="never"))
    assert task_run.answer == "logged in"
    assert not {"CLAUDE_CONFIG_DIR", "CODEX_HOME", "CODEX_API_KEY"} & read_seen(folder)["environ"].keys()
    if kind == "claude-code":  # Codex does not print its usage for programs
        used = task_run.models["agent"]
        assert (used.calls, used.prompt_tokens, used.completion_tokens, used.cost) == (2, 15, 3, 0.5)


@BY_KIND
def test_program_without_a_key_and_a_login_does_not_run(kind: str, folder: Path) -> None:
    bench = Workbench(folder)
    suite(bench, WORK)
    with pytest.raises(InputError, match=r"has no key and is not logged in; set .*_API_KEY"):
        bench.run(load_installed(kind, "", Settings()), Settings(isolate="never"))


@MOSTLY_ONE
def test_missing_old_and_unknown_programs_are_named_with_what_to_do(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = KINDS[kind]
    with pytest.raises(InputError, match="no closing quotation"):
        load_installed(kind, "--model 'x", Settings())
    monkeypatch.setenv("STAND_IN_VERSION", "0.9.1")
    with pytest.raises(InputError, match=r"0\.9\.1 is too old; it must be \d.* or newer; update it with `npm install"):
        load_installed(kind, "", Settings())
    monkeypatch.setenv("STAND_IN_VERSION", "hello")
    with pytest.raises(InputError, match=f"`.*{command} --version` prints no version; is it C"):
        load_installed(kind, "", Settings())
    (folder / "bin" / command).unlink()
    with pytest.raises(InputError, match=f"no program `{command}` on the PATH; install it with `npm install -g @"):
        load_installed(kind, "", Settings())


@pytest.mark.parametrize(
    ("kind", "mode", "options", "error"),
    [
        ("claude-code", "fails", "", "it failed: There is an issue with the model\nError: no such model"),
        ("claude-code", "garbage", "", "it printed no result as JSON: 'Segmentation fault'"),
        pytest.param(
            *("claude-code", "says 42", "--no-such-option", "it printed no result as JSON: ''\nerror: unrecognized"),
            marks=pytest.mark.slow,
        ),
        ("codex", "fails", "", "it ended without a last message\nERROR: unexpected status 400 Bad Request: no such"),
        ("codex", "says 42", "--no-such-option", "it ended without a last message\nerror: unrecognized arguments"),
    ],
)
def test_failure_of_the_program_is_an_error_of_the_agent(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, mode: str, options: str, error: str
) -> None:
    monkeypatch.setenv("STAND_IN", mode)
    bench = Workbench(folder)
    suite(bench, WORK)
    task_run = bench.run_one(load_installed(kind, options, KEYS), settings=KEYS)
    assert (task_run.verdict, task_run.ending) == ("fail", "agent_failed")
    assert error in task_run.agent_error


def test_timeout_kills_the_program_and_its_children(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN", "hang")
    bench = Workbench(folder)
    suite(bench, WORK, timeout=1)
    task_run = bench.run_one(load_installed("claude-code", "", KEYS), settings=KEYS)
    assert task_run.status == "timed_out"
    child = int((folder / "child").read_text(encoding="utf-8"))
    wait_until(lambda: not runs(child))


def test_conversation_is_refused(folder: Path) -> None:
    bench = Workbench(folder)
    suite(bench, WORK.replace("criteria:", "scenario: {starts: person, person: {opening: Hi}}\n      criteria:"))
    task_run = bench.run_one(load_installed("codex", "", KEYS), settings=KEYS)
    assert task_run.error == "codex has no on_turn, and this task starts with the person"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" 42\n", 42),
        ('"0042"', "0042"),
        ("Two orders.", "Two orders."),
        ('```json\n{"count": 2}\n```', {"count": 2}),
        ("```", "```"),
        ("", None),
    ],
)
def test_last_message_is_json_or_text(text: str, value: Any) -> None:
    assert _read_json(text) == value


def test_agents_lists_the_programs_on_this_machine(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STAND_IN", "logged in")
    (folder / "bin" / "codex").unlink()
    assert cli(["agents"]) == 0
    printed = capsys.readouterr().out
    assert "2.1.197" in printed
    assert "logged in" in printed
    assert "install it with `npm install -g @openai/codex`" in printed
    assert cli(["agents", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows.keys() | {"https"} == AGENTS.keys()
    claude = str(folder / "bin" / "claude")
    expected = {"command": "claude", "path": claude, "version": "2.1.197", "credentials": "login"}
    assert rows["claude-code"]["program"] == expected
    assert rows["codex"]["program"]["problem"].startswith("no program `codex` on the PATH")


def test_agent_is_chosen_on_the_command_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN", "says 42")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-key-of-the-test")
    bench = Workbench(folder)
    suite(bench, WORK)
    store = ["--store", str(folder / "runs.db")]
    assert cli(["run", str(bench.folder), "--agent", "claude-code:--model opus", "--isolate", "never", *store]) == 0
    assert shlex.join(read_seen(folder)["argv"]).endswith("--model opus")
