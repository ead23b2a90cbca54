"""Validators and parsers of X12 that others wrote: one process judges many messages."""

import json
import subprocess
from collections.abc import Callable, Sequence
from typing import Any, Literal

import pytest

from tests.clients.conftest import NODE, installed
from tests.clients.installs import CannotInstall
from tests.clients.x12_judges.environments import PROGRAMS, linuxforhealth_python, pyx12_python

MAX_SECONDS = 120

JudgeName = Literal["linuxforhealth-x12", "pyx12", "node-x12"]


def linuxforhealth_errors(messages: Sequence[str]) -> list[list[str]]:
    """Return the errors that linuxforhealth-x12 finds in each message."""
    return run_judge([find_python(linuxforhealth_python), str(PROGRAMS / "linuxforhealth_validate.py")], messages)


def pyx12_errors(messages: Sequence[str]) -> list[list[str]]:
    """Return the errors that pyx12 finds in each message."""
    return run_judge([find_python(pyx12_python), str(PROGRAMS / "pyx12_validate.py")], messages)


def node_x12_errors(messages: Sequence[str]) -> list[list[str]]:
    """Return the errors that node-x12 finds in each message."""
    return [parsed["errors"] for parsed in node_x12_parse(messages)]


def node_x12_segments(messages: Sequence[str]) -> list[list[list[str]]]:
    """Return the segments that node-x12 reads from each message; none from a message that it refuses."""
    return [parsed["segments"] for parsed in node_x12_parse(messages)]


def node_x12_parse(messages: Sequence[str]) -> list[dict[str, Any]]:
    """Return what node-x12 says of each message: `errors` and `segments`."""
    return run_judge(["node", str(NODE / "x12_parse.mjs"), str(installed("node-x12"))], messages)


def find_python(find: Callable[[], str]) -> str:
    """Return the Python of a judge; skip the test if it cannot be installed."""
    try:
        return find()
    except CannotInstall as problem:
        pytest.skip(str(problem))


def run_judge(command: list[str], messages: Sequence[str]) -> list[Any]:
    """Run a program that reads a JSON list of messages and prints a JSON list with one result for each."""
    done = subprocess.run(
        command, input=json.dumps(list(messages)), capture_output=True, text=True, timeout=MAX_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    results: list[Any] = json.loads(done.stdout)
    assert len(results) == len(messages)
    return results


JUDGES: dict[JudgeName, Callable[[Sequence[str]], list[list[str]]]] = {
    "linuxforhealth-x12": linuxforhealth_errors,
    "pyx12": pyx12_errors,
    "node-x12": node_x12_errors,
}
