"""The judging benchmark does the work that it measures, with small sizes."""

import pytest

from benchmarks.judging import conversations, overhead, replayed
from benchmarks.model_server import ModelServer

pytestmark = pytest.mark.slow


def test_judging_workload_runs_and_is_checked() -> None:
    mine, bare = overhead(3, 1)
    assert mine > 0
    assert bare > 0
    with ModelServer(0.01) as server:
        load = conversations(server, 6, 4)  # which asserts that all passed, and that each criterion was one question
    assert load.most == 4
    assert 0 < load.busy <= 1
    assert load.whole >= load.seconds > 0
    again, scripted = replayed(3, 1)  # which asserts that nobody was asked
    assert again > 0
    assert scripted > 0
