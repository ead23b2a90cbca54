"""A short hunt on every target: nothing breaks; and a hunt that would find something does.

Each in an interpreter of its own: CPython 3.11 goes round in circles where it traces a thread while another one has an
exception pending, as threads of agents that hang do in other tests.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.hunt import hunt
from tests.fuzz.targets import TARGETS, Target

ROOT = Path(__file__).parent.parent.parent


def nothing_breaks() -> None:
    """On every target, for a moment."""
    for name, target in TARGETS.items():
        found = hunt(target, seed=7, seconds=0.7, runs=2000)
        assert [crash.why for crash in found.crashes.values()] == [], name
        assert found.runs > 20, name


def lock(data: bytes) -> None:
    """Opens to three words, one after another: to be found by what is reached, not by luck."""
    if not data.startswith(b"NM"):
        return
    if not data.startswith(b"NM2.3"):
        return
    if data.startswith(b"NM2.3[*]"):
        raise KeyError("open")


def finds_its_way() -> None:
    """By what it reaches."""
    found = hunt(Target(lock, [b""], [Path(__file__).parent]), seed=1, seconds=30, runs=25_000)
    assert [crash.data for crash in found.crashes.values()] == [b"NM2.3[*]"]


def same_again() -> None:
    """The same seed brings the same."""
    one, other = (hunt(TARGETS["framing"], seed=3, seconds=30, runs=200) for _ in range(2))
    assert one.corpus == other.corpus


@pytest.mark.parametrize("what", ["nothing_breaks", "finds_its_way", "same_again"])
def test_a_hunt(what: str) -> None:
    program = f"from tests.fuzz.test_fuzz import {what}; {what}()"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
