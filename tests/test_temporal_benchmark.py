"""The benchmark of runs on Temporal works with small sizes."""

from pathlib import Path

import pytest

from benchmarks.temporal import measure

pytestmark = pytest.mark.slow


def test_workers_that_wait_use_most_of_the_ideal_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = measure(tmp_path, 40, 2, 5, 0.5, in_memory=True)
    assert found["passed"] == found["trials"] == 40
    assert found["ideal s"] == 2.0
    assert 0.1 < found["share"] <= 1.0
    assert all(value >= 0 for value in found.values())
