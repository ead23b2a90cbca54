"""The helpers of the live tests: servers stop with their tests, and a missing Python is reported."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.actors.programs import gone
from tests.live import bots
from tests.live.bots import HERE

SERVER = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(600)"


@pytest.mark.parametrize("abruptly", [False, True])
def test_server_stops_with_its_parent_process(abruptly: bool) -> None:
    asker = f"""
import subprocess, sys
watchdog = [sys.executable, "-I", "-S", {str(HERE / "watchdog.py")!r}, sys.executable, "-c", {SERVER!r}]
process = subprocess.Popen(watchdog, stdin=subprocess.PIPE, start_new_session=True)
sys.stdin.read()
process.communicate()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", asker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    server = int(process.stdout.readline())
    if abruptly:
        process.kill()
    process.communicate(timeout=60)
    assert gone([server])


@pytest.mark.parametrize("python", ["/no/such/python", sys.executable])
def test_unsupported_python_is_reported_with_a_hint(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bots, "CACHE", tmp_path / "live")
    monkeypatch.setenv("PYTHON310", python)
    with pytest.raises(bots.LiveFailed, match=r"no Python 3\.10(?s:.*)make test-live PYTHON310="):
        bots.ensure_installed()


def test_existing_install_is_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bots, "CACHE", tmp_path)
    home = tmp_path / f"rasa-{bots.digest(bots.REQUIREMENTS)}"
    home.mkdir()
    (home / "complete").touch()
    assert bots.ensure_installed() == home / "bin"
