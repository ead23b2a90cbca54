"""The scenario benchmark does the work that it measures, with small sizes."""

from pathlib import Path

import pytest

from benchmarks.scenarios import TWELVE, conversations, files, graded, history, only_read, read, searched

pytestmark = pytest.mark.slow


def test_scenario_workload_runs_and_is_checked(tmp_path: Path) -> None:
    assert conversations(2, 3) > 0  # which asserts that both passed
    events = history(64)
    assert len(events) == 64
    assert len(TWELVE) == 12
    assert graded(events) > 0  # which asserts that all twelve hold
    assert searched(events) > 0
    place = files(3, tmp_path)
    assert read(place) > 0
    assert only_read(place) > 0
