"""Runs in processes with a low limit of open files."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.choices import mark_slow_after

TASK = """
environment: {name: d, simulators: {drop: {kind: files}}}
task: {name: A, criteria: [{label: a, assertion: {answer_matches: {gt: 0}}}]}
"""
AGENT = """
from urllib.request import Request, urlopen
def agent(task_item, sandboxes):
    drop = sandboxes["drop"]
    headers = {"Authorization": "Bearer " + drop.token}
    with urlopen(Request(drop.url + "/files", headers=headers)) as reply:
        return len(reply.read())
"""


def run_with(limit: int, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process with this limit of open files."""
    (folder / "t.yml").write_text(TASK)
    (folder / "over_http.py").write_text(AGENT)
    return subprocess.run(
        [sys.executable, "-m", "clerkship", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    )


@pytest.mark.parametrize("limit", mark_slow_after(1, [40, 50, 60, 70]))
@pytest.mark.parametrize("command", [["run", "t.yml", "-a", "python:over_http:agent", "-k", "30"], ["up", "d"]])
def test_too_few_file_descriptors_raise_one_error(tmp_path: Path, limit: int, command: list[str]) -> None:
    ended = run_with(limit, tmp_path, *command)
    assert ended.returncode == 2
    assert f"this process may open {limit} files and sockets; a run needs at least 96" in ended.stderr
    assert "ulimit -n" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def test_few_file_descriptors_reduce_concurrency(tmp_path: Path) -> None:
    ended = run_with(96, tmp_path, "run", "t.yml", "-a", "python:over_http:agent", "-k", "30", "--concurrency", "64")
    assert (ended.returncode, ended.stderr) == (0, "")
