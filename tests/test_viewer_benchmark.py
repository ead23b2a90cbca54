"""The benchmark of the viewer does the work that it measures, with small sizes."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from benchmarks.viewer import list_sizes, measure_list, measure_moments, measure_opening, measure_paints, measure_search


@pytest.mark.slow
def test_paints_tasks_and_openings_are_read_from_traces(browser: Browser, tmp_path: Path) -> None:
    paints = list(measure_paints(browser, tmp_path, 20, 20))
    tasks = list(measure_list(browser, tmp_path, 200))
    openings = list(measure_opening(browser, tmp_path, 5_000))
    assert [len(paints), len(tasks), len(openings)] == [4, 3, 5]
    assert all(float(row[1].split()[0]) > 0 for row in (*paints, *tasks, *openings))
    assert [row[3] for row in tasks] == ["≤ 100 ms"] * 3


def test_search_and_time_travel_are_measured(tmp_path: Path) -> None:
    rows = [*measure_search(tmp_path, 60), *measure_moments(tmp_path, 200)]
    assert [row[0].partition(":")[0] for row in rows[::3]] == [
        "index 60 trials of 50 events",
        *["time travel in 200 events"] * 2,
    ]
    assert "three words in one of them (1 found)" in rows[2][0]
    assert all(float(row[1].split()[0]) >= 0 for row in rows)
    assert all(row[1].endswith(" kB") for row in list_sizes())
