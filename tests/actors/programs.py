"""Agents that are programs: written to a file, run by this Python, exchanging lines."""

import contextlib
import os
import shlex
import sys
from pathlib import Path
from textwrap import dedent

from tests.waiting import wait_until
from tests.workbench import Workbench

TALK = """
    environment: {name: desk, simulators: {chat: {kind: chat}, drop: {kind: files}}}
    task:
      name: Talk
      timeout: {timeout}
      task_item: {instruction: Be brief.}
      scenario:
        starts: person
        person: {opening: Hello, end: {when: bye}, fallback: Go on}
        max_turns: 5
      criteria:
        - {label: says bye, assertion: {bot_uttered: {text_matches: bye}}}
"""
WORK = """
    environment: {name: desk, simulators: {chat: {kind: chat}, drop: {kind: files}}}
    task:
      name: Work
      timeout: {timeout}
      task_item: {instruction: What is six times seven?}
      criteria:
        - {label: answers, assertion: {answer_matches: 42}}
"""
HEAD = """
import json, os, signal, subprocess, sys, time
def say(thing):
    print(json.dumps(thing), flush=True)
"""


def suite(bench: Workbench, text: str, timeout: float = 20) -> None:
    """Write a folder with one task."""
    bench.write("a.yml", text.replace("{timeout}", str(timeout)))


def program(folder: Path, source: str, name: str = "agent.py") -> str:
    """Return a reference to a program with this source, in a folder that is not hidden from it."""
    path = folder / "agent" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEAD + dedent(source), encoding="utf-8")
    return f"command:{shlex.quote(sys.executable)} -I -S {shlex.quote(str(path))}"


def runs(pid: int) -> bool:
    """Return whether a process is alive; a zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def running(program: Path) -> list[int]:
    """Return the processes with a program in their command line; under isolation they have other ids."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and os.fsencode(program) in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def gone(pids: list[int]) -> bool:
    """Wait until all processes have ended."""
    return wait_until(lambda: not any(map(runs, pids)), f"the processes {pids} end")
