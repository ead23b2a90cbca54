"""The X12 benchmark does the work that it measures, with small sizes."""

import pytest

from benchmarks.x12_library import OPERATIONS, PEERS, X12Peer, build_batch, compare, table
from benchmarks.x12_sandbox import REQUESTS, measure, measure_http, run_batch
from clerkship.formats.x12.interchange import parse_interchanges
from tests.clients.installs import CannotInstall
from tests.clients.x12_judges.ours import find_our_errors

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.script)
def test_both_libraries_do_every_operation(peer: X12Peer) -> None:
    rows = compare(peer, peer.kinds[-1], 2, 1)
    assert [row.operation for row in rows] == list(OPERATIONS)
    assert all(row.ours > 0 for row in rows)
    if rows[0].note:
        pytest.skip(rows[0].note)
    assert all(row.ratio is not None and row.ratio > 0 for row in rows)
    assert table(rows).count("\n") == len(rows) + 1


def test_without_a_peer_only_clerkship_is_measured() -> None:
    def fail() -> str:
        raise CannotInstall("there is no network")

    rows = compare(PEERS[0]._replace(find_python=fail), "270", 2, 1)
    assert [(row.theirs, row.ratio, row.note) for row in rows] == [(None, None, "there is no network")] * 3
    assert "there is no network" in table(rows)


@pytest.mark.parametrize("kind", [kind for peer in PEERS for kind in peer.kinds])
def test_batches_are_valid(kind: str) -> None:
    text = build_batch(kind, 12)
    (interchange,) = parse_interchanges(text)
    assert [each.control_number for each in interchange.sets] == [f"{number:04d}" for number in range(1, 13)]
    assert find_our_errors(text) == []


def test_sandbox_answers_every_kind_over_http() -> None:
    rates = measure_http(0.05, 100)  # which asserts that each answer has as many sets as the request
    assert [rate.name for rate in rates] == list(REQUESTS)
    assert all(rate.sets >= rate.interchanges > 0 for rate in rates)


def test_batch_is_answered_completely() -> None:
    figures = run_batch(3)  # which asserts that the reply has as many sets
    assert 0 < figures["acknowledged"] <= figures["answered"]
    assert figures["peak"] > 0


def test_idle_playgrounds_are_measured() -> None:
    assert set(measure("idle", 2)) == {"idle", "used"}
