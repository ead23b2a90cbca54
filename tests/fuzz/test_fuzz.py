"""A short hunt on every target: nothing breaks; and a hunt that would find something does."""

from pathlib import Path

import pytest

from tests.fuzz.hunt import hunt
from tests.fuzz.targets import TARGETS, Target


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_breaks(name: str) -> None:
    found = hunt(TARGETS[name], seed=7, seconds=0.7, runs=2000)
    assert [crash.why for crash in found.crashes.values()] == []
    assert found.runs > 20


def lock(data: bytes) -> None:
    """Opens to three words, one after another: to be found by what is reached, not by luck."""
    if not data.startswith(b"NM"):
        return
    if not data.startswith(b"NM2.3"):
        return
    if data.startswith(b"NM2.3[*]"):
        raise KeyError("open")


def test_a_hunt_finds_its_way_by_what_it_reaches() -> None:
    found = hunt(Target(lock, [b""], [Path(__file__).parent]), seed=1, seconds=30, runs=25_000)
    assert [crash.data for crash in found.crashes.values()] == [b"NM2.3[*]"]


def test_the_same_seed_brings_the_same() -> None:
    one, other = (hunt(TARGETS["framing"], seed=3, seconds=30, runs=200) for _ in range(2))
    assert one.corpus == other.corpus
