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
    """Opens to a word that no seed has, letter by letter: to be found by what is reached, not by luck."""
    if data[:1] != b"h":
        return
    if data[1:2] != b"l":
        return
    if data[2:3] == b"7":
        raise KeyError("open")


def test_a_hunt_finds_its_way_by_what_it_reaches() -> None:
    target = Target(lock, [b"xxx"], [Path(__file__).parent])
    found = hunt(target, seed=1, seconds=30, runs=60_000)
    assert [crash.data for crash in found.crashes.values()] == [b"hl7"]


def test_the_same_seed_brings_the_same() -> None:
    one, other = (hunt(TARGETS["framing"], seed=3, seconds=30, runs=200) for _ in range(2))
    assert one.corpus == other.corpus
