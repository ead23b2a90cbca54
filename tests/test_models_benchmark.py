"""The benchmark of the model proxy does the work that it measures, with small sizes."""

import pytest

from benchmarks.models import run


@pytest.mark.slow
def test_benchmark_calls_models_with_and_without_the_proxy() -> None:
    rows = run(3, 3)
    assert [row[0] for row in rows][:3] == ["whole response", "first part of a stream", "stream of 60 parts"]
    assert all(float(row[2].split()[0]) > 0 for row in rows[:3])
