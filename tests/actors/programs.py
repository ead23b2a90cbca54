"""Programs to be agents: written to a file, run by this Python, talked to in lines."""

import contextlib
import os
import shlex
import sys
from pathlib import Path
from textwrap import dedent

from clerkship.kit.wall import monotonic
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
    """Write the folder's only task."""
    bench.write("a.yml", text.replace("{timeout}", str(timeout)))


def program(folder: Path, source: str, name: str = "agent.py") -> str:
    """A reference to a program with this source, in a folder where nothing is hidden from it."""
    path = folder / "agent" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEAD + dedent(source), encoding="utf-8")
    return f"command:{shlex.quote(sys.executable)} -I -S {shlex.quote(str(path))}"


def runs(pid: int) -> bool:
    """Whether a process is alive; a dead one that nobody has buried is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def running(program: Path) -> list[int]:
    """Return the processes that have a program in their command line; within isolation they have other numbers."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and os.fsencode(program) in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def gone(pids: list[int], within: float = 5) -> bool:
    """Whether they all end in time."""
    until = monotonic() + within
    while any(map(runs, pids)):
        if monotonic() > until:
            return False
    return True
