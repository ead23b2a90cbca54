"""The MLLP benchmark does the work that it measures, with small sizes."""

import pytest

from benchmarks.feeds_mllp import CONNECTIONS, ENOUGH, SERVERS, Site, drive, measure, next_message, started, table

pytestmark = pytest.mark.slow


def test_every_server_acknowledges_messages() -> None:
    found = measure(0.05, 1)  # which asserts that each answer is an AA
    assert [(row.who, row.connections) for row in found] == [(who, n) for n in CONNECTIONS for who in SERVERS]
    assert all(row.rate > 0 for row in found)
    assert [row.beside for row in found if row.who == "theirs"] == [1.0, 1.0]
    assert table(found).count("\n") == len(found) + 1


def test_next_run_is_used_when_one_is_full() -> None:
    site = Site("ours", 0, ["ONE", "TWO"], sent=ENOUGH - 1)
    assert b"|ONE|" in next_message(site)
    assert b"|TWO|" in next_message(site)
    assert len({next_message(site) for _ in range(50)}) == 50


def test_server_stops_at_the_end_of_its_context() -> None:
    with started("ours", 1) as site:
        assert drive(site, 2, 0.05) > 0
