"""The benchmark of the server does the work that it measures, with small sizes."""

from contextlib import chdir
from pathlib import Path

import pytest

from benchmarks.serve import measure_lists, measure_logs, measure_ratio, measure_trials

pytestmark = pytest.mark.slow


def test_trials_lists_logs_and_the_ratio_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.serve.EVENTS_SECONDS", 0.1)
    with chdir(tmp_path):
        [(playgrounds, *cells)] = measure_trials([3], tmp_path)
        assert (playgrounds, len(cells), all(cells)) == ("3", 8, True)
        [(runs, *cells)] = measure_lists([250], tmp_path)
        assert (runs, [cell[-1] for cell in cells]) == ("250", ["s", "s", "s"])
        [(events, *cells)] = measure_logs([2500], tmp_path)
        assert int(events.replace(",", "")) > 2500
        assert all(cells)
        [(trials, *cells)] = measure_ratio(3, tmp_path)
        assert (trials, cells[-1][-1]) == ("3", "×")
