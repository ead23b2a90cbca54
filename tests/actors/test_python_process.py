"""Python agents in their own process: the same interface, the same log, and separate failures."""

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.actors.isolation.contract import offered
from clerkship.actors.python import PythonSolver
from clerkship.actors.python_process import PythonProcessSolver, to_process
from clerkship.engine.build import build_solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.service.fork import plan_fork
from clerkship.service.planning.request import ForkRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.running import execute
from clerkship.service.testing import to_agent_reference
from clerkship.settings import Settings, load_settings
from tests.actors import hosted_small
from tests.actors.programs import WORK, suite
from tests.workbench import CATALOG, Workbench

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "tests" / "front_desk"
TALK = """
    environment: {name: desk, simulators: {chat: {kind: chat}, drop: {kind: files}}}
    task:
      name: Talk
      task_item: {topic: [tea, 1.5]}
      scenario:
        starts: person
        initial_slots: {desk: "7"}
        person: {lines: [one, two, three, four, five, six, seven], end: {when: bye}}
      criteria:
        - {label: says bye, assertion: {bot_uttered: {text_matches: bye}}}
"""


def kept(bench: Workbench, agent: str, **options: Any) -> dict[str, Any]:
    """Run the folder; return what is stored of each trial and does not depend on the machine."""
    kept: dict[str, Any] = {}
    for trial in bench.run(agent, seed=7, **options):
        kept[trial.task] = (list(bench.store.log(trial)), trial.head, trial.verdict, trial.answer, trial.agent_error)
    return kept


def sidecar(bench: Workbench, trial: TaskRun) -> dict[str, Any]:
    """Return the sidecar of a trial."""
    facts: dict[str, Any] = orjson.loads(bench.store.sidecar(trial))
    return facts


def level(bench: Workbench) -> str | None:
    """Return the isolation level of the last run."""
    assert bench.result is not None
    return bench.result.run.isolation


def _read(file: Path) -> bytes:
    """Return the content of a file in /proc; empty if its process has ended."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def test_agent_in_its_own_process_leaves_the_same_log(bench: Workbench) -> None:
    bench.write("talk.yml", TALK)
    here = kept(bench, "python:tests.actors.hosted:Talker")
    assert here["Talk"][2] == "pass", here["Talk"][4]
    assert kept(bench, "python:tests.actors.hosted:Talker", agent_process=True) == here
    bench.write("talk.yml", WORK.replace("{timeout}", "20"))
    here = kept(bench, "python:tests.actors.hosted:works")
    assert here["Work"][4] == ""
    assert kept(bench, "python:tests.actors.hosted:works", agent_process=True) == here
    assert bench.result is not None
    [trial] = bench.store.task_runs(bench.result.run.id)
    assert sidecar(bench, trial)["agent_stderr"].splitlines() == ["printed by Python", "printed by a child"]


@pytest.mark.slow
def test_bundled_suite_leaves_the_same_log_in_its_own_process(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.folder, agent = DEMO, "python:tests.front_desk.agent:FrontDesk"
    tasks = ("Move an appointment", "Wait for a result")
    assert kept(bench, agent, tasks=tasks, agent_process=True) == kept(bench, agent, tasks=tasks)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    bench.folder = ROOT / "suites" / "chart"
    task = "Order what a letter in the chart asks for"
    shutil.copy(bench.folder / "solutions" / "act_on_a_letter.py", "solved_chart.py")
    agent = "python:solved_chart:on_task"
    assert kept(bench, agent, tasks=(task,), agent_process=True) == kept(bench, agent, tasks=(task,))


@pytest.mark.parametrize(
    ("agent", "error", "trace"),
    [
        ("raises", "ValueError: boom (hosted_small.py:", 'raise ValueError("boom")'),
        ("exits", "SystemExit: 3 (hosted_small.py:", "sys.exit(3)"),
        (
            "Unmade",
            "its constructor failed: RuntimeError: unlicensed (hosted_small.py:",
            'raise RuntimeError("unlicensed")',
        ),
    ],
)
def test_exception_has_the_agents_line_and_the_same_traceback(
    bench: Workbench, agent: str, error: str, trace: str
) -> None:
    suite(bench, WORK)
    here = bench.run_one(f"python:tests.actors.hosted_small:{agent}")
    apart = bench.run_one(f"python:tests.actors.hosted_small:{agent}", agent_process=True)
    assert apart.agent_error.startswith(error)
    assert (apart.agent_error, apart.head, apart.verdict) == (here.agent_error, here.head, here.verdict)
    assert trace in sidecar(bench, apart)["agent_traceback"]
    assert sidecar(bench, apart)["agent_traceback"] == sidecar(bench, here)["agent_traceback"]


@pytest.mark.parametrize(("agent", "error"), [("leaves", "it ended with exit code 7\nlast words"), ("dies", "139")])
def test_a_process_that_ends_by_itself_ends_only_its_trial(bench: Workbench, agent: str, error: str) -> None:
    suite(bench, WORK)
    trial = bench.run_one(f"python:tests.actors.hosted_small:{agent}", agent_process=True)
    assert (trial.status, trial.verdict) == ("completed", "fail")
    assert error in trial.agent_error


def test_hanging_agent_times_out_and_its_children_are_ended(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    suite(bench, WORK, timeout=3)
    trial = bench.run_one("python:tests.actors.hosted_small:spins", agent_process=True)
    assert trial.status == "timed_out"
    facts = json.loads(bench.store.sidecar(trial))
    assert facts["agent_stack"].startswith('  File "')
    assert "in spins" in facts["agent_stack"].splitlines()[0]
    assert "Current thread" not in facts.get("agent_stderr", "")
    assert Path("started.txt").exists()
    assert not [line for line in Path("/proc").glob("[0-9]*/cmdline") if b"60.4711" in _read(line)]


def test_agent_process_is_isolated_on_import_and_in_the_trial(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if offered()[0] == "none":
        pytest.skip("this machine cannot isolate programs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = bench.write("a.yml", WORK.replace("{timeout}", "20"))
    reads = f"from pathlib import Path\ndef read():\n    try:\n        return Path({str(file)!r}).read_text()\n"
    reads += "    except OSError as error:\n        return type(error).__name__\n"
    Path("looks_around.py").write_text(f"{reads}FIRST = read()\ndef agent(task_item):\n    return [FIRST, read()]\n")
    apart = bench.run_one("python:looks_around:agent", agent_process=True)
    assert "Work" not in str(apart.answer)
    assert level(bench) == offered()[0]
    with pytest.raises(InputError, match=r"it runs in the process that grades it; .*--agent-process"):
        bench.run("python:looks_around:agent", isolate="always")
    assert "Work" in str(bench.run_one("python:looks_around:agent").answer)
    assert level(bench) == "trusted"


def test_reported_events_are_read_before_the_run_with_the_same_errors(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    Path("broken_here.py").write_text("agent = None\n1/0\n")
    Path("odd_here.py").write_text(
        "class agent:\n    reported_events = ['agent.slot.sett']\n    def on_task(self, task_item): ...\n"
    )
    Path("idle_here.py").write_text("class agent: ...\n")
    Path("declares.py").write_text("reported_events = {'agent.slot.set'}\ndef on_task(task_item): pass\n")
    module = to_process(PythonSolver("module", importlib.import_module("declares")))
    assert module.capabilities().emits == frozenset({"agent.slot.set"})
    suite(bench, WORK)
    for reference in ("broken_here:agent", "odd_here:agent", "odd_here:agnt", "idle_here:agent", "no_such_module"):
        said = []
        for apart in (False, True):
            with pytest.raises(InputError) as caught:
                bench.run(f"python:{reference}", agent_process=apart)
            said.append(str(caught.value))
        assert said[0] == said[1]


def test_agent_without_an_importable_name_is_rejected_with_the_reason(bench: Workbench) -> None:
    class Local:
        """An agent inside a function."""

        def on_task(self, task_item: Any) -> None:
            """Never called."""

    suite(bench, WORK)
    refused: list[tuple[Any, str]] = [
        (
            Local,
            "`test_agent_without_an_importable_name_is_rejected_with_the_reason.<locals>.Local` is defined inside",
        ),
        (lambda task_item: 42, "a lambda has no name"),
        (hosted_small.instance, "it is an instance of Agent"),
        (hosted_small.instance.on_task, "it is a bound method"),
    ]
    for agent, reason in refused:
        with pytest.raises(InputError, match=f"cannot be imported in its own process: {reason}"):
            bench.run(to_agent_reference(agent), agent_process=True)
    assert bench.run_one(to_agent_reference(hosted_small.Outer.Agent), agent_process=True).answer == 42


def test_agent_process_option_is_rejected_and_setting_ignored_for_other_agents(
    bench: Workbench,
) -> None:
    suite(bench, WORK)
    for agent in ("nop", "http://127.0.0.1:9/"):
        with pytest.raises(InputError, match=r"--agent-process: agent .* cannot run in a process of its own"):
            bench.run(agent, agent_process=True)
    assert build_solver("nop", RegisteredCatalog(), Settings(agent_process="on")).name == "nop"
    assert load_settings({"CLERKSHIP_AGENT_PROCESS": "on"}).agent_process == "on"
    with pytest.raises(InputError, match="CLERKSHIP_AGENT_PROCESS is 'yes'; expected `on` or `off`"):
        load_settings({"CLERKSHIP_AGENT_PROCESS": "yes"})


def test_rerun_uses_an_agent_process_again(bench: Workbench) -> None:
    bench.write("talk.yml", TALK)
    bench.run("python:tests.actors.hosted_small:Remembers", agent_process=True)
    assert bench.result is not None
    run = bench.result.run
    assert "--agent-process" in run.options
    again = plan_rerun(bench.store, run.id, CATALOG, Settings())
    assert (type(again.solver), again.run.options) == (PythonProcessSolver, run.options)
    other = plan_rerun(bench.store, run.id, CATALOG, Settings(), "nop")
    assert "--agent-process" not in other.run.options
    forked = plan_fork(bench.store, ForkRequest(run=run.id, task="Talk", turn=3), CATALOG, Settings())
    assert (type(forked.solver), forked.run.options) == (PythonProcessSolver, ("--agent-process",))
    assert "warmed up" not in str(forked.warnings)
    done = execute(forked, bench.store, CATALOG)
    [trial] = bench.store.task_runs(done.run.id)
    assert (trial.verdict, trial.agent_error) == ("pass", "")
    said = [event["payload"]["text"] for event in bench.events(trial) if event["kind"] == "chat.message.sent"]
    assert said[-1] == "bye, 2 turns, SlotSet and re two"


def test_the_host_imports_nothing_heavy_before_the_agent() -> None:
    code = (
        "import sys, clerkship.actors.python_host\n"
        "heavy = {'pydantic', 'orjson', 'asyncio', 'ssl', 'yaml', 'typer'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_agent_cannot_turn_its_failure_into_an_error_of_the_platform(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    forges = (
        "import gc\n"
        "from clerkship.actors.host_link import HostLink\n"
        "def agent(task_item):\n"
        "    [link] = [one for one in gc.get_objects() if isinstance(one, HostLink)]\n"
        '    link.send({"refused": {"message": "disk full", "hint": ""}})\n'
    )
    later = "import os\ndef agent(task_item): ...\nif os.path.exists('seen'): 1 / 0\nopen('seen', 'w').close()\n"
    for name, source, words in (("forging", forges, "disk full"), ("failing_later", later, "importing it failed")):
        tmp_path.joinpath(f"{name}.py").write_text(source, encoding="utf-8")
        suite(bench, WORK, timeout=20)
        trial = bench.run_one(f"python:{name}", agent_process=True, isolate="never")
        assert (trial.status, trial.verdict) == ("completed", "fail")
        assert words in trial.agent_error
