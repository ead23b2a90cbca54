"""Warnings about listeners whose package is not installed."""

import sys
from pathlib import Path

import pytest

from clerkship.actors.command import CommandSolver
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.model.environment import Environment, Simulator
from clerkship.service.unoffered import find_unavailable_listeners, warn_unavailable_listeners
from clerkship.simulators import files, hl7

PLACE = Environment(name="p", simulators={"drop": Simulator(kind="files"), "lab": Simulator(kind="hl7")})


def test_available_listener_gives_no_warning() -> None:
    assert find_unavailable_listeners(files.SPEC) == find_unavailable_listeners(hl7.SPEC) == {}


def test_command_agent_is_warned_about_missing_sftp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncssh", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert list(find_unavailable_listeners(files.SPEC)) == ["sftp"]
    outside = CommandSolver("command:x", ["x"], Path())
    [told] = warn_unavailable_listeners(outside, [PLACE, PLACE], build_catalog_without_plugins())
    assert "sftp" in str(told)
    assert "clerkship[sftp]" in str(told)
    assert (
        list(
            warn_unavailable_listeners(
                PythonSolver("agent", lambda task_item, sandboxes: None), [PLACE], build_catalog_without_plugins()
            )
        )
        == []
    )
