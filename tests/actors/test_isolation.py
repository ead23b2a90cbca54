"""Isolation of programs: what they can and cannot access at each level that this machine offers."""

import asyncio
import json
import os
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import clerkship
from clerkship.actors.isolation import bubblewrap, landlock
from clerkship.actors.isolation.contract import Isolation, Level, offered
from clerkship.actors.isolation.protected import folder_of_link
from clerkship.actors.process import Process
from tests.actors.programs import gone
from tests.waiting import wait_until

LEVELS = [level for level in offered() if level != "none"]
THIEF = """
import json, os, signal, subprocess, sys
def attempt(work):
    try:
        return work()
    except Exception as error:
        return type(error).__name__
def read(path):
    with open(path) as file: return file.read()
def write(path):
    with open(path, "w") as file: file.write("forged")
places = json.loads(sys.stdin.readline())
found = {name: attempt(lambda: read(place)) for name, place in places["read"].items()}
found["written"] = attempt(lambda: write(places["write"]))
found["linked"] = attempt(lambda: os.link(places["read"]["store"], places["write"] + ".link"))
found["changed"] = [path for path in places["change"] if attempt(lambda: open(path, "r+").close()) is None]
found["created"] = [path for path in places["create"] if attempt(lambda: open(path, "x").close()) is None]
found["moved"] = attempt(lambda: os.rename(os.path.dirname(places["hidden"]), places["hidden"] + ".moved"))
found["signal"] = attempt(lambda: os.kill(places["parent"], 0))
found["umount"] = subprocess.run(["umount", places["hidden"]], capture_output=True).returncode
found["remount"] = subprocess.run(["unshare", "-Urm", "umount", places["hidden"]], capture_output=True).returncode
found["nsenter"] = subprocess.run(["nsenter", "-t", "1", "-m", "true"], capture_output=True).returncode
found["environ"] = [pid for pid in os.listdir("/proc") if pid.isdigit()
                    and "SECRET_OF_A_SIBLING=" in str(attempt(lambda: read(f"/proc/{pid}/environ")))]
print(json.dumps(found), flush=True)
sys.stderr.write("complaint")
sys.exit(7)
"""

PACKAGE = Path(clerkship.__file__).resolve().parent
NEW = "written_by_an_isolated_program.pth"
CREATIONS = [Path(sysconfig.get_paths()["purelib"]), Path(sys.prefix) / "bin", Path(sys.base_prefix), PACKAGE]
CHANGES = [
    PACKAGE / "actors/isolation/launcher.py",
    Path(os.__file__),
    Path("/proc/sys/kernel/core_pattern"),
    Path("/proc/sysrq-trigger"),
    Path("/sys/kernel/profiling"),
    Path("/sys/power/state"),
]


def start(level: Level, source: str, folder: Path, isolation: Isolation, environ: dict[str, str]) -> Process:
    """Start a Python program under an isolation."""
    process = Process([sys.executable, "-I", "-S", "-c", source], folder, isolation)
    process.start(environ, {"CLERKSHIP_TASK_FILE": b"own"})
    return process


@pytest.mark.parametrize("level", LEVELS)
def test_a_program_cannot_reach_what_is_hidden(level: Level, tmp_path: Path) -> None:
    hidden, work, private = tmp_path / "hidden", tmp_path / "work", tmp_path / "private"
    for folder in (hidden, work, private):
        folder.mkdir()
    (hidden / "store.db").write_text("criteria", encoding="utf-8")
    (work / "task.yml").write_text("task", encoding="utf-8")
    (work / "beside.txt").write_text("beside", encoding="utf-8")
    (tmp_path / "link").symlink_to(hidden)
    isolation = Isolation(level, (hidden, work / "task.yml"), private)
    sibling = start(level, "input()", work, isolation, {"SECRET_OF_A_SIBLING": "1"})
    [own] = private.iterdir()
    thief = start(level, THIEF, work, isolation, {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"})
    try:
        places = {
            "read": {
                "store": str(hidden / "store.db"),
                "link": str(tmp_path / "link" / "store.db"),
                "task": "task.yml",
                "sibling": str(own / "clerkship_task_file.json"),
                "root": f"/proc/1/root{hidden}/store.db",
                "beside": "beside.txt",
            },
            "write": str(hidden / "store.db"),
            "change": [str(path) for path in CHANGES if path.exists()],
            "create": [str(path / NEW) for path in CREATIONS],
            "hidden": str(hidden),
            "parent": sibling._child.pid if sibling._child else 0,
        }
        thief.send(json.dumps(places).encode())
        line = asyncio.run(thief.receive())
        assert line is not None, thief.stderr_tail()
        found: dict[str, Any] = json.loads(line)
        code = asyncio.run(thief.exit_code(5))
    finally:
        facts = thief.close()
        sibling.close()
        for path in CREATIONS:
            (path / NEW).unlink(missing_ok=True)
    denied = {"FileNotFoundError", "PermissionError"}
    assert {found[name] in denied for name in ("store", "link", "task", "sibling", "root")} == {True}, found
    assert found["beside"] == "beside"
    assert found["written"] in {*denied, "OSError"}
    assert found["linked"] in {*denied, "OSError"}
    assert (hidden / "store.db").read_text(encoding="utf-8") == "criteria"
    assert (found["changed"], found["created"]) == ([], [])
    assert found["moved"] in {*denied, "OSError"}
    assert found["environ"] == []
    assert 0 not in (found["umount"], found["remount"], found["nsenter"])
    assert found["signal"] in {"ProcessLookupError", "PermissionError"}
    assert (code, facts) == (7, {"agent_stderr": "complaint", "agent_exit_code": 7})
    assert list(private.iterdir()) == []


def test_bubblewrap_is_not_taken_from_folders_an_agent_can_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged = tmp_path / "bwrap"
    forged.write_text("#!/bin/sh\n", encoding="utf-8")
    forged.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:.:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    bubblewrap.program_file.cache_clear()
    try:
        found = bubblewrap.program_file()
        monkeypatch.setattr(bubblewrap, "SYSTEM_FOLDERS", ())
        bubblewrap.program_file.cache_clear()
        assert forged not in (found, bubblewrap.program_file())
    finally:
        bubblewrap.program_file.cache_clear()
    assert "bubblewrap" not in LEVELS or (found is not None and found.is_absolute())
    assert not any("launcher.py" in word and "\n" not in word for word in landlock.prefix(3))


def test_link_to_python_is_protected_too(tmp_path: Path) -> None:
    (tmp_path / "python-3.11.7").mkdir()
    (tmp_path / "python-3.11").symlink_to("python-3.11.7")
    assert folder_of_link(tmp_path / "python-3.11") == [tmp_path]
    assert folder_of_link(tmp_path / "python-3.11.7") == []


@pytest.mark.parametrize("level", LEVELS)
def test_working_folder_inside_the_installation_stays_writable(level: Level) -> None:
    with TemporaryDirectory(dir=Path(sys.prefix)) as folder:
        source = "open('new', 'x').close(); print('written', flush=True)"
        process = start(level, source, Path(folder), Isolation(level), {})
        try:
            assert asyncio.run(process.receive()) == b"written", process.stderr_tail()
        finally:
            process.close()


BUSY = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("asked", file=sys.stderr, flush=True), sys.exit(0)))
with open(os.environ["CLERKSHIP_TASK_FILE"]) as file: assert file.read() == "own"
subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
print("ready", flush=True)
while True: pass
"""


@pytest.mark.parametrize("level", LEVELS)
def test_isolated_program_gets_sigterm_and_its_processor_time_is_measured(level: Level, tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    process = start(level, BUSY, tmp_path, Isolation(level, (tmp_path / "hidden",)), {})
    assert asyncio.run(process.receive()) == b"ready"
    assert process._child is not None
    program = process._isolation.program(process._child.pid)
    before = process.program_seconds()
    assert before is not None
    wait_until(lambda: (process.program_seconds() or 0) >= before + 0.05)
    assert process.close() == {"agent_stderr": "asked\n", "agent_ended_by": "SIGTERM"}
    assert gone([program, process._child.pid])
