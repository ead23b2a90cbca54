"""The benchmark of MCP does the work that it measures, with small sizes."""

import pytest

from benchmarks.mcp import run


@pytest.mark.slow
def test_benchmark_calls_tools_and_starts_the_forwarder() -> None:
    rows = list(run(3))
    assert [row[0].partition(",")[0] for row in rows] == [
        "a request in process",
        "a tool call of a model that the run calls",
        "a tool call over MCP",
        "`ping` over MCP",
        "`tools/list`",
        "`clerkship mcp` with one message",
    ]
    assert all(float(row[1].split()[0]) > 0 for row in rows)
