"""The benchmark of the receiver of spans does the work that it measures, with one trial for each format."""

import pytest

from benchmarks.traces import run


@pytest.mark.slow
def test_benchmark_sends_spans_in_each_format() -> None:
    rows = run(1)
    assert [row[0] for row in rows][:3] == ["received, protobuf", "received, protobuf, gzip", "received, JSON"]
    assert all(float(row[1].split()[0].replace(",", "")) > 100 for row in rows)
