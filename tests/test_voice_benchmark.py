"""The voice benchmark does the work that it measures, with small sizes."""

import pytest

from benchmarks.voice import CASES, QUICK_SIZES, compare

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", CASES)
def test_case_returns_figures(case: str) -> None:
    figures = CASES[case](QUICK_SIZES[case])
    assert figures
    assert all(figure >= 0 for figure in figures.values())


def test_table_compares_with_the_plain_server_and_the_chat() -> None:
    menu = {"ours": 50.0, "plain": 200.0, "ours_cpu": 60.0, "plain_cpu": 300.0}
    table = compare(menu, {"phone": 9.0, "chat": 6.0})
    assert "| calls through six nodes, over HTTP | 50.0/s | 200.0/s (plain server) | 0.25 |" in table
    assert "| a conversation with a played representative | 9.0 ms | 6.0 ms (the same as a chat) | 1.50 |" in table
