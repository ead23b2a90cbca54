"""That no server outlives its test: the one part of the live tests that is tried in every run."""

import subprocess
import sys

import pytest

from tests.actors.programs import gone
from tests.live.bots import HERE

SERVER = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(600)"


@pytest.mark.parametrize("abruptly", [False, True])
def test_a_server_ends_with_who_asked_for_it(abruptly: bool) -> None:
    asker = f"""
import subprocess, sys
keeper = [sys.executable, "-I", "-S", {str(HERE / "keeper.py")!r}, sys.executable, "-c", {SERVER!r}]
process = subprocess.Popen(keeper, stdin=subprocess.PIPE, start_new_session=True)
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
    process.communicate()
    assert gone([server])
