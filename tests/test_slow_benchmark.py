"""The benchmark of slow requests works with small sizes."""

import pytest

from benchmarks import slow

pytestmark = pytest.mark.slow


def test_case_and_half_open_connections_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "CHART_SIZE", 20)
    found = slow.measure("190 `_include:iterate`", 0.2)
    assert set(found.statuses) == {200}
    assert 0 < found.another.p50 <= found.another.p99 <= found.another.longest
    assert found.same.requests > 0
    waits, still_open = slow.half_open(0.1, 5)
    assert waits.requests > 0
    assert still_open == 5
